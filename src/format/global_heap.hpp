// The global heap ("Level 1E"): pieces of bytes that headers name by the address of their collection and a number in it. A
// collection is read as a whole by who needs one piece of it, so its size is a choice.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "format/bytes.hpp"

namespace tailrace::format {

class GlobalHeap {
public:
    // A collection is closed when it has so many bytes; a larger piece has its own.
    explicit GlobalHeap(uint64_t collection_bytes) : collection_bytes_(collection_bytes) {}

    struct Place {
        uint64_t collection = 0;
        uint32_t number = 0;
        uint64_t at = 0;  // where the piece's bytes are, from the beginning of the heap
    };
    Place add(std::span<const std::byte> piece);

    // No more is added. All collections, one behind the other.
    Bytes end();
    // From the beginning of the heap.
    uint64_t offset(const Place& place) const { return offsets_.at(place.collection); }

private:
    void close();
    uint64_t collection_bytes_;
    Bytes out_;
    std::vector<uint64_t> offsets_;  // of the collections
    uint32_t number_ = 0;            // of the last piece in the open one
};

}  // namespace tailrace::format
