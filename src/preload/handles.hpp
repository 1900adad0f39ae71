// What is known of open handles of a library. No lock; the first Handles::kMost that are open at once.
#pragma once

#include <atomic>
#include <cstdint>

#include "preload/callers.hpp"

namespace tailrace::preload {

class Handles {
public:
    static constexpr int kMost = 256;

    bool none() const { return held_.load(std::memory_order_relaxed) == 0; }
    uint64_t find(Word handle) const {
        for (const Entry& entry : entries_) {
            const Word there = entry.handle.load(std::memory_order_acquire);
            if (there == handle) return entry.value.load(std::memory_order_relaxed);
            if (there == kNever) return 0;
        }
        return 0;
    }
    void put(Word handle, uint64_t value) {
        remove(handle);
        for (Entry& entry : entries_) {
            Word there = entry.handle.load(std::memory_order_relaxed);
            if ((there == kNever || there == kGone) && entry.handle.compare_exchange_strong(there, kFilling)) {
                entry.value.store(value, std::memory_order_relaxed);
                entry.handle.store(handle, std::memory_order_release);
                held_.fetch_add(1, std::memory_order_relaxed);
                return;
            }
        }
    }
    void remove(Word handle) {
        for (Entry& entry : entries_) {
            Word there = handle;
            if (entry.handle.compare_exchange_strong(there, kGone)) {
                held_.fetch_sub(1, std::memory_order_relaxed);
                return;
            }
            if (there == kNever) return;
        }
    }

private:
    static constexpr Word kNever = 0, kGone = -1, kFilling = -2;
    struct Entry {
        std::atomic<Word> handle = kNever;
        std::atomic<uint64_t> value = 0;
    };
    Entry entries_[kMost] = {};
    std::atomic<int> held_ = 0;
};

}  // namespace tailrace::preload
