#include "part/reading_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/system_error.hpp"

namespace tailrace {
namespace {

constexpr size_t kPathBytes = 4096;
constexpr int kMostDeaths = 64;     // most children of one command that HDF5 may crash, each on another file
constexpr double kMostCallS = 300;  // seconds of processor time that a child may spend in one call of HDF5
constexpr int kLookEveryMs = 500;
constexpr int kMostLooks = 3;   // that find the child waiting for a lock, without any work in between
constexpr int kMostLocked = 3;  // children of one command that wait for a lock

// Memory in which a child reports to its parent.
struct Shown {
    std::atomic<uint64_t> calls;     // of HDF5
    std::atomic<int64_t> is_within;  // above 0: a call has not returned
    char path[kPathBytes];           // the file that HDF5 opened last
};

Shown*& shown() {
    static Shown* of_child = nullptr;  // null in a process that is not such a child
    return of_child;
}

struct Version {
    dev_t device;
    ino_t number;
    off_t bytes;
    time_t changed_s;
    long changed_ns;
    bool operator==(const Version&) const = default;
};

std::optional<Version> version_of(const std::string& path) {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0) return std::nullopt;
    return Version{status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

// The files on which HDF5 has crashed a child, and how.
struct Refused {
    std::mutex mutex;
    std::map<std::string, std::pair<Version, std::string>> files;

    static Refused& all() {
        static Refused refused;
        return refused;
    }
};

// The frames that a child sends: 24 bytes with their kind and two numbers; after an answer or an error, its text.
enum class Frame : uint64_t { progress, answer, error };
struct Head {
    Frame kind;
    uint64_t first, second;
};

bool write_all(int to, const void* data, size_t bytes) {
    const auto* at = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t done = ::send(to, at, bytes, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        at += done;
        bytes -= static_cast<size_t>(done);
    }
    return true;
}

bool read_all(int from, void* data, size_t bytes) {
    auto* at = static_cast<char*>(data);
    while (bytes > 0) {
        const ssize_t done = ::recv(from, at, bytes, 0);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        at += done;
        bytes -= static_cast<size_t>(done);
    }
    return true;
}

[[noreturn]] void answer(int parent, const std::function<Json(const ChildProgress&)>& work) noexcept {
    Head head{Frame::answer, 0, 0};
    std::string text;
    const auto tell = [&](uint64_t done, uint64_t all) {
        const Head frame{Frame::progress, done, all};
        uint64_t continues = 0;
        if (!write_all(parent, &frame, sizeof frame) || !read_all(parent, &continues, sizeof continues)) ::_exit(1);
        return continues != 0;
    };
    try {
        text = work(tell).dump(-1, ' ', false, Json::error_handler_t::replace);
    } catch (const Error& error) {
        head = {Frame::error, static_cast<uint64_t>(error.status()), 0};
        text = error.what();
    } catch (const std::bad_alloc&) {
        head = {Frame::error, static_cast<uint64_t>(Status::NO_MEMORY), 0};
    } catch (const std::exception& error) {
        head = {Frame::error, static_cast<uint64_t>(Status::INTERNAL), 0};
        text = error.what();
    }
    head.second = text.size();
    const bool is_sent = write_all(parent, &head, sizeof head) && write_all(parent, text.data(), text.size());
    ::_exit(is_sent ? 0 : 1);
}

double processor_s(pid_t process) {
    clockid_t clock;
    timespec time{};
    if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Whether a process has one thread, which waits for a lock or a condition. Then nothing in it can ever end this wait: another
// thread of the parent had the lock when the child was forked.
bool waits_for_lock(pid_t process) {
    struct stat threads;
    constexpr nlink_t kOneThread = 3;  // links of the folder: its own two, and one for each thread
    if (::stat(text("/proc/", process, "/task").c_str(), &threads) != 0 || threads.st_nlink != kOneThread) return false;
    char name[64] = "";
    const int file = ::open(text("/proc/", process, "/wchan").c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t bytes = ::read(file, name, sizeof name - 1);
    ::close(file);
    return bytes > 0 && std::strncmp(name, "futex", 5) == 0;
}

// A child that runs the work.
class Child {
public:
    Child(pid_t process, int socket, const Shown& shown) : process_(process), socket_(socket), shown_(shown) {}
    Child(const Child&) = delete;
    ~Child() {
        ::close(socket_);
        if (process_ > 0) end();
    }

    // Waits for the child's answer. Nothing if the child ended without one.
    std::optional<Json> listen(const ChildProgress& progress) {
        for (Head head{}; wait_for_frame() && read_all(socket_, &head, sizeof head);) {
            if (head.kind == Frame::progress) {
                const uint64_t continues = !progress || progress(head.first, head.second);
                if (!write_all(socket_, &continues, sizeof continues)) return std::nullopt;
                continue;
            }
            std::string text(head.second, '\0');
            if (!read_all(socket_, text.data(), text.size())) return std::nullopt;
            if (head.kind == Frame::answer) return Json::parse(text);
            const auto status = static_cast<Status>(head.first);
            if (status == Status::NO_MEMORY && text.empty()) throw std::bad_alloc();
            throw Error(status, text);
        }
        return std::nullopt;
    }

    // Whether the child waited for a lock that no thread of it could release.
    bool is_locked() const { return locked_looks_ == kMostLooks; }

    // How HDF5 ended the child; nothing if the child was killed, or ended outside of HDF5.
    std::optional<std::string> end_in_hdf5() {
        const int status = end();
        const bool is_within = shown_.is_within > 0 && shown_.path[0] != '\0';
        if (!is_within || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !is_too_slow_)) return std::nullopt;
        if (is_too_slow_) return text("HDF5 did not return from reading it within ", kMostCallS, " s of processor time");
        if (WIFSIGNALED(status)) return text("HDF5 ended with signal ", WTERMSIG(status), " when it read it");
        return "HDF5 ended its process when it read it";
    }

private:
    // Kills the child if it has not ended, and waits for it.
    int end() {
        if (is_too_slow_ || is_locked() || shown_.is_within == 0) ::kill(process_, SIGKILL);
        int status = 0;
        while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {}
        process_ = 0;
        return status;
    }

    bool wait_for_frame() {
        uint64_t calls = shown_.calls.load();
        double last_s = -1;
        for (double began_s = processor_s(process_);;) {
            pollfd ready{socket_, POLLIN, 0};
            const int found = ::poll(&ready, 1, kLookEveryMs);
            if (found > 0) return true;
            if (found < 0 && errno != EINTR) return false;
            const double now_s = processor_s(process_);
            locked_looks_ = std::exchange(last_s, now_s) == now_s && waits_for_lock(process_) ? locked_looks_ + 1 : 0;
            if (is_locked()) return false;
            if (std::exchange(calls, shown_.calls.load()) != shown_.calls.load()) began_s = now_s;
            is_too_slow_ = now_s - began_s > kMostCallS && shown_.is_within > 0;
            if (is_too_slow_) return false;
        }
    }

    pid_t process_;
    const int socket_;
    const Shown& shown_;
    bool is_too_slow_ = false;
    int locked_looks_ = 0;
};

struct Mapping {
    void* at = ::mmap(nullptr, sizeof(Shown), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    Mapping() = default;
    Mapping(const Mapping&) = delete;
    ~Mapping() {
        if (at != MAP_FAILED) ::munmap(at, sizeof(Shown));
    }
};

}  // namespace

Json in_reading_process(const std::function<Json(const ChildProgress&)>& work, const ChildProgress& progress) {
    const ChildProgress here = [&](uint64_t done, uint64_t all) { return !progress || progress(done, all); };
    for (int deaths = 0, locked = 0;; ++deaths) {
        const Mapping mapping;
        int sockets[2];
        if (mapping.at == MAP_FAILED || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return work(here);
        auto* const room = new (mapping.at) Shown{};
        const pid_t parent = ::getpid(), process = ::fork();
        if (process < 0) {
            ::close(sockets[0]);
            ::close(sockets[1]);
            return work(here);
        }
        if (process == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() != parent) ::_exit(1);  // the parent has ended already
            ::close(sockets[0]);
            shown() = room;
            answer(sockets[1], work);
        }
        ::close(sockets[1]);
        Child child(process, sockets[0], *room);
        if (auto found = child.listen(progress)) return std::move(*found);
        const auto how = child.end_in_hdf5();
        if (child.is_locked()) {
            if (++locked < kMostLocked) continue;
            fail(Status::IO_FAILED, "the process that read the files of the stream waited for a lock that another thread had ",
                 "when it was started: run the command again, while no other thread works");
        }
        const std::string path(room->path, ::strnlen(room->path, kPathBytes));
        const auto version = version_of(path);
        if (!how || !version || deaths == kMostDeaths)
            fail(Status::IO_FAILED, "the process that read the files of the stream ended without an answer: ",
                 how ? path + ": " + *how : "it was killed, or there was too little memory; run the command again");
        const std::lock_guard lock(Refused::all().mutex);
        Refused::all().files.insert_or_assign(path, std::pair(*version, *how));
    }
}

namespace hdf5 {

void begin_reading(const std::string& path) {
    Refused& refused = Refused::all();
    {
        const std::lock_guard lock(refused.mutex);
        const auto found = refused.files.find(path);
        if (found != refused.files.end() && version_of(path) == found->second.first)
            fail(Status::CORRUPT, path, ": ", found->second.second, ": it is damaged, and is not read again");
    }
    if (Shown* const room = shown()) {
        std::memset(room->path, 0, kPathBytes);
        std::memcpy(room->path, path.data(), std::min(path.size(), kPathBytes - 1));
    }
}

void enter_calls() noexcept {
    Shown* const room = shown();
    if (room == nullptr) return;
    room->calls.fetch_add(1, std::memory_order_relaxed);
    room->is_within.fetch_add(1, std::memory_order_relaxed);
}

void leave_calls() noexcept {
    if (Shown* const room = shown()) room->is_within.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace hdf5
}  // namespace tailrace
