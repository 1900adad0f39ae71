#include "maintain/combine_copy.hpp"

#include <algorithm>

#include "layout/slab.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kPieceBytes = 8u << 20;

// Cuts the array into boxes of at most `max_bytes` bytes, each of which is contiguous in the array.
std::vector<Box> contiguous_boxes(const Shape& shape, uint64_t element_bytes, uint64_t max_bytes) {
    if (shape.empty()) return {Box{}};
    if (volume(shape) == 0) return {};
    size_t cut = 0;  // the dimension that is cut into several rows; those before it are cut into single rows
    uint64_t row_bytes = volume(shape) / shape[0] * element_bytes;
    while (row_bytes > max_bytes && cut + 1 < shape.size()) row_bytes /= shape[++cut];
    const uint64_t rows = std::max<uint64_t>(max_bytes / row_bytes, 1);
    Box box = whole_box(shape);
    for (size_t d = 0; d < cut; ++d) box.count[d] = 1;
    std::vector<Box> boxes;
    for (;;) {
        for (uint64_t row = 0; row < shape[cut]; row += rows) {
            box.offset[cut] = row;
            box.count[cut] = std::min(rows, shape[cut] - row);
            boxes.push_back(box);
        }
        size_t d = cut;
        while (d > 0 && ++box.offset[d - 1] == shape[d - 1]) box.offset[--d] = 0;
        if (d == 0) return boxes;
    }
}

// The chunk of a part that has exactly the elements of `box`, encoded with the same filters: its bytes are copied unchanged.
std::optional<std::pair<std::shared_ptr<const File>, Extent>> same_chunk(const Packing& packing, const Box& box,
                                                                         const std::vector<StoredBox>& sources) {
    for (const StoredBox& source : sources) {
        const Box common = intersection(source.box, box);
        if (common.elements() == 0) continue;
        const StoredArray& stored = source.stored;
        if (common != box || !stored.packing || stored.packing->filters != packing.filters ||
            stored.packing->grid.chunk() != packing.grid.chunk())
            return std::nullopt;
        const Box in_source = within(source.box, box);
        const uint64_t chunk = stored.packing->grid.at(Spans(stored.shape, in_source).begin(0));
        if (stored.packing->grid.box(chunk) != in_source) return std::nullopt;
        return std::pair(source.file(), stored.chunks.at(chunk - stored.first_chunk));
    }
    return std::nullopt;
}

}  // namespace

CombineCopy::CombineCopy(const CombinePlan& plan, SourceFinder& finder, File& out, std::string of, size_t threads,
                         CombineProgress progress, std::function<void()> on_piece)
    : plan_(plan), finder_(finder), out_(out), of_(std::move(of)), on_piece_(std::move(on_piece)), scratch_(threads),
      chunks_(std::move(progress.chunks)), end_(progress.end),
      bytes_(progress.steps > 0 ? plan.bytes_of_steps(progress.steps) : 0) {}

void CombineCopy::copy_step(Workers& workers, std::optional<uint64_t> step) {
    for (size_t a = 0; a < plan_.output.arrays.size(); ++a) {
        const Array& array = plan_.output.arrays[a];
        if (!plan_.is_copied(a) || array.varies != step.has_value()) continue;
        if (array.packing) {
            copy_chunks(workers, a, *step);
            continue;
        }
        const Shape shape = step ? without_first(stored_shape(plan_.output, array, 1)) : stored_shape(plan_.output, array, 1);
        const Array& source = plan_.sources.arrays[a];
        for (const SourcePiece& piece : step ? std::vector{all_sources(source)} : pieces_of_sources(source, shape))
            copy_rows(workers, a, step, shape, piece);
    }
}

CombineCopy::Sources CombineCopy::find(size_t a, std::optional<uint64_t> step, const SourcePiece& piece) {
    return std::make_shared<const std::vector<StoredBox>>(finder_.find(plan_.sources.arrays[a], step, piece));
}

void CombineCopy::copy_rows(Workers& workers, size_t a, std::optional<uint64_t> step, const Shape& shape,
                            const SourcePiece& piece) {
    const Array& array = plan_.sources.arrays[a];
    const Sources sources = find(a, step, piece);
    const uint64_t element_bytes = type_bytes(array.type);
    Shape rows = shape;
    if (!shape.empty()) rows[0] = std::min(shape[0], piece.end_row) - piece.begin_row;
    for (Box& box : contiguous_boxes(rows, element_bytes, kPieceBytes)) {
        if (!shape.empty()) box.offset[0] += piece.begin_row;
        const uint64_t to = plan_.address(a, step) + Spans(shape, box).begin(0) * element_bytes;
        workers.submit([this, &array, sources, to, box = std::move(box)](size_t thread) {
            copy_box(array, *sources, box, to, scratch_[thread].elements);
        });
        on_piece_();
    }
}

