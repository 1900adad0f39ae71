#include "layout/coverage.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "layout/notation.hpp"
#include "layout/slab.hpp"

namespace tailrace {
namespace {

// A box cut to the region that is checked, without heap memory of its own.
struct Cut {
    std::array<uint64_t, kMaxDims> begin{}, end{};
    size_t owner = 0;  // its place in the caller's list
};
using Cuts = std::vector<Cut>;
using Pair = std::pair<size_t, size_t>;

// Up to so many cuts, all pairs are compared; longer lists are divided.
constexpr size_t kFewCuts = 24;

Cuts cuts_within(const Box& region, const std::vector<OwnedBox>& boxes) {
    const size_t dims = region.count.size();
    Cuts cuts;
    for (size_t i = 0; i < boxes.size(); ++i) {
        Cut cut;
        cut.owner = i;
        bool inside = true;
        for (size_t d = 0; d < dims && inside; ++d) {
            const Box& box = boxes[i].box;
            cut.begin[d] = std::max(box.offset[d], region.offset[d]);
            cut.end[d] = std::min(box.offset[d] + box.count[d], region.offset[d] + region.count[d]);
            inside = cut.begin[d] < cut.end[d];
        }
        if (inside) cuts.push_back(cut);
    }
    return cuts;
}

bool overlap(const Cut& a, const Cut& b, size_t dims) {
    for (size_t d = 0; d < dims; ++d)
        if (a.end[d] <= b.begin[d] || b.end[d] <= a.begin[d]) return false;
    return true;
}

std::optional<Pair> overlap_of_any_two(const Cuts& cuts, size_t dims) {
    for (size_t i = 0; i < cuts.size(); ++i)
        for (size_t j = i + 1; j < cuts.size(); ++j)
            if (overlap(cuts[i], cuts[j], dims)) return Pair{cuts[i].owner, cuts[j].owner};
    return std::nullopt;
}

struct Plane {
    size_t dim = 0;
    uint64_t at = 0;
    size_t larger_side = 0;  // number of cuts on the side with more; a cut that the plane divides is on both sides
};

// Along each dimension, tries the plane through the edge of the middle cut; returns the plane that divides the cuts best.
Plane best_plane(const Cuts& cuts, size_t dims) {
    Plane best{0, 0, cuts.size()};
    std::vector<uint64_t> edges(cuts.size());
    for (size_t d = 0; d < dims; ++d) {
        std::transform(cuts.begin(), cuts.end(), edges.begin(), [d](const Cut& cut) { return cut.begin[d]; });
        const auto middle = edges.begin() + static_cast<std::ptrdiff_t>(edges.size() / 2);
        std::nth_element(edges.begin(), middle, edges.end());
        size_t below = 0, above = 0;
        for (const Cut& cut : cuts) {
            below += cut.begin[d] < *middle;
            above += cut.end[d] > *middle;
        }
        if (std::max(below, above) < best.larger_side) best = {d, *middle, std::max(below, above)};
    }
    return best;
}

std::optional<Pair> find_overlap(const Cuts& cuts, size_t dims) {
    if (cuts.size() <= kFewCuts) return overlap_of_any_two(cuts, dims);
    const Plane plane = best_plane(cuts, dims);
    if (plane.larger_side > cuts.size() - cuts.size() / 8) return overlap_of_any_two(cuts, dims);
    for (const bool upper : {false, true}) {
        Cuts side;
        side.reserve(plane.larger_side);
        for (const Cut& cut : cuts)
            if (upper ? cut.end[plane.dim] > plane.at : cut.begin[plane.dim] < plane.at) side.push_back(cut);
        if (auto found = find_overlap(side, dims)) return found;
    }
    return std::nullopt;
}

// The first index along dimension d at which the cuts do not fill the region's cross-section; the region's end if they fill it
// everywhere.
uint64_t first_unfilled(const Cuts& cuts, const Box& region, size_t d) {
    uint64_t full = 1;
    for (size_t inner = d + 1; inner < region.count.size(); ++inner) full *= region.count[inner];
    std::vector<std::pair<uint64_t, int64_t>> changes;  // (index, elements of the cross-section that begin or end there)
    for (const Cut& cut : cuts) {
        uint64_t section = 1;
        for (size_t inner = d + 1; inner < region.count.size(); ++inner) section *= cut.end[inner] - cut.begin[inner];
        changes.emplace_back(cut.begin[d], static_cast<int64_t>(section));
        changes.emplace_back(cut.end[d], -static_cast<int64_t>(section));
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

// The first element of the region that no cut has. The cuts must not overlap.
std::optional<Shape> find_gap(Cuts cuts, const Box& region) {
    const size_t dims = region.count.size();
    if (dims == 0) return cuts.empty() ? std::optional(Shape{}) : std::nullopt;
    Shape missing(dims);
    for (size_t d = 0; d < dims; ++d) {
        missing[d] = first_unfilled(cuts, region, d);
        if (missing[d] == region.offset[d] + region.count[d]) return std::nullopt;
        std::erase_if(cuts, [&](const Cut& cut) { return cut.begin[d] > missing[d] || cut.end[d] <= missing[d]; });
    }
    return missing;
}

}  // namespace

std::optional<CoverageFault> check_coverage(const Shape& shape, uint64_t lo, uint64_t hi, const std::vector<OwnedBox>& boxes,
                                            bool gaps_allowed) {
    std::optional<CoverageFault> gap;
    for (const Box& region : slab_boxes(shape, lo, hi)) {
        Cuts cuts = cuts_within(region, boxes);
        if (const auto both = find_overlap(cuts, shape.size())) {
            OwnedBox a = boxes[both->first], b = boxes[both->second];
            if (b.rank < a.rank) std::swap(a, b);
            return CoverageFault{CoverageFault::Kind::overlap, std::move(a), std::move(b), {}};
        }
        if (gaps_allowed || gap) continue;
        if (auto missing = find_gap(std::move(cuts), region)) gap = {CoverageFault::Kind::gap, {}, {}, std::move(*missing)};
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
