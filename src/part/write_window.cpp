#include "part/write_window.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/copy.hpp"
#include "base/error.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kLargestBlockBytes = 4u << 20;  // two huge pages
constexpr uint64_t kSmallestBlockBytes = 64u << 10;
constexpr uint64_t kFewestBlocks = 4;  // some are filled while others are written
constexpr uint64_t kHugePageBytes = 2u << 20;

uint64_t block_bytes_of(const WriteWindow::Limits& limits) {
    return std::clamp(limits.bytes / kFewestBlocks / 4096 * 4096, kSmallestBlockBytes, kLargestBlockBytes);
}

}  // namespace

WriteWindow::Block::~Block() {
    if (map != nullptr) munmap(map, mapped_bytes);
}

WriteWindow::WriteWindow(Limits limits) : limits_(std::move(limits)), block_bytes_(block_bytes_of(limits_)) {}

uint64_t WriteWindow::append(Copy& copy, const std::byte* from, uint64_t bytes) {
    if (!filling_ || filled_bytes_ == block_bytes_) {
        filling_.reset();
        filling_ = take_block();
        filled_bytes_ = 0;
    }
    if (copy.blocks.empty() || copy.blocks.back() != filling_) copy.blocks.push_back(filling_);
    const uint64_t now = std::min(bytes, block_bytes_ - filled_bytes_);
    std::byte* const to = filling_->base + filled_bytes_;
    filled_bytes_ += now;
    copy_past_caches(to, from, now);
    copied_bytes_ += now;
    if (!copy.spans.empty() && static_cast<std::byte*>(copy.spans.back().iov_base) + copy.spans.back().iov_len == to)
        copy.spans.back().iov_len += now;
    else
        copy.spans.push_back({to, now});
    return now;
}

bool WriteWindow::must_hand_over(const Copy& copy) const {
    return copy.blocks.size() >= kFewestBlocks / 2 && filled_bytes_ == block_bytes_;
}

std::unique_ptr<WriteWindow::Block> WriteWindow::make_block(bool spilled) {
    auto block = std::make_unique<Block>();
    block->spilled = spilled;
    const bool huge = !spilled && block_bytes_ % kHugePageBytes == 0;
    block->mapped_bytes = block_bytes_ + (huge ? kHugePageBytes : 0);
    if (spilled && !spill_file_.is_open()) spill_file_ = File::create_unnamed(limits_.spill_directory);
    void* at = spilled ? spill_file_.map(usage_.spilled_bytes, block_bytes_)
                       : mmap(nullptr, block->mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        fail(Status::NO_MEMORY, "no memory for ", block_bytes_, " bytes of the window of overlapped writing; set overlap_memory (",
             limits_.bytes, ") to less");
    block->map = at;
    auto address = reinterpret_cast<uintptr_t>(at);
    if (huge) {
        address = (address + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
        madvise(reinterpret_cast<void*>(address), block_bytes_, MADV_HUGEPAGE);
    }
    block->base = reinterpret_cast<std::byte*>(address);
    return block;
}

std::shared_ptr<WriteWindow::Block> WriteWindow::take_block() {
    std::unique_lock lock(mutex_);
    const uint64_t most_bytes = std::max(limits_.bytes, kFewestBlocks * block_bytes_);
    const bool memory_is_left = usage_.window_bytes + block_bytes_ <= most_bytes;
    if (free_.empty() && !memory_is_left && limits_.spill_directory.empty()) {
        Stopwatch watch;
        given_back_.wait(lock, [&] { return !free_.empty(); });
        usage_.waited_s += watch.lap();
    }
    std::unique_ptr<Block> block;
    if (!free_.empty()) {
        block = std::move(free_.back());
        free_.pop_back();
    } else {
        block = make_block(!memory_is_left);
        // give_back() must not allocate memory, so the list has room for every block.
        free_.reserve((usage_.window_bytes + usage_.spilled_bytes) / block_bytes_ + 1);
        (block->spilled ? usage_.spilled_bytes : usage_.window_bytes) += block_bytes_;
    }
    in_use_bytes_ += block_bytes_;
    lock.unlock();  // if the shared_ptr cannot be allocated, it calls give_back(), which takes the lock
    return {block.release(), [this](Block* used) { give_back(used); }};
}

void WriteWindow::give_back(Block* block) {
    {
        const std::lock_guard lock(mutex_);
        in_use_bytes_ -= block_bytes_;
        // Blocks in memory are at the end of the list, from where blocks are taken.
        free_.insert(block->spilled ? free_.begin() : free_.end(), std::unique_ptr<Block>(block));
    }
    given_back_.notify_all();
}

bool WriteWindow::has_room(uint64_t bytes) const {
    const std::lock_guard lock(mutex_);
    return in_use_bytes_ + bytes + block_bytes_ <= limits_.bytes;
}

WriteWindow::Usage WriteWindow::usage() const {
    const std::lock_guard lock(mutex_);
    return usage_;
}

}  // namespace tailrace
