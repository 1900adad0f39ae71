// A few threads that do the pieces of a work list, in any order.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.hpp"

namespace tailrace {

class Workers {
public:
    // A piece of work, which is called with the number of its thread. At most `most` pieces wait for a thread.
    using Work = std::function<void(size_t thread)>;
    Workers(size_t threads, size_t most);
    Workers(const Workers&) = delete;
    ~Workers();  // drops the pieces that have not begun, and waits for the others

    // Adds a piece; waits while `most` pieces wait. Throws the first error of a piece; no piece is begun after it.
    void submit(Work work);
    // Waits until all pieces are done. Throws the first error.
    void wait();

private:
    void run_pieces(size_t thread);
    void check() const;

    const size_t most_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Work> waiting_;
    size_t busy_ = 0;
    bool ending_ = false;
    std::optional<Error> error_;
    std::vector<std::thread> threads_;
};

// Calls `work(index, thread)` for each index below `count`, once, in any order, on at most `threads` threads. Waits for all. Throws
// the first error; no index begins after it. One index, or one thread, is done by the caller's thread.
void for_each_index(size_t count, size_t threads, const std::function<void(size_t index, size_t thread)>& work);

}  // namespace tailrace
