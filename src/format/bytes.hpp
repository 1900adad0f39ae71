// Bytes of a file in HDF5's format while they are put together: numbers are little endian, addresses and lengths have 8 bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace tailrace::format {

static_assert(std::endian::native == std::endian::little, "numbers are stored as they are in memory");

constexpr uint64_t kUndefined = ~uint64_t{0};  // the address of what is not stored

// Bob Jenkins' lookup3 ("hashlittle", public domain), with which HDF5 sums metadata.
uint32_t lookup3(std::span<const std::byte> bytes);

class Bytes {
public:
    template <class Number>
    void put(Number number) {
        put_bytes({reinterpret_cast<const std::byte*>(&number), sizeof number});
    }
    void put_bytes(std::span<const std::byte> bytes) { all_.insert(all_.end(), bytes.begin(), bytes.end()); }
    void put_text(std::string_view text) { put_bytes({reinterpret_cast<const std::byte*>(text.data()), text.size()}); }
    // With a zero byte at its end.
    void put_name(std::string_view name) {
        put_text(name);
        put(uint8_t{0});
    }
    void put_zeros(uint64_t count) { all_.resize(all_.size() + count); }
    // The checksum of what is there from `begin` on.
    void put_checksum(uint64_t begin = 0) { put(lookup3({all_.data() + begin, all_.size() - begin})); }

    template <class Number>
    void set(uint64_t at, Number number) {
        std::memcpy(all_.data() + at, &number, sizeof number);
    }

    uint64_t size() const { return all_.size(); }
    std::span<const std::byte> all() const { return all_; }
    std::span<const std::byte> part(uint64_t begin, uint64_t end) const { return all().subspan(begin, end - begin); }
    void reserve(uint64_t bytes) { all_.reserve(bytes); }
    std::vector<std::byte> take() { return std::move(all_); }

private:
    std::vector<std::byte> all_;
};

}  // namespace tailrace::format
