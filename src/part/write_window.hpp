// The memory that holds data of steps in flight. The caller's bytes are copied into it, so the caller may change its own memory;
// a thread writes them from here later.
#pragma once

#include <sys/uio.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/file.hpp"

namespace tailrace {

class WriteWindow {
public:
    struct Limits {
        uint64_t bytes = 0;           // the most memory to use
        std::string spill_directory;  // for a file that takes more bytes, on a fast local disk. "": the caller waits for room
    };
    struct Usage {
        uint64_t window_bytes = 0, spilled_bytes = 0;  // the most in use at any time
        double waited_s = 0;                           // total time that the caller waited for room
    };
    // A piece of the memory. Made when it is needed, then used again until the window is destroyed.
    struct Block {
        Block() = default;
        Block(const Block&) = delete;
        ~Block();
        std::byte* base = nullptr;
        void* map = nullptr;
        uint64_t mapped_bytes = 0;
        bool spilled = false;
    };
    // Bytes in the window, and the blocks that hold them. Destroying the Copy frees its blocks; any thread may do that.
    struct Copy {
        std::vector<iovec> spans;
        std::vector<std::shared_ptr<Block>> blocks;
    };

    explicit WriteWindow(Limits limits);
    WriteWindow(const WriteWindow&) = delete;
    ~WriteWindow() = default;  // all copies must be destroyed before

    // For the caller's thread alone. Copies the first of `bytes` bytes, as many as the current block has room for, and returns how
    // many. Waits for room where there is none.
    uint64_t append(Copy& copy, const std::byte* from, uint64_t bytes);
    // Whether the copy must be handed to the thread before more is appended: it holds half of the memory. A copy that held all of
    // it would wait for ever.
    bool must_hand_over(const Copy& copy) const;
    uint64_t copied_bytes() const { return copied_bytes_; }  // since the beginning
    // Whether so many bytes fit into the memory that is free now.
    bool has_room(uint64_t bytes) const;
    Usage usage() const;

private:
    std::shared_ptr<Block> take_block();
    void give_back(Block* block);
    std::unique_ptr<Block> make_block(bool spilled);

    const Limits limits_;
    const uint64_t block_bytes_;
    mutable std::mutex mutex_;
    std::condition_variable given_back_;
    std::vector<std::unique_ptr<Block>> free_;
    uint64_t in_use_bytes_ = 0;
    Usage usage_;
    File spill_file_;
    std::shared_ptr<Block> filling_;  // the caller copies into this one
    uint64_t filled_bytes_ = 0, copied_bytes_ = 0;
};

}  // namespace tailrace
