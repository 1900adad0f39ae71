// The global heap ("Level 1E"): pieces of bytes that headers name by the address of their collection and a number in it. A
// collection is read as a whole by who needs one piece of it, so its size is a choice.
#pragma once

#include <cstdint>
#include <span>

#include "format/bytes.hpp"

namespace tailrace::format {

// Appends its collections to `out`, from a multiple of 8 on. Only it may add to `out` until end().
class GlobalHeap {
public:
    // A collection is closed when it has so many bytes; a larger piece has its own.
    GlobalHeap(Bytes& out, uint64_t collection_bytes) : out_(out), collection_bytes_(collection_bytes) {}

    // In `out`: where its collection begins, and its bytes.
    struct Place {
        uint64_t collection = 0;
        uint32_t number = 0;
        uint64_t at = 0;
    };
    Place add(std::span<const std::byte> piece);
    void end();

private:
    void close();
    Bytes& out_;
    uint64_t collection_bytes_;
    uint64_t begin_ = 0;   // of the open collection
    uint32_t number_ = 0;  // of its last piece; 0: none is open
};

}  // namespace tailrace::format
