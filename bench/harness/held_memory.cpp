#include "held_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace bench {
namespace {

constexpr uint64_t kBlockBytes = 2u << 20;

uint64_t rounded_up(uint64_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes; }

}  // namespace

// One block more than asked for: the last one of a file is not full.
HeldMemory::Piece::Piece(uint64_t bytes) : bytes_(rounded_up(bytes) + 2 * kBlockBytes) {
    at_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at_ == MAP_FAILED) throw std::bad_alloc();
    const uint64_t begin = rounded_up(reinterpret_cast<uint64_t>(at_)), end = begin + bytes_ - kBlockBytes;
    auto *block = reinterpret_cast<volatile char *>(begin);
    madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE);  // where the system has none, it is small pages
    for (const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); block < reinterpret_cast<char *>(end); block += page)
        *block = 1;
}

HeldMemory::Piece::~Piece() { munmap(at_, bytes_); }

void HeldMemory::after_step() {
    if (!spare_ && spare_bytes_ > 0) spare_.emplace(spare_bytes_);
}

void HeldMemory::take_of(int step) {
    if (auto &piece = of_step_[static_cast<size_t>(step)]; !piece) piece.emplace(step_bytes_);
}

void HeldMemory::take() {
    for (int step = 0; step < static_cast<int>(of_step_.size()); ++step) take_of(step);
    after_step();
}

}  // namespace bench
