#include "part/held_file.hpp"

#include <algorithm>
#include <utility>

namespace tailrace {
namespace {

constexpr uint64_t kMostHeldBytes = 256u << 10;

}  // namespace

void HeldFile::write_held() {
    holds_ = false;
    const std::vector<std::byte> bytes = std::exchange(held_, {});
    if (!bytes.empty()) file_.write_at(0, bytes.data(), bytes.size());
}

void HeldFile::write_at(uint64_t address, std::span<iovec> buffers) {
    if (holds_) {
        uint64_t end = address;
        for (const iovec& buffer : buffers) end += buffer.iov_len;
        if (end <= kMostHeldBytes) {
            if (end > held_.size()) held_.resize(end);
            std::byte* to = held_.data() + address;
            for (const iovec& buffer : buffers) {
                const auto* from = static_cast<const std::byte*>(buffer.iov_base);
                to = std::copy(from, from + buffer.iov_len, to);
            }
            return;
        }
        write_held();
    }
    file_.write_at(address, buffers);
}

void HeldFile::write_at(uint64_t address, const void* data, uint64_t bytes) {
    iovec buffer{const_cast<void*>(data), bytes};
    write_at(address, {&buffer, 1});
}

uint64_t HeldFile::size_bytes() const { return holds_ ? held_.size() : file_.size_bytes(); }

void HeldFile::reserve(uint64_t address, uint64_t bytes) {
    if (holds_ && address + bytes <= kMostHeldBytes) return;
    write_held();
    file_.reserve(address, bytes);
}

void HeldFile::set_size(uint64_t bytes) {
    if (holds_ && bytes <= kMostHeldBytes) return held_.resize(bytes);
    write_held();
    file_.set_size(bytes);
}

void HeldFile::extend_to(uint64_t bytes) {
    write_held();
    file_.extend_to(bytes);
}

void HeldFile::sync() {
    write_held();
    file_.sync();
}

void HeldFile::begin_sync() {
    write_held();
    file_.begin_sync();
}

void HeldFile::close() {
    write_held();
    file_.close();
}

}  // namespace tailrace
