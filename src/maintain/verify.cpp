#include "maintain/verify.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/system.hpp"
#include "layout/parts.hpp"
#include "maintain/group_check.hpp"
#include "record/history.hpp"
#include "view/catalog.hpp"
#include "view/index.hpp"

namespace tailrace {
namespace {

struct Verdict {
    Json problems = Json::array();
    uint64_t files = 0, bytes = 0, steps = 0;

    void problem(const std::string& path, const Json& step, const std::string& what) {
        problems.push_back({{"path", path}, {"step", step}, {"problem", what}});
    }
};

void verify_history(const std::string& directory, const std::string& stream, const History& history, bool deep, Verdict& verdict) {
    verdict.steps = history.steps.size();
    for (const size_t g : history.needed_groups()) {
        const GroupReport report = check_group(directory, stream, history, g, deep);
        verdict.bytes += report.bytes;
        verdict.files += history.groups[g].parts;
        for (const PartProblem& problem : report.problems)
            verdict.problem(problem.path, problem.step.value_or(history.groups[g].start), problem.text);
    }
    if (history.torn_bytes > 0)
        verdict.problem(directory + "/" + journal_path(stream), nullptr,
                        text("its last ", history.torn_bytes, " bytes are torn; the next run drops them"));
    if (history.empty() || history.groups.back().layout.part_is_dataset()) return;
    for (const IndexFile& file : index_files(history, stream))
        if (!path_exists(directory + "/" + file.path))
            verdict.problem(directory + "/" + file.path, history.steps[file.from].step,
                            text("the index is missing; `tailrace index ", directory, "` writes it, and so does the next run"));
}

// A stream that was opened and never had a step is whole. Where there is more, what says which of it counts was lost.
void verify_without_journal(const std::string& directory, const std::string& stream, Verdict& verdict) {
    const std::string parts = parts_directory(stream);
    const auto names = list_directory(directory + "/" + parts);
    const bool has_parts = !std::ranges::all_of(names, [](const std::string& name) { return name.starts_with(kPendingPrefix); });
    for (const std::string& path : {has_parts ? parts : "", dataset_path(stream)})
        if (!path.empty() && path_exists(directory + "/" + path))
            verdict.problem(directory + "/" + journal_path(stream), nullptr,
                            text("the journal is missing, and without it nobody knows which steps of ", path, " were committed"));
}

}  // namespace

Json verify_stream(const std::string& directory, const std::string& stream, bool deep) {
    require_directory(directory);
    if (!path_exists(directory + "/" + parts_directory(stream))) require_stream(directory, stream);
    const std::string journal = directory + "/" + journal_path(stream);
    Verdict verdict;
    try {
        if (path_exists(journal))
            verify_history(directory, stream, read_history(journal), deep, verdict);
        else
            verify_without_journal(directory, stream, verdict);
    } catch (const Error& error) {
        verdict.problem(journal, nullptr, error.what());
    }
    return {{"ok", verdict.problems.empty()}, {"stream", stream},       {"deep", deep},
            {"steps", verdict.steps},         {"files", verdict.files}, {"bytes", verdict.bytes},
            {"problems", verdict.problems}};
}

}  // namespace tailrace
