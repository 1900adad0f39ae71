// The global heap ("Level 1E"): objects of any size, in collections. Headers refer to an object by the address of its collection
// and its number there. A reader that needs one object reads the whole collection, so the size of collections can be chosen.
#pragma once

#include <cstdint>
#include <span>

#include "format/bytes.hpp"

namespace tailrace::format {

// Appends collections to `out`, from a multiple of 8 on. Nothing else may be added to `out` until end().
class GlobalHeap {
public:
    // A collection has at most `collection_bytes` bytes; a larger object gets a collection of its own.
    GlobalHeap(Bytes& out, uint64_t collection_bytes) : out_(out), collection_bytes_(collection_bytes) {}

    // Positions in `out`: of the collection, and of the object's bytes.
    struct Place {
        uint64_t collection = 0;
        uint32_t number = 0;
        uint64_t at = 0;
    };
    Place add(std::span<const std::byte> object);
    void end();

private:
    void close();
    Bytes& out_;
    uint64_t collection_bytes_;
    uint64_t begin_ = 0;   // of the open collection
    uint32_t number_ = 0;  // of its last object; 0: no collection is open
};

}  // namespace tailrace::format
