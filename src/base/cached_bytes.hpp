// Bytes of a file that lie in the page cache, as memory: copied from there they are in the caller's array in half to three
// quarters of the time of a read call (docs/decisions/0021-cached-bytes-are-copied-from-where-they-are.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace tailrace {

class CachedBytes {
public:
    // None where they are few, are not in the page cache, or belong to a file system for which mapping costs more than reading:
    // such bytes are read as ever. None, too, where the file ends before them; reading then says so.
    static std::optional<CachedBytes> find(int descriptor, uint64_t address, uint64_t bytes);
    CachedBytes(CachedBytes&& other) noexcept
        : descriptor_(other.descriptor_), end_(other.end_), base_(std::exchange(other.base_, nullptr)), mapped_(other.mapped_),
          before_(other.before_) {}
    CachedBytes& operator=(CachedBytes&&) = delete;
    ~CachedBytes();

    const std::byte* data() const { return base_ + before_; }
    // To be asked when all has been copied. If not, the file was truncated meanwhile, and what was copied may be zeros.
    bool are_still_there() const;

private:
    CachedBytes(int descriptor, uint64_t end, std::byte* base, uint64_t mapped, uint64_t before)
        : descriptor_(descriptor), end_(end), base_(base), mapped_(mapped), before_(before) {}
    int descriptor_;
    uint64_t end_;  // of the bytes, in the file
    std::byte* base_;
    uint64_t mapped_, before_;  // from the page's begin
};

}  // namespace tailrace
