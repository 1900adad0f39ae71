#include "part/held_file.hpp"

#include <algorithm>
#include <utility>

namespace tailrace {
namespace {

constexpr uint64_t kMostHeldBytes = 256u << 10;

}  // namespace

void HeldFile::let_go() {
    holds_ = false;
    const std::vector<std::byte> bytes = std::exchange(held_, {});
    if (!bytes.empty()) file_.write_at(0, bytes.data(), bytes.size());
}

void HeldFile::write_at(uint64_t address, std::span<iovec> pieces) {
    if (holds_) {
        uint64_t end = address;
        for (const iovec& piece : pieces) end += piece.iov_len;
        if (end <= kMostHeldBytes) {
            if (end > held_.size()) held_.resize(end);
            std::byte* to = held_.data() + address;
            for (const iovec& piece : pieces) {
                const auto* from = static_cast<const std::byte*>(piece.iov_base);
                to = std::copy(from, from + piece.iov_len, to);
            }
            return;
        }
        let_go();
    }
    file_.write_at(address, pieces);
}

void HeldFile::write_at(uint64_t address, const void* data, uint64_t bytes) {
    iovec piece{const_cast<void*>(data), bytes};
    write_at(address, {&piece, 1});
}

uint64_t HeldFile::size_bytes() const { return holds_ ? held_.size() : file_.size_bytes(); }

void HeldFile::reserve(uint64_t address, uint64_t bytes) {
    if (holds_ && address + bytes <= kMostHeldBytes) return;
    let_go();
    file_.reserve(address, bytes);
}

void HeldFile::set_size(uint64_t bytes) {
    if (holds_ && bytes <= kMostHeldBytes) return held_.resize(bytes);
    let_go();
    file_.set_size(bytes);
}

void HeldFile::sync() {
    let_go();
    file_.sync();
}

void HeldFile::begin_sync() {
    let_go();
    file_.begin_sync();
}

void HeldFile::close() {
    let_go();
    file_.close();
}

}  // namespace tailrace
