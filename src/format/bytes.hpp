// Encodes bytes of a file in HDF5's format: numbers are little endian, addresses and lengths have 8 bytes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tailrace::format {

static_assert(std::endian::native == std::endian::little, "numbers are stored as they are in memory");

constexpr uint64_t kChecksumBytes = 4;
constexpr uint64_t kUndefined = ~uint64_t{0};  // the address of what is not stored

// An allocator whose memory is not set to zero: the bytes are written before they are read.
template <class Byte>
struct Unset : std::allocator<Byte> {
    template <class Other>
    struct rebind {
        using other = Unset<Other>;
    };
    template <class Place>
    void construct(Place* at) noexcept {
        ::new (static_cast<void*>(at)) Place;
    }
    template <class Place, class Value>
    void construct(Place* at, Value&& value) {
        std::construct_at(at, std::forward<Value>(value));
    }
};
using ByteVector = std::vector<std::byte, Unset<std::byte>>;

// Bob Jenkins' lookup3 ("hashlittle", public domain), with which HDF5 sums metadata.
uint32_t lookup3(std::span<const std::byte> bytes);
// The checksums of four ranges of `bytes` bytes each. RATIONALE: four take the time of one, since in one checksum each word waits
// for the sum before it.
std::array<uint32_t, 4> lookup3_of_4(const std::array<const std::byte*, 4>& from, uint64_t bytes);

class Bytes {
public:
    template <class Number>
    void put(Number number) {
        put_bytes({reinterpret_cast<const std::byte*>(&number), sizeof number});
    }
    void put_bytes(std::span<const std::byte> bytes) {
        if (!bytes.empty()) std::memcpy(grow(bytes.size()), bytes.data(), bytes.size());
    }
    void put_text(std::string_view text) { put_bytes({reinterpret_cast<const std::byte*>(text.data()), text.size()}); }
    // Appends the name and a zero byte.
    void put_name(std::string_view name) {
        put_text(name);
        put(uint8_t{0});
    }
    void put_zeros(uint64_t count) {
        if (count > 0) std::memset(grow(count), 0, count);
    }
    // Appends the checksum of the bytes from `begin` on.
    void put_checksum(uint64_t begin = 0) { put(lookup3(part(begin, size_))); }
    // The positions [begin, end) of bytes, the last kChecksumBytes of which are room for the checksum of the others.
    struct Range {
        uint64_t begin, end;
    };
    void set_checksums(std::span<const Range> ranges);

    template <class Number>
    void set(uint64_t at, Number number) {
        std::memcpy(room_.data() + at, &number, sizeof number);
    }
    void set_text(uint64_t at, std::string_view text) { std::memcpy(room_.data() + at, text.data(), text.size()); }
    void cut(uint64_t bytes) { size_ = bytes; }

    uint64_t size() const { return size_; }
    std::span<const std::byte> all() const { return {room_.data(), size_}; }
    std::span<const std::byte> part(uint64_t begin, uint64_t end) const { return all().subspan(begin, end - begin); }
    void reserve(uint64_t bytes) {
        if (bytes > room_.size()) room_.resize(bytes);
    }
    ByteVector take() {
        room_.resize(std::exchange(size_, 0));
        return std::move(room_);
    }

private:
    // RATIONALE: inline, and one comparison where there is room: most calls append a short number, and a call of a function would
    // cost as much as encoding it.
    std::byte* grow(uint64_t bytes) {
        if (size_ + bytes > room_.size()) room_.resize(std::max<uint64_t>({2 * room_.size(), size_ + bytes, kLeastRoom}));
        return room_.data() + std::exchange(size_, size_ + bytes);
    }

    static constexpr uint64_t kLeastRoom = 256;
    ByteVector room_;
    uint64_t size_ = 0;
};

}  // namespace tailrace::format
