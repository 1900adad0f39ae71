#include "layout/coverage.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "layout/notation.hpp"
#include "layout/share.hpp"

namespace tailrace {
namespace {

// A box cut to the region that is looked at, without heap memory of its own.
struct Piece {
    std::array<uint64_t, kMaxDims> begin{}, end{};
    size_t owner = 0;  // its place in the caller's list
};
using Pieces = std::vector<Piece>;
using Pair = std::pair<size_t, size_t>;

// Up to here all pairs are compared; above, the list is divided.
constexpr size_t kFewPieces = 24;

Pieces pieces_within(const Box& region, const std::vector<OwnedBox>& boxes) {
    const size_t dims = region.count.size();
    Pieces pieces;
    for (size_t i = 0; i < boxes.size(); ++i) {
        Piece piece;
        piece.owner = i;
        bool inside = true;
        for (size_t d = 0; d < dims && inside; ++d) {
            const Box& box = boxes[i].box;
            piece.begin[d] = std::max(box.offset[d], region.offset[d]);
            piece.end[d] = std::min(box.offset[d] + box.count[d], region.offset[d] + region.count[d]);
            inside = piece.begin[d] < piece.end[d];
        }
        if (inside) pieces.push_back(piece);
    }
    return pieces;
}

bool overlap(const Piece& a, const Piece& b, size_t dims) {
    for (size_t d = 0; d < dims; ++d)
        if (a.end[d] <= b.begin[d] || b.end[d] <= a.begin[d]) return false;
    return true;
}

std::optional<Pair> overlap_of_any_two(const Pieces& pieces, size_t dims) {
    for (size_t i = 0; i < pieces.size(); ++i)
        for (size_t j = i + 1; j < pieces.size(); ++j)
            if (overlap(pieces[i], pieces[j], dims)) return Pair{pieces[i].owner, pieces[j].owner};
    return std::nullopt;
}

struct Plane {
    size_t dim = 0;
    uint64_t at = 0;
    size_t larger_side = 0;  // pieces on the fuller side; those that the plane cuts are on both
};

// Of the planes through the middle piece's edge along each dimension, the one that divides best.
Plane best_plane(const Pieces& pieces, size_t dims) {
    Plane best{0, 0, pieces.size()};
    std::vector<uint64_t> edges(pieces.size());
    for (size_t d = 0; d < dims; ++d) {
        std::transform(pieces.begin(), pieces.end(), edges.begin(), [d](const Piece& piece) { return piece.begin[d]; });
        const auto middle = edges.begin() + static_cast<std::ptrdiff_t>(edges.size() / 2);
        std::nth_element(edges.begin(), middle, edges.end());
        size_t below = 0, above = 0;
        for (const Piece& piece : pieces) {
            below += piece.begin[d] < *middle;
            above += piece.end[d] > *middle;
        }
        if (std::max(below, above) < best.larger_side) best = {d, *middle, std::max(below, above)};
    }
    return best;
}

std::optional<Pair> find_overlap(const Pieces& pieces, size_t dims) {
    if (pieces.size() <= kFewPieces) return overlap_of_any_two(pieces, dims);
    const Plane plane = best_plane(pieces, dims);
    if (plane.larger_side > pieces.size() - pieces.size() / 8) return overlap_of_any_two(pieces, dims);
    for (const bool upper : {false, true}) {
        Pieces side;
        side.reserve(plane.larger_side);
        for (const Piece& piece : pieces)
            if (upper ? piece.end[plane.dim] > plane.at : piece.begin[plane.dim] < plane.at) side.push_back(piece);
        if (auto found = find_overlap(side, dims)) return found;
    }
    return std::nullopt;
}

// The first index along dimension d at which the pieces do not fill the region's cross-section; the region's end when they do
// everywhere.
uint64_t first_unfilled(const Pieces& pieces, const Box& region, size_t d) {
    uint64_t full = 1;
    for (size_t inner = d + 1; inner < region.count.size(); ++inner) full *= region.count[inner];
    std::vector<std::pair<uint64_t, int64_t>> changes;  // (index, elements of the cross-section that begin or end there)
    for (const Piece& piece : pieces) {
        uint64_t section = 1;
        for (size_t inner = d + 1; inner < region.count.size(); ++inner) section *= piece.end[inner] - piece.begin[inner];
        changes.emplace_back(piece.begin[d], static_cast<int64_t>(section));
        changes.emplace_back(piece.end[d], -static_cast<int64_t>(section));
    }
    std::sort(changes.begin(), changes.end());
    const uint64_t end = region.offset[d] + region.count[d];
    uint64_t index = region.offset[d], filled = 0;
    for (size_t i = 0; index < end; index = i < changes.size() ? changes[i].first : end) {
        for (; i < changes.size() && changes[i].first == index; ++i) filled += static_cast<uint64_t>(changes[i].second);
        if (filled < full) return index;
    }
    return end;
}

// The first element of the region that none of the pieces has; they must not overlap.
std::optional<Extents> find_gap(Pieces pieces, const Box& region) {
    const size_t dims = region.count.size();
    if (dims == 0) return pieces.empty() ? std::optional(Extents{}) : std::nullopt;
    Extents missing(dims);
    for (size_t d = 0; d < dims; ++d) {
        missing[d] = first_unfilled(pieces, region, d);
        if (missing[d] == region.offset[d] + region.count[d]) return std::nullopt;
        std::erase_if(pieces, [&](const Piece& piece) { return piece.begin[d] > missing[d] || piece.end[d] <= missing[d]; });
    }
    return missing;
}

}  // namespace

std::optional<CoverageFault> check_coverage(const Extents& shape, uint64_t lo, uint64_t hi, const std::vector<OwnedBox>& boxes,
                                            bool gaps_allowed) {
    std::optional<CoverageFault> gap;
    for (const Box& region : share_boxes(shape, lo, hi)) {
        Pieces pieces = pieces_within(region, boxes);
        if (const auto both = find_overlap(pieces, shape.size())) {
            OwnedBox a = boxes[both->first], b = boxes[both->second];
            if (b.rank < a.rank) std::swap(a, b);
            return CoverageFault{CoverageFault::Kind::overlap, std::move(a), std::move(b), {}};
        }
        if (gaps_allowed || gap) continue;
        if (auto missing = find_gap(std::move(pieces), region)) gap = {CoverageFault::Kind::gap, {}, {}, std::move(*missing)};
    }
    return gap;
}

std::string describe(const CoverageFault& fault) {
    if (fault.kind == CoverageFault::Kind::overlap)
        return text("rank ", fault.a.rank, "'s block ", describe(fault.a.box), " overlaps rank ", fault.b.rank, "'s block ",
                    describe(fault.b.box));
    return text("no rank owns element ", index_text(fault.missing));
}

}  // namespace tailrace
