#include "held_memory.hpp"

#include "job.hpp"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>

namespace bench {
namespace {

constexpr uint64_t kBlockBytes = 2u << 20;

uint64_t rounded_up(uint64_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes; }

// KiB that the host took since the machine started. Some kernels do not have this file.
uint64_t taken_kib() {
    uint64_t kib = 0;
    std::ifstream("/sys/module/page_reporting/parameters/reported_kib") >> kib;
    return kib;
}

}  // namespace

PageSize page_size_of(const std::string &directory) {
    struct statfs system{};
    if (statfs(directory.c_str(), &system) != 0)
        fail("cannot ask for the file system of " + directory + ": " + std::strerror(errno));
    return system.f_type == TMPFS_MAGIC ? PageSize::kSmall : PageSize::kLarge;
}

// One block more than requested, because the last block of a file is not full.
HeldMemory::Piece::Piece(uint64_t bytes, PageSize pages) : bytes_(rounded_up(bytes) + 2 * kBlockBytes) {
    at_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at_ == MAP_FAILED) throw std::bad_alloc();
    const uint64_t begin = rounded_up(reinterpret_cast<uint64_t>(at_)), end = begin + bytes_ - kBlockBytes;
    auto *const held = reinterpret_cast<char *>(begin);
    // An error is ignored: if the system has no large pages, it uses small ones.
    madvise(held, end - begin, pages == PageSize::kLarge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    if (madvise(held, end - begin, MADV_POPULATE_WRITE) == 0) return;  // since Linux 5.14
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    for (uint64_t at = 0; at < end - begin; at += page) *const_cast<volatile char *>(held + at) = 1;
}

HeldMemory::Piece::~Piece() { munmap(at_, bytes_); }

void HeldMemory::after_step() {
    if (!spare_ && spare_bytes_ > 0) spare_.emplace(spare_bytes_, pages_);
}

void HeldMemory::take_of(int step) {
    if (auto &piece = of_step_[static_cast<size_t>(step)]; !piece) piece.emplace(step_bytes_, pages_);
}

void HeldMemory::take() {
    for (int step = 0; step < static_cast<int>(of_step_.size()); ++step) take_of(step);
    after_step();
}

HostTaking::HostTaking() : taken_kib_(taken_kib()) {}

bool HostTaking::has_taken() {
    const uint64_t before = taken_kib_;
    taken_kib_ = taken_kib();
    return taken_kib_ != before;
}

}  // namespace bench
