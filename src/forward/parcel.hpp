// A step of one rank as it travels to the rank that writes it: what has been put, in one stretch of memory.
//
//   [number of words][the words: what each piece is, and where][pieces, each at a multiple of 64 bytes]
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stream/definitions.hpp"
#include "stream/step_data.hpp"

namespace tailrace {

struct Piece {
    uint64_t variable = 0;
    bool replicated = false;
    Box box;              // of a block
    uint64_t offset = 0;  // in the parcel
    uint64_t bytes = 0;
};

struct Parcel {
    std::vector<Piece> pieces;
    std::vector<uint64_t> words;  // what the pieces are
    uint64_t bytes = 0;           // of all of it
};

// `with_values`: replicated values travel, too; they are the same on all ranks. `with_static`: so do variables that do not vary.
Parcel lay_out_parcel(const Definitions& definitions, const StepData& data, bool with_values, bool with_static);
// Copies, and asks for no memory.
void write_parcel(const Parcel& parcel, const StepData& data, std::byte* to);
std::vector<Piece> read_pieces(const std::byte* from);

}  // namespace tailrace
