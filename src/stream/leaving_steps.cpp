#include "stream/leaving_steps.hpp"

#include <limits>

#include "base/file.hpp"
#include "base/paths.hpp"
#include "layout/parts.hpp"
#include "part/part_reader.hpp"
#include "stream/dataset_steps.hpp"
#include "view/index.hpp"

namespace tailrace {
namespace {

std::string path_of_group(const StreamPaths& paths, const GroupEntry& group) { return paths.path(group_path(group, paths.name)); }

// Makes the dataset or the index show `after`, the history without the removed steps.
void hide_steps(const StreamPaths& paths, const History& before, const History& after) {
    const GroupEntry& group = before.groups.back();
    if (!group.layout.part_is_dataset()) {
        if (!after.empty()) return write_index(paths.directory, paths.name, after, {}, true, paths.run);
        return remove_index(paths.directory, paths.name);
    }
    if (after.empty() || !path_exists(path_of_group(paths, group))) {  // the whole file is removed
        if (after.empty() && group.segment > 0) remove_file(paths.dataset());
        return;
    }
    show_steps(path_of_group(paths, group), after, after.steps.back().step + 1 - group.start);
}

}  // namespace

std::vector<std::string> leave_steps(const StreamPaths& paths, History& history, uint64_t first, const char* why,
                                     const std::function<void(const Json&)>& append) {
    if (!history.staged.empty()) {
        append(unstaged_line(first));
        history.unstage_from(first);
    }
    if (!history.has_step_from(first)) return {};
    append(drop_line(first, history.steps.back().step, why));
    const History before = history;
    history.drop_from(first);
    hide_steps(paths, before, history);
    std::vector<std::string> removed;
    for (size_t g = 0; g < history.groups.size(); ++g) {
        if (before.groups[g].steps == 0 || history.groups[g].steps > 0) continue;
        removed.push_back(path_of_group(paths, history.groups[g]));
        remove_tree(removed.back());
    }
    return removed;
}

void clear_times(const std::string& path, const std::string& time_name, const std::vector<uint64_t>& steps) {
    const PartReader reader(path);
    File file = File::open_write(path);
    const double no_time = std::numeric_limits<double>::quiet_NaN();
    for (const uint64_t step : steps)
        file.write_at(reader.find({time_name, Type::F64, {}, true}, step).address, &no_time, sizeof no_time);
    file.sync();
    file.close();
}

}  // namespace tailrace
