#include "base/workers.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace tailrace {

Workers::Workers(size_t threads, size_t most) : most_(most) {
    // The new threads block all signals: the program's own threads handle them.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        for (size_t k = 0; k < threads; ++k) threads_.emplace_back([this, k] { run_pieces(k); });
    } catch (const std::system_error& error) {
        // With fewer threads the work only takes longer.
        if (threads_.empty()) {
            pthread_sigmask(SIG_SETMASK, &before, nullptr);
            fail(Status::NO_MEMORY, "no thread could be started (", error.what(), "); raise the limit of processes (ulimit -u)");
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Workers::~Workers() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        waiting_.clear();
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void Workers::check() const {
    if (error_) throw *error_;
}

void Workers::submit(Work work) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.size() < most_ || error_; });
    check();
    waiting_.push_back(std::move(work));
    changed_.notify_all();
}

void Workers::wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return (waiting_.empty() && busy_ == 0) || (error_ && busy_ == 0); });
    check();
}

void Workers::run_pieces(size_t thread) {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return ending_ || (!waiting_.empty() && !error_); });
        if (ending_) return;
        const Work work = std::move(waiting_.front());
        waiting_.pop_front();
        ++busy_;
        lock.unlock();
        changed_.notify_all();
        std::optional<Error> error;
        try {
            work(thread);
        } catch (const Error& failed) {
            error = failed;
        } catch (const std::exception& failed) {
            error = Error(Status::INTERNAL, failed.what());
        }
        lock.lock();
        --busy_;
        if (error && !error_) error_ = std::move(error);
        changed_.notify_all();
    }
}

void for_each_index(size_t count, size_t threads, const std::function<void(size_t index, size_t thread)>& work) {
    threads = std::min(threads, count);
    if (threads <= 1) {
        for (size_t index = 0; index < count; ++index) work(index, 0);
        return;
    }
    std::atomic<size_t> next = 0;
    Workers workers(threads, threads);
    for (size_t k = 0; k < threads; ++k)
        workers.submit([&](size_t thread) {
            try {
                for (size_t index = next++; index < count; index = next++) work(index, thread);
            } catch (...) {
                next = count;
                throw;
            }
        });
    workers.wait();
}

}  // namespace tailrace
