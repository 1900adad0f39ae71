#include "stream/group_copy.hpp"

#include <utility>

#include "base/file.hpp"
#include "base/paths.hpp"
#include "layout/parts.hpp"
#include "part/version_record.hpp"
#include "view/part_versions.hpp"

namespace tailrace {
namespace {

bool is_outdated(const History& history, size_t group, const StreamPaths& paths) {
    const GroupEntry& entry = history.groups[group];
    const uint64_t parts = parts_to_look_at(paths.directory, paths.name, entry);
    for (uint64_t part = 0; part < parts; ++part) {
        const std::string path = paths.path(part_path(entry, paths.name, part));
        if (path_exists(path) && state_of_part(path, history, group) == PartState::outdated) return true;
    }
    return false;
}

void copy_part(const std::string& from, const std::string& to, uint64_t steps, bool sync) {
    copy_file(from, to, sync);
    File file = File::open_write(to);
    bring_up(file, steps);
    if (sync) file.sync();
    file.close();
}

}  // namespace

void copy_outdated_group(History& history, const StreamPaths& paths, bool sync, WriteAccess& access) {
    if (history.empty() || history.groups.back().layout.part_is_dataset()) return;
    GroupEntry& group = history.groups.back();
    const size_t last = history.groups.size() - 1;
    if (group.segment == paths.segment || group.layout.steps == 1 || group.lengths != Lengths::committed ||
        !is_outdated(history, last, paths))
        return;
    GroupEntry copied = group;
    copied.segment = paths.segment;
    const std::string pending = paths.pending(group.layout, group.start);
    remove_tree(pending);
    const bool is_one_file = has_one_part(group.layout);
    const uint64_t parts = parts_to_look_at(paths.directory, paths.name, group);
    for (uint64_t part = 0; part < parts; ++part) {
        const std::string from = paths.path(part_path(group, paths.name, part));
        const std::string to =
            is_one_file ? pending : pending + "/" + part_path_in_group(group.layout, paths.name, group.start, part);
        make_directories(parent_of(to), paths.parts());
        if (path_exists(from)) copy_part(from, to, shown_steps(history, last), sync);
    }
    const std::string final_path = paths.path(group_path(copied, paths.name));
    make_directories(parent_of(final_path), paths.parts());
    rename_path(pending, final_path);
    if (sync) sync_directory(parent_of(final_path));
    access.append(copy_line(copied), sync);
    group.segment = paths.segment;
}

}  // namespace tailrace
