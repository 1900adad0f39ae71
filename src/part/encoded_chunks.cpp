#include "part/encoded_chunks.hpp"

#include <algorithm>
#include <optional>

#include "format/messages.hpp"

namespace tailrace {
namespace {

// The chunks of an array, step by step.
struct Chunks {
    ChunkShape shape;
    std::vector<Extent> places;
    bool in_tree;  // with positions and sizes
};

std::optional<Chunks> chunks_of(const ImagePlan& plan, size_t a) {
    std::optional<ChunkShape> shape = chunk_shape_of(plan, a);
    if (!shape) return std::nullopt;
    if (plan.description.arrays[a].packing) return Chunks{std::move(*shape), plan.chunks.at(a), true};
    std::vector<Extent> places = plan.chunk_extents(a);
    const bool in_tree = plan.description.time_unlimited || places.empty();
    return Chunks{std::move(*shape), std::move(places), in_tree};
}

format::Bytes put_chunk_index(format::Bytes& out, uint64_t base, const Chunks& chunks, uint64_t element_bytes,
                              uint64_t most_children) {
    const Shape& chunk = chunks.shape.chunk;
    if (!chunks.in_tree) return format::fixed_array_layout(chunk, element_bytes, format::put_fixed_array(out, base, chunks.places));
    std::vector<uint64_t> offsets;
    offsets.reserve(chunks.places.size() * chunk.size());
    const uint64_t a_step = chunks.shape.grid ? chunks.shape.grid->count() : 1;
    for (uint64_t k = 0; k < chunks.places.size(); ++k) {
        const Shape offset = chunks.shape.offset(k, a_step);
        offsets.insert(offsets.end(), offset.begin(), offset.end());
    }
    const uint64_t root = format::put_chunk_tree(out, base, chunks.places, offsets, chunk, element_bytes, most_children);
    return format::chunk_tree_layout(chunk, element_bytes, root);
}

}  // namespace

std::optional<ChunkShape> chunk_shape_of(const ImagePlan& plan, size_t a) {
    const Array& array = plan.description.arrays[a];
    if (array.packing) {
        Shape chunk = array.packing->grid.chunk();
        chunk.insert(chunk.begin(), 1);
        return ChunkShape{std::move(chunk), array.packing->grid};
    }
    if (!array.is_placed() || !plan.is_chunked(array)) return std::nullopt;
    const Shape chunk = plan.chunk(array), all = plan.stored_shape(array);
    return ChunkShape{chunk, ChunkGrid::of({all.begin() + 1, all.end()}, {chunk.begin() + 1, chunk.end()})};
}

ChunkIndexes put_chunk_indexes(format::Bytes& out, const ImagePlan& plan) {
    ChunkIndexes indexes;
    const size_t arrays = plan.description.arrays.size();
    indexes.layouts.resize(arrays);
    std::vector<std::optional<Chunks>> chunks;
    uint64_t most = 0;
    for (size_t a = 0; a < arrays; ++a) {
        chunks.push_back(chunks_of(plan, a));
        if (!chunks[a]) continue;
        if (chunks[a]->in_tree) most = std::max<uint64_t>(most, chunks[a]->places.size());
        for (const Extent& place : chunks[a]->places) indexes.raw_end = std::max(indexes.raw_end, place.address + place.bytes);
    }
    if (most > 0) indexes.most_children = format::children_for(most);
    for (size_t a = 0; a < arrays; ++a) {
        align(out);
        if (chunks[a])
            indexes.layouts[a] = put_chunk_index(out, plan.metadata_address, *chunks[a],
                                                 type_bytes(plan.description.arrays[a].type), indexes.most_children);
    }
    return indexes;
}

ChunkIndexes indexes_without_chunks(const ImagePlan& plan, uint64_t most_children) {
    ChunkIndexes indexes;
    indexes.most_children = most_children;
    indexes.layouts.resize(plan.description.arrays.size());
    for (size_t a = 0; a < indexes.layouts.size(); ++a)
        if (const auto shape = chunk_shape_of(plan, a))
            indexes.layouts[a] =
                format::chunk_tree_layout(shape->chunk, type_bytes(plan.description.arrays[a].type), format::kUndefined);
    return indexes;
}

}  // namespace tailrace
