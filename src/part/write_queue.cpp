#include "part/write_queue.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <utility>

namespace tailrace {
namespace {

constexpr int kNice = 10;

}  // namespace

WriteQueue::WriteQueue(WriteWindow::Limits limits) : window_(std::make_unique<WriteWindow>(std::move(limits))) {
    // The thread blocks all signals: the application's own threads handle them.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        thread_ = std::thread([this] { do_submitted_work(); });
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
}

void WriteQueue::run(std::function<void()> work, Needs needs) {
    if (!is_async()) {
        work();
        return;
    }
    submit({[work = std::move(work)](uint64_t, std::span<iovec>) { work(); }, 0, {}, needs});
}

void WriteQueue::run(std::span<iovec> spans, WriteBytes work) {
    if (!is_async()) {
        work(0, spans);
        return;
    }
    Work next{work, 0, {}, {}};
    uint64_t bytes = 0;
    for (const iovec& span : spans) {
        const auto* from = static_cast<const std::byte*>(span.iov_base);
        for (uint64_t left = span.iov_len; left > 0;) {
            if (window_->must_hand_over(next.bytes)) submit(std::exchange(next, {work, bytes, {}, {}}));
            const uint64_t now = window_->append(next.bytes, from, left);
            bytes += now;
            from += now;
            left -= now;
        }
    }
    submit(std::move(next));
}

void WriteQueue::submit(Work work) {
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(work));
        ++submitted_;
    }
    changed_.notify_all();
}

void WriteQueue::do_submitted_work() {
    pthread_setname_np(pthread_self(), "tailrace-write");
    // Gives the simulation's threads priority over this thread. A caller that waits for room in the window sleeps, and leaves its
    // core to this thread.
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        Work work = std::move(waiting_.front());
        waiting_.pop_front();
        const std::optional<uint64_t> until = work.needs.commits_and_work_until;
        const bool skipped = until ? commit_failed_ || (error_ && failed_at_ <= *until) : error_.has_value();
        lock.unlock();
        std::optional<Error> error;
        if (!skipped) try {
                work.run(work.offset, work.bytes.spans);
            } catch (const Error& failed) {
                error = failed;
            } catch (const std::exception& failed) {
                error = Error(Status::INTERNAL, failed.what());
            }
        work = {};  // frees its blocks before the work counts as done
        lock.lock();
        if (error && until) commit_failed_ = true;
        if (error && !error_) error_ = std::move(error), failed_at_ = done_ + 1;
        ++done_;
        changed_.notify_all();
    }
}

uint64_t WriteQueue::completed_ok() const {
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
    {
        const std::lock_guard lock(mutex_);
        if (done_ == submitted_) return true;  // the bytes go through the window piece by piece
    }
    return !window_ || window_->has_room(bytes);
}

}  // namespace tailrace
