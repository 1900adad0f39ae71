// Filling memory: with bytes that are not read again soon, or with one value repeated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tailrace {

// Copies like std::memcpy, but with stores that bypass the caches if the processor has them. The caller's data stays in the caches,
// and cache lines that are overwritten whole are not read first. Another thread may read the bytes after it has taken a lock that
// the caller has released.
void copy_past_caches(void* to, const void* from, size_t bytes);

// Fills `into` with copies of the value.
inline void repeat(std::span<const std::byte> value, std::span<std::byte> into) {
    for (size_t i = 0; i < into.size(); ++i) into[i] = value[i % value.size()];
}

}  // namespace tailrace
