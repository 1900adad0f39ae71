#include "view/arrived_steps.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/paths.hpp"
#include "base/shell_word.hpp"
#include "layout/parts.hpp"
#include "view/group_check.hpp"
#include "view/part_versions.hpp"

namespace tailrace {
namespace {

constexpr size_t kMostNamed = 3;

// The history as it would be with all staged steps of the first one's group committed.
History with_first_group(const History& history) {
    History trial = history;
    const uint64_t start = count_at(history.staged.front().line, "group");
    for (const StagedStep& step : history.staged)
        if (count_at(step.line, "group") == start) trial.apply(step_line(step));
    return trial;
}

// Why the parts of the last group of `trial` are not at their target; empty: they are.
std::string problem_of(const std::string& directory, const std::string& stream, const History& trial, bool may_write_parts) {
    const size_t last = trial.groups.size() - 1;
    const GroupEntry& group = trial.groups[last];
    const uint64_t parts = parts_to_look_at(directory, stream, group);
    for (uint64_t part = 0; part < parts; ++part)
        if (!path_exists(directory + "/" + part_path(group, stream, part))) return "parts are missing";
    if (group.layout.steps != 1 && may_write_parts) bring_up_group(directory, stream, trial, last);
    const GroupReport report = check_group(directory, stream, trial, last, true);
    return report.problems.empty() ? "" : report.problems.front().path + ": " + report.problems.front().text;
}

// Where parts that are missing are: "part 3 (node n2, /scratch/...)".
std::string text_of_missing(const std::string& directory, const std::string& stream, const History& trial) {
    const GroupEntry& group = trial.groups.back();
    std::vector<std::string> named;
    uint64_t missing = 0;
    const uint64_t looked_at = parts_to_look_at(directory, stream, group);
    for (uint64_t part = 0; part < looked_at; ++part) {
        if (path_exists(directory + "/" + part_path(group, stream, part))) continue;
        if (++missing > kMostNamed) continue;
        const std::string folder = trial.scratch.folder(part, stream);
        named.push_back(folder.empty() ? text("part ", part)
                                       : text("part ", part, " (node ", trial.scratch.node(part), ", ", folder, ")"));
    }
    missing += group.parts - looked_at;
    std::string all;
    for (const std::string& one : named) all += (all.empty() ? "" : ", ") + one;
    return missing > named.size() ? text(all, " and ", missing - named.size(), " more") : all;
}

}  // namespace

uint64_t commit_arrived_steps(const std::string& directory, const std::string& stream, History& history, bool may_write_parts,
                              const std::function<void(const Json&)>& append) {
    uint64_t committed = 0;
    while (!history.staged.empty()) {
        if (!problem_of(directory, stream, with_first_group(history), may_write_parts).empty()) break;
        const uint64_t start = count_at(history.staged.front().line, "group");
        while (!history.staged.empty() && count_at(history.staged.front().line, "group") == start) {
            const Json line = step_line(history.staged.front());
            append(line);
            history.apply(line);
            ++committed;
        }
    }
    return committed;
}

std::string staged_numbers(const History& history) {
    const uint64_t first = history.staged.front().step, last = history.staged.back().step;
    return first == last ? text("step ", first) : text("steps ", first, " to ", last);
}

std::string text_of_staged(const std::string& directory, const std::string& stream, const History& history, bool deep) {
    if (history.staged.empty()) return "";
    const History trial = with_first_group(history);
    const std::string missing = text_of_missing(directory, stream, trial), which = staged_numbers(history);
    const bool is_one = history.staged.size() == 1;
    const std::string begin = text(which, is_one ? " is" : " are", " written, and not committed: ");
    if (!missing.empty())
        return text(begin, "of step ", history.staged.front().step, " not at the target: ", missing,
                    ". `tailrace drain resume FOLDER` on its node delivers what a folder has; `tailrace index ",
                    shell_word(directory), " -s ", shell_word(stream), "` then commits what has arrived");
    const std::string problem = deep ? problem_of(directory, stream, trial, false) : "";
    if (!problem.empty()) return text(begin, problem);
    return text(begin, "the parts of step ", history.staged.front().step, " are at the target; `tailrace index ",
                shell_word(directory), " -s ", shell_word(stream), "` commits them if they are whole");
}

}  // namespace tailrace
