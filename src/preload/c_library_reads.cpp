// Functions for which the C library reads files of its own (users, hosts, time, locales), or writes one: a named semaphore. The
// names of these files are not known here; the number of bytes comes from the kernel's counts. Such a call is recorded as a `fill`
// or `flush` without a file; its detail is the number of reads or writes.
#include <grp.h>
#include <iconv.h>
#include <locale.h>
#include <netdb.h>
#include <nl_types.h>
#include <pthread.h>
#include <pwd.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include "preload/hook.hpp"
#include "trace/kernel.hpp"

namespace tailrace::preload {
namespace {

class CLibraryFiles : public Traced {
public:
    explicit CLibraryFiles(bool may_read = true) : Traced(Call::fill), is_measured_(may_read && is_recording()) {
        if (!is_measured_) return;
        count_loads();
        before_ = trace::kernel_counts_of_thread(own_reads_);
    }
    template <class Result>
    Result finish(Result result) {
        if (!is_measured_) return result;
        const trace::KernelCounts own_before = own_reads_;
        const trace::KernelCounts now = trace::kernel_counts_of_thread(own_reads_);
        const uint64_t bytes = now.read_bytes - before_.read_bytes - own_before.read_bytes;
        const uint64_t calls = now.read_calls - before_.read_calls - own_before.read_calls;
        trace::add_own_reads(own_reads_);
        // The C library may load modules (iconv, users) meanwhile. Their bytes are counted for the loader, not for this call.
        const trace::LoaderCounts loads = calls > 0 ? count_loads() : trace::LoaderCounts{};
        if (calls > loads.read_calls && bytes >= loads.read_bytes) {
            const uint64_t read = bytes - loads.read_bytes;
            record(static_cast<int64_t>(read), {.bytes = read, .detail = calls - loads.read_calls});
        }
        const uint64_t written = now.written_bytes - before_.written_bytes;
        set_call(Call::flush);
        if (written > 0) record(static_cast<int64_t>(written), {.bytes = written, .detail = now.write_calls - before_.write_calls});
        return result;
    }

private:
    bool is_measured_;
    trace::KernelCounts before_ = {}, own_reads_ = {};
};

// How many calls of time functions are measured: they are called often, but read their files only in the first calls.
constexpr int kMeasuredCalls = 3;

}  // namespace

#define READS_FILES(Result, symbol, parameters, arguments) \
    HOOK(Result, symbol, parameters) {                     \
        CLibraryFiles call;                                \
        return call.finish(NEXT(symbol) arguments);        \
    }
#define FIRST_CALLS_READ_FILES(Result, symbol, parameters, arguments)                 \
    HOOK(Result, symbol, parameters) {                                                \
        static constinit std::atomic<int> times = 0;                                  \
        const bool may_read = times.load(std::memory_order_relaxed) < kMeasuredCalls; \
        if (may_read) times.fetch_add(1, std::memory_order_relaxed);                  \
        CLibraryFiles call(may_read);                                                 \
        return call.finish(NEXT(symbol) arguments);                                   \
    }

READS_FILES(char*, setlocale, (int category, const char* name), (category, name))
READS_FILES(locale_t, newlocale, (int mask, const char* name, locale_t base), (mask, name, base))
READS_FILES(iconv_t, iconv_open, (const char* to, const char* from), (to, from))
READS_FILES(nl_catd, catopen, (const char* name, int flag), (name, flag))
READS_FILES(passwd*, getpwnam, (const char* name), (name))
READS_FILES(passwd*, getpwuid, (uid_t user), (user))
READS_FILES(passwd*, getpwent, (void), ())
READS_FILES(int, getpwnam_r, (const char* name, passwd* to, char* room, size_t bytes, passwd** result),
            (name, to, room, bytes, result))
READS_FILES(int, getpwuid_r, (uid_t user, passwd* to, char* room, size_t bytes, passwd** result), (user, to, room, bytes, result))
READS_FILES(group*, getgrnam, (const char* name), (name))
READS_FILES(group*, getgrgid, (gid_t number), (number))
READS_FILES(group*, getgrent, (void), ())
READS_FILES(int, getgrnam_r, (const char* name, group* to, char* room, size_t bytes, group** result),
            (name, to, room, bytes, result))
READS_FILES(int, getgrgid_r, (gid_t number, group* to, char* room, size_t bytes, group** result), (number, to, room, bytes, result))
READS_FILES(int, getgrouplist, (const char* user, gid_t first, gid_t* groups, int* count), (user, first, groups, count))
READS_FILES(int, initgroups, (const char* user, gid_t first), (user, first))
READS_FILES(int, getaddrinfo, (const char* host, const char* service, const addrinfo* hints, addrinfo** result),
            (host, service, hints, result))
READS_FILES(hostent*, gethostbyname, (const char* name), (name))
READS_FILES(servent*, getservbyname, (const char* name, const char* protocol), (name, protocol))
FIRST_CALLS_READ_FILES(tm*, localtime, (const time_t* time), (time))
FIRST_CALLS_READ_FILES(tm*, localtime_r, (const time_t* time, tm* to), (time, to))
FIRST_CALLS_READ_FILES(tm*, gmtime, (const time_t* time), (time))
FIRST_CALLS_READ_FILES(tm*, gmtime_r, (const time_t* time, tm* to), (time, to))
FIRST_CALLS_READ_FILES(char*, ctime, (const time_t* time), (time))
FIRST_CALLS_READ_FILES(char*, ctime_r, (const time_t* time, char* to), (time, to))
FIRST_CALLS_READ_FILES(time_t, mktime, (tm * time), (time))
FIRST_CALLS_READ_FILES(size_t, strftime, (char* to, size_t bytes, const char* format, const tm* time), (to, bytes, format, time))
// The caller passes the last two arguments only with O_CREAT.
READS_FILES(sem_t*, sem_open, (const char* name, int flags, mode_t mode, unsigned value), (name, flags, mode, value))
READS_FILES(int, get_nprocs, (void), ())
READS_FILES(int, get_nprocs_conf, (void), ())

// Only queries for numbers of processors read files; they do so in each call.
HOOK(long, sysconf, (int name)) {
    CLibraryFiles call(name == _SC_NPROCESSORS_CONF || name == _SC_NPROCESSORS_ONLN);
    return call.finish(NEXT(sysconf)(name));
}

// The name of another thread is read from or written to a file of /proc.
HOOK(int, pthread_setname_np, (pthread_t thread, const char* name)) {
    CLibraryFiles call(thread != pthread_self());
    return call.finish(NEXT(pthread_setname_np)(thread, name));
}

HOOK(int, pthread_getname_np, (pthread_t thread, char* to, size_t bytes)) {
    CLibraryFiles call(thread != pthread_self());
    return call.finish(NEXT(pthread_getname_np)(thread, to, bytes));
}

HOOK(void, tzset, (void)) {
    CLibraryFiles call;
    NEXT(tzset)();
    call.finish(0);
}

}  // namespace tailrace::preload
