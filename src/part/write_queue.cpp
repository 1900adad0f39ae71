#include "part/write_queue.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/copy.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kLargestBlock = 4u << 20;  // two huge pages
constexpr uint64_t kSmallestBlock = 64u << 10;
constexpr uint64_t kBlocks = 4;  // at least: some are filled while others are written
constexpr uint64_t kHugePage = 2u << 20;
constexpr int kNice = 10;

uint64_t block_bytes_of(const WriteQueue::Window& window) {
    return std::clamp(window.bytes / kBlocks / 4096 * 4096, kSmallestBlock, kLargestBlock);
}

}  // namespace

WriteQueue::Block::~Block() {
    if (map != nullptr) munmap(map, mapped_bytes);
}

WriteQueue::WriteQueue(const Window& window) : later_(true), window_(window), block_bytes_(block_bytes_of(window)) {
    // The application's signals are for its own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        thread_ = std::thread([this] { work_off(); });
    } catch (const std::system_error& error) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        fail(Status::NO_MEMORY, "overlap needs a thread to write with, and none could be started (", error.what(),
             "); raise the limit of processes (ulimit -u), or set overlap = 0");
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

WriteQueue::~WriteQueue() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
    filling_.reset();
}

void WriteQueue::run(std::function<void()> work) {
    if (!later_) {
        work();
        return;
    }
    ask({[work = std::move(work)](uint64_t, std::span<iovec>) { work(); }, 0, {}, {}});
}

void WriteQueue::run(std::span<iovec> pieces, Bytes work) {
    if (!later_) {
        work(0, pieces);
        return;
    }
    Work kept{work, 0, {}, {}};
    uint64_t bytes = 0;
    for (const iovec& piece : pieces) {
        const auto* from = static_cast<const std::byte*>(piece.iov_base);
        for (uint64_t left = piece.iov_len; left > 0;) {
            // The memory is never all held by what is only being put together: it would be waited for in vain.
            if (kept.blocks.size() >= kBlocks / 2 && filled_ == block_bytes_) ask(std::exchange(kept, {work, bytes, {}, {}}));
            uint64_t now = 0;
            std::byte* to = room(kept, left, now);
            copy_past_caches(to, from, now);
            bytes += now;
            copied_bytes_ += now;
            std::vector<iovec>& copies = kept.pieces;
            if (!copies.empty() && static_cast<std::byte*>(copies.back().iov_base) + copies.back().iov_len == to)
                copies.back().iov_len += now;
            else
                copies.push_back({to, now});
            from += now;
            left -= now;
        }
    }
    ask(std::move(kept));
}

std::byte* WriteQueue::room(Work& work, uint64_t wanted, uint64_t& given) {
    if (!filling_ || filled_ == block_bytes_) {
        filling_.reset();
        filling_ = take_block();
        filled_ = 0;
    }
    if (work.blocks.empty() || work.blocks.back() != filling_) work.blocks.push_back(filling_);
    given = std::min(wanted, block_bytes_ - filled_);
    std::byte* at = filling_->base + filled_;
    filled_ += given;
    return at;
}