void CombineCopy::copy_box(const Array& array, const std::vector<StoredBox>& sources, const Box& box, uint64_t to,
                           std::vector<std::byte>& elements) {
    const uint64_t element_bytes = type_bytes(array.type), bytes = box.elements() * element_bytes;
    if (stored_elements(sources, box) != box.elements() || !copy_in_kernel(sources, box, to, element_bytes)) {
        if (elements.size() < bytes) elements.resize(bytes);
        read_stored(array, sources, box, {elements.data(), bytes}, of_);
        out_.write_at(to, elements.data(), bytes);
    }
    bytes_ += bytes;
}

// Copies from file to file within the kernel. Returns false, and copies nothing, if an array is compressed, or a part's elements of
// the box are not contiguous in both files. Also returns false from the first time on that the system refuses such a copy.
bool CombineCopy::copy_in_kernel(const std::vector<StoredBox>& sources, const Box& box, uint64_t to, uint64_t element_bytes) {
    struct Copy {
        const StoredBox* from;
        uint64_t from_element, to_element, elements;
    };
    if (!kernel_copies_) return false;
    std::vector<Copy> copies;
    for (const StoredBox& source : sources) {
        const Box common = intersection(source.box, box);
        if (common.elements() == 0) continue;
        const Spans from(source.box.count, within(source.box, common)), into(box.count, within(box, common));
        if (source.stored.packing || from.count() > 1 || into.count() > 1) return false;
        copies.push_back({&source, from.begin(0), into.begin(0), common.elements()});
    }
    for (const Copy& copy : copies) {
        kernel_copies_ = out_.copy_from(*copy.from->file(), copy.from->stored.address + copy.from_element * element_bytes,
                                        to + copy.to_element * element_bytes, copy.elements * element_bytes);
        if (!kernel_copies_) return false;
    }
    return true;
}

void CombineCopy::copy_chunks(Workers& workers, size_t a, uint64_t step) {
    const Sources sources = find(a, step, all_sources(plan_.sources.arrays[a]));
    const uint64_t count = plan_.chunks_of_step(a);
    // Threads write into the list while it grows: it must not move, so it has room for all steps.
    chunks_[a].reserve(plan_.steps.steps * count);
    chunks_[a].resize((step + 1) * count);
    for (uint64_t c = 0; c < count; ++c) {
        workers.submit([this, a, c, sources, place = chunks_[a].data() + step * count + c](size_t thread) {
            *place = copy_chunk(a, c, *sources, scratch_[thread]);
        });
        on_piece_();
    }
}

Extent CombineCopy::copy_chunk(size_t a, uint64_t chunk, const std::vector<StoredBox>& sources, Scratch& scratch) {
    const Packing& packing = *plan_.output.arrays[a].packing;
    const Box box = packing.grid.box(chunk);
    scratch.encoded.clear();
    if (const auto same = same_chunk(packing, box, sources)) {
        scratch.encoded.resize(same->second.bytes);
        same->first->read_stable_at(same->second.address, scratch.encoded.data(), scratch.encoded.size());
    } else {
        encode_chunk(a, box, sources, scratch);
    }
    const Extent place{end_.fetch_add(scratch.encoded.size()), scratch.encoded.size()};
    out_.write_at(place.address, scratch.encoded.data(), scratch.encoded.size());
    bytes_ += box.elements() * type_bytes(plan_.output.arrays[a].type);
    return place;
}

void CombineCopy::encode_chunk(size_t a, const Box& box, const std::vector<StoredBox>& sources, Scratch& scratch) const {
    const Array& array = plan_.sources.arrays[a];
    const Packing& packing = *plan_.output.arrays[a].packing;
    const uint64_t bytes = box.elements() * type_bytes(array.type), whole = packing.grid.whole() * type_bytes(array.type);
    std::vector<std::byte>& elements = scratch.elements;
    if (elements.size() < whole) elements.resize(whole);
    read_stored(array, sources, box, {elements.data(), bytes}, of_);
    std::fill(elements.begin() + static_cast<long>(bytes), elements.begin() + static_cast<long>(whole), std::byte{});
    scratch.codec.encode(packing.filters, {elements.data(), whole}, scratch.encoded);
}

}  // namespace tailrace
