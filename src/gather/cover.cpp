#include "gather/cover.hpp"

#include <algorithm>
#include <bit>

#include "gather/box_words.hpp"
#include "gather/sparse_exchange.hpp"
#include "layout/coverage.hpp"
#include "layout/slab.hpp"
#include "layout/topology.hpp"

namespace tailrace {
namespace {

// The largest number up to `number` without prime factors other than 2 and 3.
uint64_t smooth(uint64_t number) {
    uint64_t best = 1;
    for (uint64_t threes = 1; threes <= number; threes *= 3) best = std::max(best, threes * std::bit_floor(number / threes));
    return best;
}

// Cuts an array regularly into at most `tiles` tiles of similar shape.
class Tiling {
public:
    Tiling(const Shape& shape, uint64_t tiles) : shape_(shape), grid_(shape.size(), 1) {
        for (uint64_t left = smooth(tiles); left > 1;) {
            const uint64_t factor = left % 3 == 0 ? 3 : 2;
            left /= factor;
            const size_t d = longest();
            if (shape_[d] / grid_[d] >= factor) grid_[d] *= factor;
        }
    }

    Box tile(uint64_t number) const {
        Box box{Shape(shape_.size()), Shape(shape_.size())};
        for (size_t d = shape_.size(); d-- > 0; number /= grid_[d]) {
            const uint64_t k = number % grid_[d];
            box.offset[d] = split_begin(shape_[d], grid_[d], k);
            box.count[d] = split_begin(shape_[d], grid_[d], k + 1) - box.offset[d];
        }
        return box;
    }

    uint64_t tiles() const { return volume(grid_); }

    // Calls use(number) for every tile that a box touches.
    template <class Use>
    void touched(const Box& box, Use&& use) const {
        Shape first(shape_.size()), last(shape_.size());
        for (size_t d = 0; d < shape_.size(); ++d) {
            first[d] = split_index(shape_[d], grid_[d], box.offset[d]);
            last[d] = split_index(shape_[d], grid_[d], box.offset[d] + box.count[d] - 1);
        }
        Shape at = first;
        for (;;) {
            uint64_t number = 0;
            for (size_t d = 0; d < at.size(); ++d) number = number * grid_[d] + at[d];
            use(number);
            size_t d = at.size();
            while (d > 0 && ++at[d - 1] > last[d - 1]) at[d - 1] = first[d - 1], --d;
            if (d == 0) return;
        }
    }

private:
    size_t longest() const {
        size_t best = 0;
        for (size_t d = 1; d < grid_.size(); ++d)
            if (shape_[d] * grid_[best] > shape_[best] * grid_[d]) best = d;
        return best;
    }
    Shape shape_, grid_;
};

Messages blocks_for_checkers(const Communicator& ranks, const std::vector<CoverArray>& arrays, const std::vector<Tiling>& tilings) {
    Messages out;
    for (size_t a = 0; a < arrays.size(); ++a)
        for (const Box& box : arrays[a].mine)
            if (box.elements() > 0)
                tilings[a].touched(box, [&](uint64_t tile) {
                    std::vector<uint64_t>& words = out[tile];
                    words.insert(words.end(), {a, ranks.user_rank()});
                    put_box(words, box);
                });
    return out;
}

std::vector<std::vector<OwnedBox>> read(const Messages& messages, const std::vector<CoverArray>& arrays) {
    std::vector<std::vector<OwnedBox>> boxes(arrays.size());
    for (const auto& [from, words] : messages)
        for (size_t at = 0; at < words.size();) {
            const size_t a = words[at];
            const uint64_t rank = words[at + 1];
            at += 2;
            boxes[a].push_back({rank, take_box(words, at, arrays[a].shape.size())});
        }
    return boxes;
}

// Checks one tile like an array of its own. The message has whole boxes, in indices of the whole array.
void check_tile(const CoverArray& array, const Box& tile, const std::vector<OwnedBox>& boxes) {
    std::vector<OwnedBox> clipped;
    for (const OwnedBox& owned : boxes) {
        clipped.push_back({owned.rank, intersection(owned.box, tile)});
        for (size_t d = 0; d < tile.offset.size(); ++d) clipped.back().box.offset[d] -= tile.offset[d];
    }
    auto fault = check_coverage(tile.count, 0, tile.elements(), clipped, array.gaps_allowed);
    if (!fault) return;
    for (size_t d = 0; d < fault->missing.size(); ++d) fault->missing[d] += tile.offset[d];
    const auto whole = [&](OwnedBox& part) {
        const auto at = std::find(clipped.begin(), clipped.end(), part);
        if (at != clipped.end()) part = boxes[static_cast<size_t>(at - clipped.begin())];
    };
    const bool gap = fault->kind == CoverageFault::Kind::gap;
    if (!gap) {
        const auto first = std::find(clipped.begin(), clipped.end(), fault->a);
        const auto second = std::find(clipped.begin(), clipped.end(), fault->b);
        if (first == second && first != clipped.end()) {
            // If the same block was put twice, `b` is the second of the two equal entries.
            const auto again = std::find(first + 1, clipped.end(), fault->b);
            if (again != clipped.end()) fault->b = boxes[static_cast<size_t>(again - clipped.begin())];
        } else {
            whole(fault->b);
        }
        whole(fault->a);
    }
    throw Error(gap ? Status::BLOCK_GAP : Status::BLOCK_OVERLAP,
                text("variable '", array.name, "': ", describe(*fault),
                     gap ? "; put a block for it on some rank, or give the variable a _FillValue attribute if gaps are meant"
                         : "; each element belongs to one block"),
                Origin::several_ranks);
}

}  // namespace

struct CoverCheck::Impl {
    const Communicator& ranks;
    const std::vector<CoverArray>& arrays;
    std::vector<Tiling> tilings;
    Messages messages;           // this rank's blocks, for the ranks that check the tiles they lie in
    std::optional<Error> fault;  // of this rank's tile
    bool has_blocks_elsewhere = true;

