// Atomic access to fields of log records that several threads change. Records are plain structs, because they are the file's
// format.
#pragma once

#include <atomic>
#include <cstdint>

namespace tailrace::trace {

template <class Field>
std::atomic<Field>& as_atomic(Field& field) {
    static_assert(sizeof(std::atomic<Field>) == sizeof(Field) && std::atomic<Field>::is_always_lock_free);
    return reinterpret_cast<std::atomic<Field>&>(field);
}

inline void add(uint64_t& to, uint64_t value) { as_atomic(to).fetch_add(value, std::memory_order_relaxed); }

}  // namespace tailrace::trace
