#include "trace/log_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "environment/variables.hpp"
#include "trace/atomics.hpp"
#include "trace/raw.hpp"

namespace tailrace::trace {
namespace {

// Reserves room on the device; returns 0 or -errno. Without this, a store to mapped memory on a full disk would end the user's
// program by SIGBUS, and a file beyond RLIMIT_FSIZE would end it by SIGXFSZ.
int64_t reserve(int64_t descriptor, uint64_t offset, uint64_t bytes, Header* header) {
    rlimit64 limit = {};
    if (raw::call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, raw::address(&limit)) == 0 && limit.rlim_cur < offset + bytes) return -EFBIG;
    int64_t result;
    do result = raw::call(SYS_fallocate, descriptor, 0, static_cast<int64_t>(offset), static_cast<int64_t>(bytes));
    while (result == -EINTR);
    if (result != -EOPNOTSUPP) return result;
    static const char zeros[4096] = {};
    for (uint64_t done = 0; done < bytes; done += sizeof zeros)
        if (raw::call(SYS_pwrite64, descriptor, raw::address(zeros), sizeof zeros, static_cast<int64_t>(offset + done)) !=
            sizeof zeros)
            return -ENOSPC;
    if (header == nullptr) return 0;
    add(header->own.written_bytes, bytes);
    add(header->own.write_calls, bytes / sizeof zeros);
    return 0;
}

// Opens the log's file. Links are never followed: another user who may write in the folder could make one, and this process may
// have more rights than that user.
int64_t open_with(const ProcessState& process, int64_t flags) {
    constexpr int64_t kOwnerOnly = 0600;
    return raw::call(SYS_openat, AT_FDCWD, raw::address(process.path), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, kOwnerOnly);
}

// Whether a descriptor belongs to the log's file. The first call of a process stores which file that is.
bool is_log(int64_t descriptor, ProcessState& process) {
    struct stat status = {};
    if (raw::call(SYS_fstat, descriptor, raw::address(&status)) != 0) return false;
    if (process.file_number == 0) {
        process.file_device = status.st_dev;
        process.file_number = status.st_ino;
    }
    return process.file_device == status.st_dev && process.file_number == status.st_ino;
}

// Lets others read the log, where the user asked for it.
void share(int64_t log) {
    const char* with = getenv(variable::TRACE_SHARE);
    if (with == nullptr) return;
    if (strcmp(with, "group") == 0) raw::call(SYS_fchmod, log, 0640);
    if (strcmp(with, "all") == 0) raw::call(SYS_fchmod, log, 0644);
}

}  // namespace

int64_t open_log_file(ProcessState& process) {
    const int64_t log = open_with(process, O_NONBLOCK);
    if (log < 0 || is_log(log, process)) return log;
    raw::call(SYS_close, log);
    return -ESTALE;
}

void* map_log_file(const ProcessState& process, int64_t log, uint64_t offset, uint64_t bytes, int64_t& error) {
    error = log;
    if (log < 0) return nullptr;
    error = reserve(log, offset, bytes, process.header);
    void* memory = error == 0 ? map_memory(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, log, offset) : nullptr;
    if (error == 0 && memory == nullptr) error = -ENOMEM;
    raw::call(SYS_close, log);
    return memory;
}

// The number N in the file's name distinguishes the programs that one process runs one after the other, by exec.
Header* create_log_file(ProcessState& process, const char* folder, const Header& described) {
    uint64_t at = raw::put_text(process.path, folder, 4000);
    process.path[at++] = '/';
    at += raw::put_text(process.path + at, described.host, sizeof described.host);
    process.path[at++] = '.';
    at += raw::put_number(process.path + at, static_cast<uint64_t>(described.numbers.process));
    process.path[at++] = '.';
    constexpr uint64_t kMostPrograms = 100'000;
    for (uint64_t n = 0; n < kMostPrograms; ++n) {
        raw::put_text(process.path + at + raw::put_number(process.path + at, n), ".trace", 8);
        const int64_t log = open_with(process, O_CREAT | O_EXCL);
        if (log == -EEXIST) continue;
        if (log < 0) return nullptr;
        share(log);
        is_log(log, process);
        int64_t error;
        return static_cast<Header*>(map_log_file(process, log, 0, kHeaderBytes, error));
    }
    return nullptr;
}

}  // namespace tailrace::trace
