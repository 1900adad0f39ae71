// A lock-free table with a value for each open handle of a library. Has room for Handles::kMost handles; further ones are not
// stored.
#pragma once

#include <atomic>
#include <cstdint>

#include "preload/callers.hpp"

namespace tailrace::preload {

class Handles {
public:
    static constexpr int kMost = 256;

    bool is_empty() const { return count_.load(std::memory_order_relaxed) == 0; }
    uint64_t find(Word handle) const {
        for (const Entry& entry : entries_) {
            const Word there = entry.handle.load(std::memory_order_acquire);
            if (there == handle) return entry.value.load(std::memory_order_relaxed);
            if (there == kNeverUsed) return 0;
        }
        return 0;
    }
    void put(Word handle, uint64_t value) {
        remove(handle);
        for (Entry& entry : entries_) {
            Word there = entry.handle.load(std::memory_order_relaxed);
            if ((there == kNeverUsed || there == kRemoved) && entry.handle.compare_exchange_strong(there, kBeingFilled)) {
                entry.value.store(value, std::memory_order_relaxed);
                entry.handle.store(handle, std::memory_order_release);
                count_.fetch_add(1, std::memory_order_relaxed);
                return;
            }
        }
    }
    void remove(Word handle) {
        for (Entry& entry : entries_) {
            Word there = handle;
            if (entry.handle.compare_exchange_strong(there, kRemoved)) {
                count_.fetch_sub(1, std::memory_order_relaxed);
                return;
            }
            if (there == kNeverUsed) return;
        }
    }

private:
    static constexpr Word kNeverUsed = 0, kRemoved = -1, kBeingFilled = -2;
    struct Entry {
        std::atomic<Word> handle = kNeverUsed;
        std::atomic<uint64_t> value = 0;
    };
    Entry entries_[kMost] = {};
    std::atomic<int> count_ = 0;
};

}  // namespace tailrace::preload