    void check(const Messages& of_tile) {
        fault = attempt([&] {
            const auto boxes = read(of_tile, arrays);
            for (size_t a = 0; a < arrays.size(); ++a)
                if (ranks.rank() < tilings[a].tiles() && volume(arrays[a].shape) > 0)
                    check_tile(arrays[a], tilings[a].tile(ranks.rank()), boxes[a]);
        });
    }
};

CoverCheck::CoverCheck(const Communicator& ranks, const std::vector<CoverArray>& arrays)
    : impl_(std::make_unique<Impl>(Impl{ranks, arrays, {}, {}, {}})) {
    for (const CoverArray& array : arrays) impl_->tilings.emplace_back(array.shape, ranks.size());
    impl_->messages = blocks_for_checkers(ranks, arrays, impl_->tilings);
    impl_->has_blocks_elsewhere =
        !std::ranges::all_of(impl_->messages, [&](const auto& message) { return message.first == ranks.rank(); });
    if (!impl_->has_blocks_elsewhere) impl_->check(impl_->messages);
}

CoverCheck::~CoverCheck() = default;

bool CoverCheck::covers_badly() const { return impl_->fault.has_value(); }
bool CoverCheck::has_blocks_elsewhere() const { return impl_->has_blocks_elsewhere; }

void CoverCheck::finish(bool any_covers_badly, bool any_has_blocks_elsewhere) {
    if (any_has_blocks_elsewhere) impl_->check(deliver(impl_->ranks, impl_->messages));
    if (any_has_blocks_elsewhere || any_covers_badly) agree(impl_->ranks, PlanVote{}, impl_->fault);
}

std::vector<bool> arrays_with_gaps(const Communicator& ranks, const std::vector<CoverArray>& arrays) {
    std::vector<bool> has_gaps(arrays.size(), false);
    if (std::none_of(arrays.begin(), arrays.end(), [](const CoverArray& array) { return array.gaps_allowed; })) return has_gaps;
    std::vector<uint64_t> owned(arrays.size(), 0), total(arrays.size(), 0);
    for (size_t a = 0; a < arrays.size(); ++a)
        for (const Box& box : arrays[a].mine) owned[a] += box.elements();
    check_mpi(MPI_Allreduce(owned.data(), total.data(), static_cast<int>(owned.size()), MPI_UINT64_T, MPI_SUM, ranks.all()),
              "MPI_Allreduce");
    for (size_t a = 0; a < arrays.size(); ++a) has_gaps[a] = total[a] < volume(arrays[a].shape);
    return has_gaps;
}

}  // namespace tailrace
