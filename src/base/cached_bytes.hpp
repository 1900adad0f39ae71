// Bytes of a file in the page cache, mapped as memory. On most machines, copying from there takes half to three quarters of the
// time of a read call (docs/decisions/0021-cached-bytes-are-copied-from-where-they-are.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace tailrace {

class CachedBytes {
public:
    static constexpr uint64_t kFewest = 512u << 10;  // for fewer bytes, mapping costs more than it saves
    // Maps the bytes. Returns nothing, and the caller reads them instead, if they are fewer than kFewest, are not all in the page
    // cache, or are on a file system where mapping costs more than reading. Also if the file ends before them; reading reports
    // that.
    static std::optional<CachedBytes> find(int descriptor, uint64_t address, uint64_t bytes);
    CachedBytes(CachedBytes&& other) noexcept
        : descriptor_(other.descriptor_), end_(other.end_), base_(std::exchange(other.base_, nullptr)), mapped_(other.mapped_),
          before_(other.before_) {}
    CachedBytes& operator=(CachedBytes&&) = delete;
    ~CachedBytes();

    const std::byte* data() const { return base_ + before_; }
    // Call this after copying. False: the file was truncated meanwhile, and the copy may hold zeros.
    bool are_still_there() const;

private:
    CachedBytes(int descriptor, uint64_t end, std::byte* base, uint64_t mapped, uint64_t before)
        : descriptor_(descriptor), end_(end), base_(base), mapped_(mapped), before_(before) {}
    int descriptor_;
    uint64_t end_;  // address in the file behind the wanted bytes
    std::byte* base_;
    uint64_t mapped_, before_;  // bytes that are mapped; how many of them are before the wanted ones, in the first page
};

}  // namespace tailrace
