// A queue of work on files: the work is done at once, or by a thread in the order in which it was submitted. The thread calls
// neither MPI nor HDF5. The bytes that it will write are copied into a WriteWindow first.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "base/error.hpp"
#include "part/write_window.hpp"

namespace tailrace {

class WriteQueue {
public:
    // Which earlier work must have completed without an error. If it did not, the thread skips this work.
    struct Needs {
        std::optional<uint64_t> commits_and_work_until = std::nullopt;  // nothing: all earlier work

        static Needs all_earlier_work() { return {}; }
        // The work up to this number, and all earlier work that was submitted with this need. The commit of a step needs its own
        // data and the commits before it. An error of later data must not prevent it.
        static Needs commits_and_work(uint64_t until) { return {until}; }
    };
    // Writes bytes that begin `offset` bytes behind the first: many bytes come in several calls.
    using WriteBytes = std::function<void(uint64_t offset, std::span<iovec> spans)>;

    WriteQueue() = default;                           // does all work at once
    explicit WriteQueue(WriteWindow::Limits limits);  // starts a thread
    WriteQueue(const WriteQueue&) = delete;
    ~WriteQueue();  // waits until all work is done

    bool is_async() const { return window_ != nullptr; }
    // Submits work without data of the caller. If it is done at once, its errors are thrown here, and `needs` has no effect.
    void run(std::function<void()> work, Needs needs = Needs::all_earlier_work());
    // Submits work with bytes of the caller, who may change them after this returns.
    void run(std::span<iovec> spans, WriteBytes work);

    // The number of the work that was submitted last: work is counted from 1. Zero if all work is done at once.
    uint64_t submitted() const { return submitted_; }
    uint64_t completed_ok() const;  // the number before the first work that failed
    void wait() { wait(submitted_); }
    void wait(uint64_t until);
    // The error of the first work that failed; all work before it was done.
    std::optional<Error> error() const;
    // The number of that work.
    uint64_t failed_at() const;
    bool commit_failed() const;

    uint64_t copied_bytes() const { return window_ ? window_->copied_bytes() : 0; }
    // Whether `bytes` bytes could be submitted now without waiting.
    bool has_room(uint64_t bytes) const;
    WriteWindow::Usage usage() const { return window_ ? window_->usage() : WriteWindow::Usage{}; }

private:
    struct Work {
        WriteBytes run;
        uint64_t offset = 0;
        WriteWindow::Copy bytes;
        Needs needs;
    };
    void submit(Work work);
    void do_submitted_work();

    const std::unique_ptr<WriteWindow> window_;  // null: all work is done at once
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Work> waiting_;
    uint64_t submitted_ = 0, done_ = 0, failed_at_ = 0;
    bool ending_ = false, commit_failed_ = false;
    std::optional<Error> error_;
    std::thread thread_;
};

}  // namespace tailrace
