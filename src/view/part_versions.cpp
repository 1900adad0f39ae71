#include "view/part_versions.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/paths.hpp"
#include "base/shell_word.hpp"
#include "layout/parts.hpp"

namespace tailrace {
namespace {

std::string path_of_part(const std::string& directory, const std::string& stream, const GroupEntry& group, uint64_t part) {
    return directory + "/" + part_path(group, stream, part);
}

// Counts the files with names ending in .nc in a directory and below it. Stops counting once there are `most`.
uint64_t count_files(const std::string& directory, uint64_t most, int levels) {
    uint64_t files = 0;
    for (const std::string& name : list_directory(directory)) {
        if (files >= most) break;
        const std::string path = directory + "/" + name;
        if (name.ends_with(".nc"))
            ++files;
        else if (levels > 0 && is_directory(path))
            files += count_files(path, most - files, levels - 1);
    }
    return files;
}

}  // namespace

uint64_t parts_to_look_at(const std::string& directory, const std::string& stream, const GroupEntry& group) {
    constexpr uint64_t kAlways = 256;
    constexpr int kMostLevels = 8;
    if (group.parts <= kAlways) return group.parts;
    const std::string path = directory + "/" + group_path(group, stream);
    const uint64_t files = is_directory(path) ? count_files(path, group.parts, kMostLevels) : 0;
    return std::min(group.parts, 2 * files + kAlways);
}

uint64_t shown_steps(const History& history, size_t group) {
    uint64_t steps = 0;
    for (auto step = history.steps.rbegin(); step != history.steps.rend() && step->group >= group; ++step)
        if (step->group == group) steps = std::max(steps, step->step + 1 - history.groups[group].start);
    return steps;
}

PartState state_of_part(const std::string& path, const History& history, size_t group) {
    const PartState state = state_of_part(File::open_read(path), shown_steps(history, group));
    const bool had_records = history.groups[group].lengths == Lengths::committed;
    return state == PartState::without_record && had_records ? PartState::changed : state;
}

std::vector<std::string> bring_up_group(const std::string& directory, const std::string& stream, const History& history,
                                        size_t group) {
    const GroupEntry& entry = history.groups[group];
    std::vector<std::string> paths;
    const uint64_t steps = shown_steps(history, group);
    if (entry.layout.steps == 1 || entry.lengths != Lengths::committed || steps == 0) return paths;
    const uint64_t parts = parts_to_look_at(directory, stream, entry);
    for (uint64_t part = 0; part < parts; ++part) {
        const std::string path = path_of_part(directory, stream, entry, part);
        if (!path_exists(path) || state_of_part(File::open_read(path), steps) != PartState::outdated) continue;
        File file = File::open_write(path);
        if (bring_up(file, steps)) paths.push_back(path);
        file.close();
    }
    return paths;
}

void bring_up_last_groups(const std::string& directory, const std::string& stream, const History& history) {
    bool may_be_outdated = true;
    for (size_t group = history.groups.size(); group-- > 0;) {
        // The last group of a run that another one took over from.
        const bool was_last =
            group + 1 < history.groups.size() && history.groups[group].segment != history.groups[group + 1].segment;
        if (!may_be_outdated && !was_last) continue;
        may_be_outdated = !bring_up_group(directory, stream, history, group).empty() || group + 1 == history.groups.size();
    }
}

void check_unchanged(const std::string& directory, const std::string& stream, const History& history) {
    if (history.empty() || !history.groups.back().layout.part_is_dataset()) return;
    const size_t last = history.groups.size() - 1;
    const std::string path = path_of_part(directory, stream, history.groups[last], 0);
    if (state_of_part(path, history, last) == PartState::changed)
        fail(Status::CORRUPT, path, " was changed by another program after Tailrace wrote it, so nothing is appended to it. ",
             "If only attributes were changed, `tailrace adopt ", shell_word(directory), " -s ", shell_word(stream),
             "` keeps them. Else write its steps to a new stream with `tailrace convert ", shell_word(directory),
             " NEW_DIRECTORY -s ", shell_word(stream), "`, restore the file from a copy, or set mode = 'replace' to begin anew");
}

}  // namespace tailrace
