#include "record/heartbeat.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/paths.hpp"
#include "layout/parts.hpp"

namespace tailrace {
namespace {

constexpr auto kInterval = std::chrono::seconds(20);
constexpr uint64_t kMostHeartbeatBytes = 64u << 10;  // longer files are not read: they are no heartbeats

// The heartbeats of this process, and the thread that renews them. There is a thread only while there are heartbeats.
class Beating {
public:
    static Beating& of_process() {
        [[maybe_unused]] static const bool is_ready = [] {
            current() = new Beating;
            // A forked child has no thread and gets a new, empty object. It cannot destroy the inherited one, whose thread it
            // lacks.
            pthread_atfork([] { current()->mutex_.lock(); }, [] { current()->mutex_.unlock(); }, [] { current() = new Beating; });
            return true;
        }();
        static const StopAtExit stop_at_exit;

        return *current();
    }

    void add(const Heartbeat* heartbeat) {
        std::unique_lock lock(mutex_);
        heartbeats_.push_back(heartbeat);
        if (thread_.joinable()) return;
        is_waiting_ = false;
        start();
        // The thread allocates memory when it begins. A process that is forked in that moment may never get the allocator's lock:
        // that of the address sanitizer knows nothing of forks.
        if (thread_.joinable()) began_.wait(lock, [&] { return is_waiting_; });
    }

    void remove(const Heartbeat* heartbeat) {
        std::unique_lock lock(mutex_);
        std::erase(heartbeats_, heartbeat);
        if (heartbeats_.empty()) stop(lock);
    }

private:
    struct StopAtExit {
        ~StopAtExit() {
            std::unique_lock lock(current()->mutex_);
            current()->heartbeats_.clear();
            current()->stop(lock);
        }
    };

    static Beating*& current() {
        static Beating* beating = nullptr;
        return beating;
    }

    void start() {
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the threads of the program
        try {
            thread_ = std::jthread([this](const std::stop_token& ends) { run(ends); });
        } catch (const std::system_error&) {
            // Without a thread the lock alone protects the stream.
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

    void run(const std::stop_token& ends) {
        std::unique_lock lock(mutex_);
        is_waiting_ = true;
        began_.notify_all();
        while (!ends.stop_requested()) {
            changed_.wait_for(lock, ends, kInterval, [] { return false; });
            if (ends.stop_requested()) return;
            for (const Heartbeat* heartbeat : heartbeats_) heartbeat->renew();
        }
    }

    void stop(std::unique_lock<std::mutex>& lock) {
        std::jthread ending = std::move(thread_);
        ending.request_stop();
        lock.unlock();  // the thread needs it to end; it is joined here
    }

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::condition_variable began_;
    bool is_waiting_ = false;  // whether the thread has begun
    std::vector<const Heartbeat*> heartbeats_;
    std::jthread thread_;
};

}  // namespace

Heartbeat::Heartbeat(std::string path, const Writer& writer) : path_(std::move(path)) {
    // Another process may write its heartbeat at the same time: each writes a temporary file of its own and renames it.
    const std::string mine = text(parent_of(path_), "/", kPendingPrefix, "writer-", writer.host, "-", writer.process);
    const std::string content = writer.json().dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    File file = File::create(mine);
    file.write_at(0, content.data(), content.size());
    file.close();
    file_ = OwnDescriptor("open", mine, O_RDONLY);
    rename_path(mine, path_);
    Beating::of_process().add(this);
}

Heartbeat::~Heartbeat() {
    Beating::of_process().remove(this);
    if (file_.is_at(path_)) ::unlink(path_.c_str());
}

void Heartbeat::renew() const noexcept {
    if (file_.is_open()) ::futimens(file_.get(), nullptr);
}

std::optional<FoundHeartbeat> find_heartbeat(const std::string& path) {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0) return std::nullopt;
    FoundHeartbeat found;
    found.renewed_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
    try {
        const File file = File::open_read(path);
        std::string content(std::min(file.size_bytes(), kMostHeartbeatBytes), '\0');
        file.read_at(0, content.data(), content.size());
        found.writer = Writer::of_json(parse_json(content));
    } catch (const Error&) {
        // The file was removed meanwhile or cannot be read: its modification time is used without its content.
    }
    return found;
}

}  // namespace tailrace
