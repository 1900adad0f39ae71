#include "stream/outbox.hpp"

#include <signal.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "base/paths.hpp"
#include "base/shell_word.hpp"
#include "base/system_error.hpp"
#include "gather/agree.hpp"
#include "layout/parts.hpp"
#include "stage/scratch_place.hpp"
#include "stage/work_folder.hpp"

namespace tailrace {
namespace {

constexpr size_t kShipmentFiles = 16;

// The program's signals are for its own threads.
template <class Start>
std::thread started_without_signals(Start&& start) {
    sigset_t all, before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread thread = start();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
}

std::string parent_in(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
}

}  // namespace

Outbox::Outbox(Place place)
    : place_(std::move(place)), root_(place_.scratch + "/" + place_.name), folder_name_(parts_directory(place_.stream)) {
    make_private_folder(root_);
    make_private_folder(folder());
    scratch_.emplace(folder());
    lock_ = scratch_->lock();
    const std::string owner = node_name() + " " + std::to_string(::getpid()) + "\n";
    write_fully(lock_.get(), 0, owner.data(), owner.size(), scratch_->state_path() + "/lock");
    drain_.emplace(*scratch_, DrainOptions{.target = place_.target, .shipment_files = kShipmentFiles}, [](const DrainProgress&) {});
    drain_->announce(static_cast<uint64_t>(::getpid()));
    thread_ = started_without_signals([this] { return std::thread([this] { drain(); }); });
}

Outbox::~Outbox() {
    {
        const std::lock_guard guard(mutex_);
        state_ = State::ending;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    attempt([&] {
        if (has_begun_) drain_->end();
        bool is_empty = true;
        for (const std::string& path : scratch_->scan()) is_empty = is_empty && is_directory(folder() + "/" + path);
        lock_.close();
        if (is_empty) remove_tree(root_);
    });
}

bool Outbox::has_room(uint64_t bytes) const {
    struct statvfs has;
    const bool is_known = ::statvfs(root_.c_str(), &has) == 0;
    const uint64_t free_bytes = is_known ? static_cast<uint64_t>(has.f_bavail) * has.f_frsize : 0;
    return free_bytes >= place_.min_free_bytes && free_bytes - place_.min_free_bytes >= bytes;
}

void Outbox::count_direct() {
    const std::lock_guard guard(mutex_);
    ++counts_.direct;
}

void Outbox::hand_over(const std::string& path, const std::string& group, Arrived arrived) {
    {
        const std::lock_guard guard(mutex_);
        waiting_.push_back({path, group, std::move(arrived)});
        if (state_ == State::stopped) state_ = State::draining;
    }
    changed_.notify_all();
}

std::optional<Error> Outbox::wait() {
    std::unique_lock guard(mutex_);
    if (state_ == State::stopped) {
        state_ = State::draining;
        error_.reset();
        changed_.notify_all();
    }
    changed_.wait(guard, [&] { return waiting_.empty() || state_ != State::draining; });
    if (waiting_.empty() || !error_) return std::nullopt;
    const bool is_one = waiting_.size() == 1;
    return Error(error_->status(),
                 text("stream '", place_.stream, "': ", waiting_.size(), is_one ? " part is" : " parts are", " not at ",
                      place_.target, ", but on scratch of node ", node_name(), " in ", folder(), ": ", error_->what(),
                      "; `tailrace drain resume ", shell_word(folder()), "` on that node delivers them, and `tailrace index ",
                      shell_word(parent_of(place_.target)), " -s ", shell_word(place_.stream), "` then commits their steps"),
                 error_->origin());
}

Outbox::Counts Outbox::counts() const {
    const std::lock_guard guard(mutex_);
    Counts counts = counts_;
    counts.waiting = waiting_.size();
    return counts;
}

// The thread. After an error it waits until it may try again.
void Outbox::drain() {
    std::unique_lock guard(mutex_);
    while (true) {
        changed_.wait(guard, [&] { return state_ == State::ending || (state_ == State::draining && !waiting_.empty()); });
        if (state_ == State::ending) return;
        const std::deque<Waiting> files = waiting_;
        guard.unlock();
        auto error = attempt([&] { deliver(files); });
        guard.lock();
        if (auto failed = attempt([&] { forget_delivered(); }); failed && !error) error = std::move(failed);
        if (error && state_ == State::draining) state_ = State::stopped;
        error_ = std::move(error);
        changed_.notify_all();
    }
}

void Outbox::deliver(const std::deque<Waiting>& files) {
    if (!has_begun_) drain_->begin();
    has_begun_ = true;
    std::vector<std::string> paths;
    for (const Waiting& file : files) paths.push_back(file.path);
    const std::vector<Left>& left = drain_->deliver(std::move(paths)).left;
    if (!left.empty()) fail(Status::IO_FAILED, left.front().path, ": ", left.front().why);
}

// A file has arrived if it is gone from scratch, which the drain does last, and is at the target.
void Outbox::forget_delivered() {
    for (size_t k = 0; k < waiting_.size();) {
        const Waiting& file = waiting_[k];
        struct stat status;
        if (scratch_->look_at(file.path, status)) {
            ++k;
            continue;
        }
        if (::stat((place_.target + "/" + file.path).c_str(), &status) != 0)
            fail(Status::NOT_FOUND, folder(), "/", file.path, " is gone from scratch, and not at ", place_.target);
        ++counts_.files;
        counts_.bytes += static_cast<uint64_t>(status.st_size);
        *file.arrived = true;
        for (std::string above = parent_in(file.path); above.starts_with(file.group); above = parent_in(above))
            scratch_->remove_folder(above);
        waiting_.erase(waiting_.begin() + static_cast<long>(k));
    }
}

}  // namespace tailrace
