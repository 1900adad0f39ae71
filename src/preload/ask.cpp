#include "preload/ask.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "trace/log.hpp"
#include "trace/raw.hpp"

namespace tailrace::preload::ask {
namespace {

namespace raw = trace::raw;

constexpr char kStateFolder[] = "/.tailrace-drain", kSocket[] = "/ask";
constexpr uint64_t kFolderRoom = 4096;
constinit char folder[kFolderRoom] = {};  // set before is_on()

// Waits until the socket can be read. False: the time is over. Without a socket (-1) only waits.
bool wait_until_readable(int64_t socket, uint64_t until_ns) {
    while (true) {
        const uint64_t now_ns = trace::now_ns();
        if (now_ns >= until_ns) return false;
        constexpr uint64_t kSecond_ns = 1'000'000'000;
        const timespec left = {static_cast<time_t>((until_ns - now_ns) / kSecond_ns),
                               static_cast<long>((until_ns - now_ns) % kSecond_ns)};
        pollfd polled = {static_cast<int>(socket), POLLIN, 0};
        const int64_t found = raw::call(SYS_ppoll, raw::address(&polled), 1, raw::address(&left), 0, 0);
        if (found > 0) return true;
        if (found == 0 || found != -EINTR) return false;
    }
}

bool is_our_agent(int64_t socket) {
    ucred peer = {};
    socklen_t bytes = sizeof peer;
    if (raw::call(SYS_getsockopt, socket, SOL_SOCKET, SO_PEERCRED, raw::address(&peer), raw::address(&bytes)) != 0) return false;
    return peer.uid == 0 || static_cast<int64_t>(peer.uid) == raw::call(SYS_geteuid);
}

// Connects by the folder's descriptor, because the path of scratch may be longer than the address of a socket. A full queue of
// connections empties within microseconds if the agent runs. Returns 0, or -errno: -EAGAIN, the time is over.
int64_t connect_within(int64_t socket, uint64_t until_ns) {
    const int64_t at = raw::call(SYS_openat, AT_FDCWD, raw::address(folder), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (at < 0) return at;
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    uint64_t bytes = raw::put_text(address.sun_path, "/proc/self/fd/", sizeof address.sun_path);
    bytes += raw::put_number(address.sun_path + bytes, static_cast<uint64_t>(at));
    bytes += raw::put_text(address.sun_path + bytes, kSocket, sizeof address.sun_path - bytes);
    const auto size = static_cast<int64_t>(offsetof(sockaddr_un, sun_path) + bytes + 1);
    constexpr uint64_t kPause_ns = 1'000'000;
    int64_t result = raw::call(SYS_connect, socket, raw::address(&address), size);
    while ((result == -EAGAIN || result == -EINTR) && trace::now_ns() < until_ns) {
        wait_until_readable(-1, trace::now_ns() + kPause_ns);
        result = raw::call(SYS_connect, socket, raw::address(&address), size);
    }
    raw::call(SYS_close, at);
    return result == 0 && !is_our_agent(socket) ? -EPERM : result;
}

void note_silence(std::atomic<uint32_t>* is_silent, bool is) {
    if (is_silent != nullptr && (is_silent->load(std::memory_order_relaxed) != 0) != is)
        is_silent->store(is ? 1 : 0, std::memory_order_relaxed);
}

bool send(int64_t socket, Kind kind, const char* below, uint64_t bytes) {
    char text[1 + kTextRoom];
    if (bytes >= sizeof text) return false;
    text[0] = static_cast<char>(kind);
    memcpy(text + 1, below, bytes);
    const auto size = static_cast<int64_t>(1 + bytes);
    return raw::call(SYS_sendto, socket, raw::address(text), size, MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0) == size;
}

// Receives an answer of one byte, and a descriptor if one comes with it; else -1. False: none came.
bool receive(int64_t socket, char& answer, int64_t& descriptor) {
    iovec room = {&answer, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message = {};
    message.msg_iov = &room;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (raw::call(SYS_recvmsg, socket, raw::address(&message), MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1) return false;
    const cmsghdr* const has = CMSG_FIRSTHDR(&message);
    if (has == nullptr || has->cmsg_level != SOL_SOCKET || has->cmsg_type != SCM_RIGHTS || has->cmsg_len < CMSG_LEN(sizeof(int)))
        return true;
    int passed = -1;
    memcpy(&passed, CMSG_DATA(has), sizeof passed);
    descriptor = passed;
    return true;
}

// The last answer; unknown also if the agent has ended or is silent.
Answer last_answer(int64_t socket, uint64_t limit_ns, std::atomic<uint32_t>* is_silent, int64_t& names) {
    while (true) {
        char answer = 0;
        const bool is_there = wait_until_readable(socket, trace::now_ns() + limit_ns);
        note_silence(is_silent, !is_there);
        if (!is_there) return Answer::unknown;
        if (!receive(socket, answer, names)) return Answer::unknown;
        if (answer == static_cast<char>(Answer::done)) return Answer::done;
        if (answer != static_cast<char>(Answer::wait)) return Answer::unknown;
        limit_ns = kSilent_ns;
    }
}

}  // namespace

constinit std::atomic<bool> has_agent = false;

void begin(const char* scratch) {
    const uint64_t bytes = raw::put_text(folder, scratch, kFolderRoom - sizeof kStateFolder - sizeof kSocket);
    char path[kFolderRoom];
    const uint64_t folder_bytes = bytes + raw::put_text(folder + bytes, kStateFolder, kFolderRoom - bytes);
    memcpy(path, folder, folder_bytes);
    raw::put_text(path + folder_bytes, kSocket, sizeof path - folder_bytes);
    if (raw::call(SYS_faccessat, AT_FDCWD, raw::address(path), 0) == 0) has_agent.store(true, std::memory_order_release);
}

Answer ask(Kind kind, const char* below, uint64_t bytes, std::atomic<uint32_t>* is_silent, int64_t* names) {
    int64_t passed = -1;
    if (names != nullptr) *names = -1;
    const bool is_short = is_silent != nullptr && is_silent->load(std::memory_order_relaxed) != 0;
    const uint64_t limit_ns = is_short ? kAfterSilence_ns : kSilent_ns;
    const int64_t socket = raw::call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) return Answer::unknown;
    Answer answer = Answer::unknown;
    const int64_t code = connect_within(socket, trace::now_ns() + limit_ns);
    if (code == -EAGAIN) note_silence(is_silent, true);
    if (code == 0 && send(socket, kind, below, bytes)) answer = last_answer(socket, limit_ns, is_silent, passed);
    raw::call(SYS_close, socket);
    if (names != nullptr)
        *names = passed;
    else if (passed >= 0)
        raw::call(SYS_close, passed);
    return answer;
}

}  // namespace tailrace::preload::ask
