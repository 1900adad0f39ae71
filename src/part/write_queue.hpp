// When what goes to storage is done: at once, or later by a thread, in the order in which it was asked for. The thread calls
// neither MPI nor HDF5; what it is to write is copied into a window of memory first, so that the caller's memory is free.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/system.hpp"

namespace tailrace {

class WriteQueue {
public:
    // Memory for what waits: block_bytes each, as they are needed.
    struct Window {
        uint64_t bytes = 0;           // at most; more is waited for, or taken from a file
        std::string spill_directory;  // "": wait. Else where the file is: on a fast local disk
    };
    struct Usage {
        uint64_t window_bytes = 0, spilled_bytes = 0;  // highest so far
        double waited_s = 0;                           // for room in the window
    };
    // Pieces that begin `offset` bytes behind the first: many bytes come in several calls.
    using Bytes = std::function<void(uint64_t offset, std::span<iovec> pieces)>;

    WriteQueue() = default;                     // at once
    explicit WriteQueue(const Window& window);  // by a thread
    WriteQueue(const WriteQueue&) = delete;
    ~WriteQueue();  // when all is done

    bool is_later() const { return later_; }
    // Work without data of the caller. At once: its errors are thrown here. Later: work after one that failed is not done.
    void run(std::function<void()> work);
    // Work with bytes, which the caller may change afterwards.
    void run(std::span<iovec> pieces, Bytes work);
    // While one lives: work that is done although other work has failed, if what was asked for until `after` was done well, and all
    // work of this kind.
    class Commit {
    public:
        Commit(WriteQueue& queue, uint64_t after) : queue_(queue) { queue_.commits_after_ = after; }
        Commit(const Commit&) = delete;
        Commit& operator=(const Commit&) = delete;
        ~Commit() { queue_.commits_after_.reset(); }

    private:
        WriteQueue& queue_;
    };

    // Work is counted: what has been asked for, and what is done or was passed over.
    uint64_t asked() const { return asked_; }
    uint64_t done_well() const;  // without the work that failed and what came after it
    void wait() { wait(asked_); }
    void wait(uint64_t until);
    uint64_t copied_bytes() const { return copied_bytes_; }
    // Of the first work that failed, and its number; the work before it was done.
    std::optional<Error> error() const;
    uint64_t failed_at() const;
    bool commit_failed() const;
    // Whether that many bytes would find room now.
    bool has_room(uint64_t bytes) const;
    Usage usage() const;

private:
    struct Block {
        Block() = default;
        Block(const Block&) = delete;
        ~Block();
        std::byte* base = nullptr;
        void* map = nullptr;
        uint64_t mapped_bytes = 0;
        bool spilled = false;
    };
    struct Work {
        Bytes run;
        uint64_t offset = 0;
        std::vector<iovec> pieces;
        std::vector<std::shared_ptr<Block>> blocks;
        std::optional<uint64_t> commits_after = std::nullopt;
    };
    void ask(Work work);
    void work_off();
    std::byte* room(Work& work, uint64_t wanted, uint64_t& given);
    std::shared_ptr<Block> take_block();
    void give_back(Block* block);
    std::unique_ptr<Block> make_block(bool spilled);

    const bool later_ = false;
    const Window window_;
    const uint64_t block_bytes_ = 0;
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::deque<Work> waiting_;
    std::vector<std::unique_ptr<Block>> free_;
    uint64_t asked_ = 0, done_ = 0, failed_at_ = 0, in_memory_ = 0, in_use_ = 0, spilled_ = 0;
    bool ending_ = false, commit_failed_ = false;
    std::optional<uint64_t> commits_after_;  // the caller's
    std::optional<Error> error_;
    Usage usage_;
    std::shared_ptr<Block> filling_;  // the caller's: the block that is being filled
    uint64_t filled_ = 0, copied_bytes_ = 0;
    File spill_;
    std::thread thread_;
};

}  // namespace tailrace
