#include "maintain/combine_plan.hpp"

#include <algorithm>

#include "view/dataset.hpp"

namespace tailrace {
namespace {

// The grid of the parts' chunks, if the boxes of the first step consist of whole chunks of the array: then their bytes are copied
// unchanged. Else nothing.
std::optional<ChunkGrid> common_grid(const std::vector<StoredBox>& boxes, const Shape& shape) {
    std::optional<ChunkGrid> common;
    for (const StoredBox& part : boxes) {
        if (!part.stored.packing) return std::nullopt;
        const Shape& chunk = part.stored.packing->grid.chunk();
        if (!common) common = ChunkGrid::of(shape, chunk);
        if (!common || common->chunk() != chunk) return std::nullopt;
        for (size_t d = 0; d < chunk.size(); ++d) {
            const uint64_t begin = part.box.offset[d], end = begin + part.box.count[d];
            if (begin % chunk[d] != 0 || (end % chunk[d] != 0 && end != shape[d])) return std::nullopt;
        }
    }
    return common;
}

// The output compresses what the last run compressed.
void choose_packing(CombinePlan& plan, size_t a, const Storage& storage, SourceFinder& finder) {
    Array& array = plan.output.arrays[a];
    if (!plan.is_copied(a) || !array.varies) return;
    const uint64_t element_bytes = type_bytes(array.type);
    const Shape shape = without_first(stored_shape(plan.output, array, 1));
    if (!is_compressed(storage, shape, element_bytes)) return;
    const Array& source = plan.sources.arrays[a];
    const auto grid = common_grid(finder.find(source, 0, all_sources(source)), shape);
    array.packing = {grid.value_or(ChunkGrid(shape, element_bytes, storage.chunk_bytes)), filters_of(storage, array.type)};
}

}  // namespace

bool CombinePlan::is_compressed() const {
    return std::ranges::any_of(output.arrays, [](const Array& array) { return array.packing.has_value(); });
}

uint64_t CombinePlan::chunks_of_step(size_t array) const {
    const auto& packing = output.arrays[array].packing;
    return packing ? packing->grid.count() : 0;
}

uint64_t CombinePlan::bytes_of_steps(uint64_t count) const {
    uint64_t bytes = 0;
    for (size_t a = 0; a < output.arrays.size(); ++a)
        if (is_copied(a)) bytes += bytes_of(output, output.arrays[a]) * (output.arrays[a].varies ? count : 1);
    return bytes;
}

Image CombinePlan::image(uint64_t metadata_address, const ChunkPlaces& chunks) const {
    return make_image(output, placement, {steps}, steps.steps, metadata_address, chunks);
}

CombinePlan plan_combine(const History& history, const std::string& stream, SourceFinder& finder) {
    CombinePlan plan;
    plan.sources = describe_steps(history, stream, 0, history.steps.size());
    plan.output = plan.sources;
    plan.output.time_unlimited = true;
    for (Array& array : plan.output.arrays) array.sources = {};
    const Storage& storage = history.runs.back().config.layout.storage;
    for (size_t a = 0; a < plan.output.arrays.size(); ++a) choose_packing(plan, a, storage, finder);
    plan.placement = Placement(part_bytes(plan.output, 0), {});
    plan.steps = {0, history.steps.size(), plan.placement.static_end()};
    plan.places = places_of(plan.output, plan.placement);
    return plan;
}

}  // namespace tailrace
