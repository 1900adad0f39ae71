// Checks that the blocks of all ranks cover each array exactly once. Every rank checks one tile of the array, so that no rank needs
// all blocks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gather/agree.hpp"
#include "gather/communicator.hpp"
#include "layout/box.hpp"

namespace tailrace {

struct CoverArray {
    std::string name;
    Shape shape;
    std::vector<Box> mine;
    bool gaps_allowed = false;
};

// Collective, in two stages between which the ranks agree:
//
//   CoverCheck check(ranks, arrays);
//   vote.covers_badly = check.covers_badly(), vote.has_blocks_elsewhere = check.has_blocks_elsewhere();
//   all = agree(ranks, vote, ...);
//   check.finish(all.covers_badly, all.has_blocks_elsewhere);
//
// Most ranks own the tile that they check. If all do, the first agreement is enough and no rank waits for messages.
class CoverCheck {
public:
    // Local. `arrays` must outlive this object.
    CoverCheck(const Communicator& ranks, const std::vector<CoverArray>& arrays);
    ~CoverCheck();
    CoverCheck(const CoverCheck&) = delete;
    CoverCheck& operator=(const CoverCheck&) = delete;

    bool covers_badly() const;          // the blocks leave a gap in this rank's tile, or overlap there
    bool has_blocks_elsewhere() const;  // some of this rank's blocks lie in tiles that other ranks check
    // Collective. Returns at once if both are false. Throws BLOCK_OVERLAP or BLOCK_GAP on all ranks; the message names the
    // variable, the ranks and their blocks.
    void finish(bool any_covers_badly, bool any_has_blocks_elsewhere);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Collective if an array may have gaps. For each array: whether some of its elements belong to no rank.
std::vector<bool> arrays_with_gaps(const Communicator& ranks, const std::vector<CoverArray>& arrays);

}  // namespace tailrace
