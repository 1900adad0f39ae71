// Functions for which the C library reads files of its own (users, hosts, time, locales): which files is not known here, how many
// bytes the kernel tells. They are recorded as a `fill` without a file whose detail is the number of reads.
#include <grp.h>
#include <iconv.h>
#include <locale.h>
#include <netdb.h>
#include <nl_types.h>
#include <pwd.h>
#include <time.h>
#include <unistd.h>

#include "preload/hook.hpp"
#include "trace/kernel.hpp"

namespace tailrace::preload {
namespace {

class Inner : public Traced {
public:
    explicit Inner(bool asks = true) : Traced(Call::fill), asks_(asks && on()) {
        if (asks_) before_ = trace::count_thread(asking_);
    }
    template <class Result>
    Result done(Result result) {
        if (!asks_) return result;
        const trace::KernelCounts first = asking_;
        const trace::KernelCounts now = trace::count_thread(asking_);
        const uint64_t bytes = now.read_bytes - before_.read_bytes - first.read_bytes;
        const uint64_t calls = now.read_calls - before_.read_calls - first.read_calls;
        trace::add_own(asking_);
        if (calls > 0) note(static_cast<int64_t>(bytes), {.bytes = bytes, .detail = calls});
        return result;
    }

private:
    bool asks_;
    trace::KernelCounts before_ = {}, asking_ = {};
};

// Files of time and of the machine are read once, or seldom: functions that are called often are asked about for the first times.
constexpr int kFirst = 3;

}  // namespace

#define INNER(answer, symbol, parameters, arguments) \
    HOOK(answer, symbol, parameters) {               \
        Inner call;                                  \
        return call.done(NEXT(symbol) arguments);    \
    }
#define INNER_AT_FIRST(answer, symbol, parameters, arguments)             \
    HOOK(answer, symbol, parameters) {                                    \
        static constinit std::atomic<int> times = 0;                      \
        const bool asks = times.load(std::memory_order_relaxed) < kFirst; \
        if (asks) times.fetch_add(1, std::memory_order_relaxed);          \
        Inner call(asks);                                                 \
        return call.done(NEXT(symbol) arguments);                         \
    }

INNER(char*, setlocale, (int category, const char* name), (category, name))
INNER(locale_t, newlocale, (int mask, const char* name, locale_t base), (mask, name, base))
INNER(iconv_t, iconv_open, (const char* to, const char* from), (to, from))
INNER(nl_catd, catopen, (const char* name, int flag), (name, flag))
INNER(passwd*, getpwnam, (const char* name), (name))
INNER(passwd*, getpwuid, (uid_t user), (user))
INNER(passwd*, getpwent, (void), ())
INNER(int, getpwnam_r, (const char* name, passwd* to, char* room, size_t bytes, passwd** answer), (name, to, room, bytes, answer))
INNER(int, getpwuid_r, (uid_t user, passwd* to, char* room, size_t bytes, passwd** answer), (user, to, room, bytes, answer))
INNER(group*, getgrnam, (const char* name), (name))
INNER(group*, getgrgid, (gid_t number), (number))
INNER(group*, getgrent, (void), ())
INNER(int, getgrnam_r, (const char* name, group* to, char* room, size_t bytes, group** answer), (name, to, room, bytes, answer))
INNER(int, getgrgid_r, (gid_t number, group* to, char* room, size_t bytes, group** answer), (number, to, room, bytes, answer))
INNER(int, getgrouplist, (const char* user, gid_t first, gid_t* groups, int* count), (user, first, groups, count))
INNER(int, initgroups, (const char* user, gid_t first), (user, first))
INNER(int, getaddrinfo, (const char* host, const char* service, const addrinfo* hints, addrinfo** answer),
      (host, service, hints, answer))
INNER(hostent*, gethostbyname, (const char* name), (name))
INNER(servent*, getservbyname, (const char* name, const char* protocol), (name, protocol))
INNER_AT_FIRST(tm*, localtime, (const time_t* time), (time))
INNER_AT_FIRST(tm*, localtime_r, (const time_t* time, tm* to), (time, to))
INNER_AT_FIRST(tm*, gmtime, (const time_t* time), (time))
INNER_AT_FIRST(tm*, gmtime_r, (const time_t* time, tm* to), (time, to))
INNER_AT_FIRST(char*, ctime, (const time_t* time), (time))
INNER_AT_FIRST(char*, ctime_r, (const time_t* time, char* to), (time, to))
INNER_AT_FIRST(time_t, mktime, (tm * time), (time))
INNER_AT_FIRST(size_t, strftime, (char* to, size_t bytes, const char* format, const tm* time), (to, bytes, format, time))
INNER(int, get_nprocs, (void), ())
INNER(int, get_nprocs_conf, (void), ())

// Processors are counted in files each time, what else is asked for is known.
HOOK(long, sysconf, (int name)) {
    Inner call(name == _SC_NPROCESSORS_CONF || name == _SC_NPROCESSORS_ONLN);
    return call.done(NEXT(sysconf)(name));
}

HOOK(void, tzset, (void)) {
    Inner call;
    NEXT(tzset)();
    call.done(0);
}

}  // namespace tailrace::preload
