// A few threads that do pieces of work in any order.
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
    // Each thread does `work` with its own number; at most `most` pieces wait for a thread.
    using Work = std::function<void(size_t thread)>;
    Workers(size_t threads, size_t most);
    Workers(const Workers&) = delete;
    ~Workers();  // what has not begun is left

    // Waits for room. Throws the first error of a piece; what comes after it is not done.
    void ask(Work work);
    // Until all is done. Throws the first error.
    void wait();

private:
    void work_off(size_t thread);
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

}  // namespace tailrace
