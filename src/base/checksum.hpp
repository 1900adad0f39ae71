// The checksum of stored bytes: XXH3, 64 bits (xxhash), computed piece by piece while the bytes are written. Uses the calls of
// xxhash that choose the widest vector instructions of this processor: 48 instead of 20 GB/s on data in a cache (measured). The
// checksums are the same.
#pragma once

#include <xxh_x86dispatch.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/vector_state.hpp"

namespace tailrace {

class Checksum {
public:
    Checksum() : state_(XXH3_createState(), &XXH3_freeState) { reset(); }
    void reset() { XXH3_64bits_reset(state_.get()); }
    void add(const void* data, size_t bytes) {
        XXH3_64bits_update_dispatch(state_.get(), data, bytes);
        clear_upper_halves();
    }
    uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

    static uint64_t of(const void* data, size_t bytes) {
        const uint64_t sum = XXH3_64bits_dispatch(data, bytes);
        clear_upper_halves();
        return sum;
    }

private:
    std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

}  // namespace tailrace
