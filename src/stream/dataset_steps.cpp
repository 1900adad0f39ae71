#include "stream/dataset_steps.hpp"

#include <memory>
#include <utility>

#include "base/file.hpp"
#include "base/paths.hpp"
#include "layout/parts.hpp"
#include "part/part_reader.hpp"
#include "part/version_file.hpp"
#include "stream/part_content.hpp"
#include "stream/part_space.hpp"
#include "view/index.hpp"

namespace tailrace {
namespace {

PartContent content_of_dataset(const History& history, const StreamConfig& config) {
    const Definitions& definitions = history.runs.back().definitions;
    const GroupEntry& group = history.groups.back();
    std::vector<BoxPlan> boxes = whole_variables(definitions, std::vector<VariablePlan>(definitions.variables().size()));
    for (BoxPlan& planned : boxes) choose_chunks(planned, definitions.variables()[planned.variable], config.layout.storage);
    return describe_part(definitions, config, boxes, history.growth.slot_bytes, group.has_static, history.growth.writers);
}

PartSpace space_of_dataset(const History& history, uint64_t steps, uint64_t file_bytes) {
    StreamConfig config = history.runs.back().config;
    config.layout = history.groups.back().layout;
    PartSpace space(history.groups.back().layout);
    space.set_content(std::make_shared<DescribedPart>(DescribedPart{content_of_dataset(history, config)}));
    check_has_places(history.growth, steps);
    space.continue_from(history.growth.blocks, steps, file_bytes);
    return space;
}

}  // namespace

void show_steps(const std::string& path, const History& history, uint64_t steps) {
    HeldFile file(File::open_write(path), false);
    PartSpace space = space_of_dataset(history, steps, file.size_bytes());
    if (!space.content().packed.empty()) space.find_chunks(PartReader(path), steps);
    space.update_metadata();
    PartVersion version = space.version(steps, true);
    version.sized_ahead = version.file_bytes;  // this is the last version, so the file is not made longer in advance
    write_version(file, version);
    // Sync the metadata before the superblock that points to it is written.
    file.sync();
    put_in_force(file, shown_by(version), true);
    file.sync();
    file.close();
}

bool stores_where_laid_out(const std::string& path, const History& history, uint64_t steps) {
    const PartSpace space = space_of_dataset(history, steps, 0);
    const Description& description = space.content().description;
    const PartReader reader(path);
    std::vector<uint64_t> looked_at = {steps - 1};
    for (const StepBlock& block : space.blocks()) looked_at.push_back(block.first_step);
    for (size_t a = 0; a < description.arrays.size(); ++a) {
        const Array& array = description.arrays[a];
        if (!array.is_placed() || array.packing) continue;
        const Shape stored = stored_shape(description, array, 1), shape(stored.begin() + (array.varies ? 1 : 0), stored.end());
        for (const uint64_t step : array.varies ? looked_at : std::vector<uint64_t>{0})
            if (volume(shape) > 0 &&
                reader.find({array.name, array.type, shape, array.varies}, step).address != space.array_address(a, step))
                return false;
    }
    return true;
}

void copy_dataset(History& history, const StreamPaths& paths, bool sync, WriteAccess& access) {
    if (history.empty() || !history.groups.back().layout.part_is_dataset() || history.groups.back().segment == paths.segment)
        return;
    GroupEntry& group = history.groups.back();
    GroupEntry copied = group;
    copied.segment = paths.segment;
    const std::string before = paths.path(part_path(group, paths.name, 0)), pending = paths.pending(group.layout, group.start);
    copy_file(before, pending, sync);
    // The other run may have shown steps that are not in the journal. Show the committed steps only.
    show_steps(pending, history, history.steps.back().step + 1 - group.start);
    rename_path(pending, paths.path(part_path(copied, paths.name, 0)));
    if (sync) sync_directory(paths.parts());
    access.append(copy_line(copied), sync);
    const bool had_number = std::exchange(group.segment, paths.segment) > 0;
    show_dataset(paths.directory, paths.name, group, paths.run);
    if (had_number) remove_file(before);
}

}  // namespace tailrace