std::unique_ptr<WriteQueue::Block> WriteQueue::make_block(bool spilled) {
    auto block = std::make_unique<Block>();
    block->spilled = spilled;
    const bool huge = !spilled && block_bytes_ % kHugePage == 0;
    block->mapped_bytes = block_bytes_ + (huge ? kHugePage : 0);
    if (spilled && !spill_.is_open()) spill_ = File::create_unnamed(window_.spill_directory);
    void* at = spilled ? spill_.map(spilled_, block_bytes_)
                       : mmap(nullptr, block->mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        fail(Status::NO_MEMORY, "no memory for ", block_bytes_, " bytes of the window of overlapped writing; set overlap_memory (",
             window_.bytes, ") to less");
    block->map = at;
    auto address = reinterpret_cast<uintptr_t>(at);
    if (huge) {
        address = (address + kHugePage - 1) / kHugePage * kHugePage;
        madvise(reinterpret_cast<void*>(address), block_bytes_, MADV_HUGEPAGE);
    }
    block->base = reinterpret_cast<std::byte*>(address);
    return block;
}

std::shared_ptr<WriteQueue::Block> WriteQueue::take_block() {
    std::unique_lock lock(mutex_);
    const auto in_memory = [&] { return in_memory_ + block_bytes_ <= std::max(window_.bytes, kBlocks * block_bytes_); };
    if (free_.empty() && !in_memory() && window_.spill_directory.empty()) {
        Stopwatch watch;
        changed_.wait(lock, [&] { return !free_.empty(); });
        usage_.waited_s += watch.lap();
    }
    std::unique_ptr<Block> block;
    if (!free_.empty()) {
        block = std::move(free_.back());
        free_.pop_back();
    } else {
        block = make_block(!in_memory());
        free_.reserve((in_memory_ + spilled_) / block_bytes_ + 1);  // giving back needs no memory
        (block->spilled ? spilled_ : in_memory_) += block_bytes_;
        usage_.window_bytes = std::max(usage_.window_bytes, in_memory_);
        usage_.spilled_bytes = std::max(usage_.spilled_bytes, spilled_);
    }
    in_use_ += block_bytes_;
    lock.unlock();  // without memory for the count the block is given back at once
    return {block.release(), [this](Block* used) { give_back(used); }};
}

void WriteQueue::give_back(Block* block) {
    {
        const std::lock_guard lock(mutex_);
        in_use_ -= block_bytes_;
        // Those in memory are at the end: they are taken first.
        free_.insert(block->spilled ? free_.begin() : free_.end(), std::unique_ptr<Block>(block));
    }
    changed_.notify_all();
}

void WriteQueue::ask(Work work) {
    work.commits_after = commits_after_;
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(work));
        ++asked_;
    }
    changed_.notify_all();
}

void WriteQueue::work_off() {
    pthread_setname_np(pthread_self(), "tailrace-write");
    // Where every core computes, the simulation goes first; what waits for room in the window sleeps, and leaves its core to us.
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        Work work = std::move(waiting_.front());
        waiting_.pop_front();
        const bool commits = work.commits_after.has_value();
        const bool skipped = commits ? commit_failed_ || (error_ && failed_at_ <= *work.commits_after) : error_.has_value();
        lock.unlock();
        std::optional<Error> error;
        if (!skipped) try {
                work.run(work.offset, work.pieces);
            } catch (const Error& failed) {
                error = failed;
            } catch (const std::exception& failed) {
                error = Error(Status::INTERNAL, failed.what());
            }
        work = {};  // its blocks are free before it counts as done
        lock.lock();
        if (error && commits) commit_failed_ = true;
        if (error && !error_) error_ = std::move(error), failed_at_ = done_ + 1;
        ++done_;
        changed_.notify_all();
    }
}

uint64_t WriteQueue::done_well() const {
    const std::lock_guard lock(mutex_);
    return error_ ? failed_at_ - 1 : done_;
}

void WriteQueue::wait(uint64_t until) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= until; });
}

std::optional<Error> WriteQueue::error() const {
    const std::lock_guard lock(mutex_);
    return error_;
}

uint64_t WriteQueue::failed_at() const {
    const std::lock_guard lock(mutex_);
    return failed_at_;
}

bool WriteQueue::commit_failed() const {
    const std::lock_guard lock(mutex_);
    return commit_failed_;
}

bool WriteQueue::has_room(uint64_t bytes) const {
    const std::lock_guard lock(mutex_);
    return done_ == asked_ || in_use_ + bytes + block_bytes_ <= window_.bytes;
}

WriteQueue::Usage WriteQueue::usage() const {
    const std::lock_guard lock(mutex_);
    return usage_;
}

}  // namespace tailrace
