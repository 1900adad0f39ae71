// Moves elements that the ranks own in any order ("cells") to equal, contiguous ranges, one for each rank, and back. The plan is
// made once for each set of index lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gather/cells.hpp"
#include "gather/communicator.hpp"
#include "layout/indexed_block.hpp"

namespace tailrace {

// A dimension, and the indices along it that this rank has. All ranks give the same length.
struct OwnedIndices {
    uint64_t length = 0;
    IndexList indices;
};

// One array to move.
struct MovedArray {
    const std::vector<BlockView>* blocks = nullptr;  // this rank's blocks, in the order of its indices
    size_t dim = 0;                                  // the dimension that the indices are along
    uint64_t rows = 1;                               // number of indices of all dimensions before `dim`
    uint64_t cell_bytes = 1;                         // bytes at one index of `dim` in one row
    std::byte* range = nullptr;                      // memory for rows x this rank's range x cell_bytes
};

// Memory for the messages of a move. Kept between moves: fresh memory would cost a page fault for each page of a message.
class MoveBuffers {
public:
    // Each returns memory of at least `bytes` bytes, with undefined content.
    std::byte* in(uint64_t bytes) { return at_least(in_, bytes); }
    std::byte* out(uint64_t bytes) { return at_least(out_, bytes); }
    std::byte* own(uint64_t bytes) { return at_least(own_, bytes); }

private:
    static std::byte* at_least(std::vector<std::byte>& buffer, uint64_t bytes) {
        if (buffer.size() < bytes) buffer.resize(bytes);
        return buffer.data();
    }
    std::vector<std::byte> in_, out_, own_;  // from others, to others, what a rank has for itself
};

class Redistribution {
public:
    // An index that several ranks have, or one rank has twice. Ranks are numbered as in the user's communicator.
    struct Duplicate {
        uint64_t index = 0, rank = 0, other_rank = 0;
    };

    // The most indices that a rank can have along a dimension.
    static constexpr uint64_t kMostIndices = UINT32_MAX;

    // Collective. Makes one plan for each of `owned`; all ranks pass equally many. Indices are below the length. A rank has at most
    // kMostIndices of them, and no range is longer than that.
    static std::vector<Redistribution> plan(const Communicator& ranks, const std::vector<OwnedIndices>& owned);

    // This rank's range: its first index and its length.
    uint64_t range_begin() const { return begin_; }
    uint64_t range_length() const { return length_; }
    // The first index of this rank's range that is owned twice.
    const std::optional<Duplicate>& duplicate() const { return duplicate_; }
    // The first index of this rank's range that no rank owns.
    const std::optional<uint64_t>& missing() const { return missing_; }

    // Collective. Moves the elements of all arrays to the ranges, or from there to the blocks, with about `buffer_bytes` for
    // messages, in `buffers`. All ranks give arrays with equal rows and cell_bytes.
    void to_ranges(const Communicator& ranks, const std::vector<MovedArray>& arrays, uint64_t buffer_bytes,
                   MoveBuffers& buffers) const;
    void from_ranges(const Communicator& ranks, const std::vector<MovedArray>& arrays, uint64_t buffer_bytes,
                     MoveBuffers& buffers) const;

    // to_ranges() without messages, if all ranks are on one node: each rank shows its cells in memory of the node, and the ranks
    // agree before each of them takes those of its range. Both are local.
    uint64_t shown_bytes(const MovedArray& array) const { return array.rows * shown_cells_ * array.cell_bytes; }
    void show(const MovedArray& array, std::byte* shown) const;
    void take_shown(const MovedArray& array, const std::byte* shown) const;

private:
    // The cells that move between this rank and `rank`: `count` of them from position `first` of Side::cells on.
    struct Partner {
        uint64_t rank = 0, first = 0, count = 0;
    };
    // One side: cells by partner. On the side of the blocks they are numbered in the order of the indices, on that of the range
    // from its beginning. Both sides list the cells of a pair in the same order.
    struct Side {
        std::vector<Partner> partners;
        std::vector<uint32_t> cells;
    };
    struct Round;
    class Move;

    void take_message(uint64_t from, uint64_t first_shown, const uint64_t* words, uint64_t count);
    void check_range(const std::vector<uint64_t>& user_ranks);
    template <class Transfer>
    void for_rounds(const Communicator& ranks, const std::vector<MovedArray>& arrays, uint64_t buffer_bytes,
                    Transfer&& transfer) const;

    uint64_t begin_ = 0, length_ = 0, longest_ = 0;  // the longest range of all ranks
    Side blocks_, range_;
    // If all ranks are on one node: how many cells they show, the number of this rank's first one among these, and the numbers of
    // the cells of the range.
    uint64_t shown_cells_ = 0, first_shown_ = 0;
    std::vector<uint32_t> shown_;
    std::optional<Duplicate> duplicate_;
    std::optional<uint64_t> missing_;
};

}  // namespace tailrace
