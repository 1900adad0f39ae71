#include "maintain/stored_box.hpp"

#include <algorithm>

#include "base/copy.hpp"
#include "base/error.hpp"
#include "layout/block_view.hpp"
#include "layout/slab.hpp"

namespace tailrace {
namespace {

constexpr size_t kMaxOpenFiles = 16;  // most files of one piece that are kept open; others are opened at each use

}  // namespace

Shape without_first(const Shape& shape) { return {shape.begin() + 1, shape.end()}; }

Box without_time(const Box& box) { return {without_first(box.offset), without_first(box.count)}; }

std::vector<SourcePiece> pieces_of_sources(const Array& array, const Shape& shape) {
    const std::span<const Source> sources = array.sources;
    if (shape.empty() || sources.size() <= kMaxOpenFiles) return {all_sources(array)};
    std::vector<uint64_t> first_row_from(sources.size() + 1, shape[0]);  // the first row that a source or a later one has
    for (size_t i = sources.size(); i-- > 0;) first_row_from[i] = std::min(first_row_from[i + 1], sources[i].to.offset[0]);
    std::vector<SourcePiece> pieces(1);
    uint64_t end_row = 0;
    for (size_t i = 0; i < sources.size(); ++i) {
        if (i - pieces.back().first >= kMaxOpenFiles && first_row_from[i] >= end_row) {
            pieces.back().last = i;
            pieces.back().end_row = first_row_from[i];
            pieces.push_back({i, i, first_row_from[i]});
        }
        end_row = std::max(end_row, sources[i].to.offset[0] + sources[i].to.count[0]);
    }
    pieces.back().last = sources.size();
    return pieces;
}

std::vector<StoredBox> SourceFinder::find(const Array& array, std::optional<uint64_t> step, const SourcePiece& sources) {
    std::vector<StoredBox> found;
    for (size_t i = sources.first; i < sources.last; ++i) {
        const Source& source = array.sources.begin()[i];
        if (!source.shows_elements()) continue;
        if (step && (*step < source.to.offset[0] || *step - source.to.offset[0] >= source.to.count[0])) continue;
        const bool varies = source.from.count.size() > array.dims.size();
        const uint64_t step_of_part = varies ? source.from.offset[0] + (step ? *step - source.to.offset[0] : 0) : 0;
        const Shape shape = varies ? without_first(source.from.count) : source.from.count;
        PartReader& part = parts_.open(text(directory_, "/", source.file));
        found.push_back({part.find({array.name + source.suffix, array.type, shape, varies}, step_of_part),
                         step ? without_time(source.to) : source.to, part.path()});
        if (found.size() > kMaxOpenFiles) found.back().stored.file.reset();
    }
    return found;
}

uint64_t stored_elements(const std::vector<StoredBox>& boxes, const Box& wanted) {
    uint64_t elements = 0;
    for (const StoredBox& stored : boxes) elements += intersection(stored.box, wanted).elements();
    return elements;
}

void read_stored(const Array& array, const std::vector<StoredBox>& boxes, const Box& wanted, std::span<std::byte> into,
                 const std::string& of) {
    if (const uint64_t found = stored_elements(boxes, wanted); found < wanted.elements()) {
        if (array.fill.empty())
            fail(Status::CORRUPT, "variable '", array.name, "' of ", of, ": ", wanted.elements() - found, " elements of ",
                 describe(wanted), " are in no part");
        repeat(array.fill, into);
    }
    const BlockView memory(into.data(), type_bytes(array.type), wanted.count, {});
    for (const StoredBox& stored : boxes) {
        const Box common = intersection(stored.box, wanted);
        if (common.elements() == 0) continue;
        if (stored.stored.file) {
            read_box(stored.stored, within(stored.box, common), memory.part(within(wanted, common)));
            continue;
        }
        StoredArray opened = stored.stored;
        opened.file = stored.file();
        read_box(opened, within(stored.box, common), memory.part(within(wanted, common)));
    }
}

}  // namespace tailrace
