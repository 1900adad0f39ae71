// syscall(): system calls by their number. Those that move bytes, open or close are recorded. All others are passed on untouched,
// so calls that return twice still work.
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "preload/kernel_aio.hpp"
#include "preload/open_close.hpp"
#include "preload/working_folder.hpp"

namespace tailrace::preload {
namespace {

// A system call whose first argument is a file descriptor.
struct DescriptorCall {
    Call call;
    bool has_bytes, has_offset;  // whether the third argument is a number of bytes, and the fourth an offset
};

DescriptorCall descriptor_call(long number) {
    switch (number) {
        case SYS_read: return {Call::read, true, false};
        case SYS_write: return {Call::write, true, false};
        case SYS_pread64: return {Call::pread, true, true};
        case SYS_pwrite64: return {Call::pwrite, true, true};
        case SYS_readv: return {Call::readv, false, false};
        case SYS_writev: return {Call::writev, false, false};
        case SYS_preadv:
        case SYS_preadv2: return {Call::preadv, false, true};
        case SYS_pwritev:
        case SYS_pwritev2: return {Call::pwritev, false, true};
        case SYS_fsync: return {Call::fsync, false, false};
        case SYS_fdatasync: return {Call::fdatasync, false, false};
        default: return {Call::none, false, false};
    }
}

// Calls that change the working directory, or let threads and processes with this memory have directories of their own.
bool changes_folder(long number) {
    return number == SYS_chdir || number == SYS_fchdir || number == SYS_rename || number == SYS_renameat || number == SYS_renameat2;
}
bool parts_folders(long number, long flags) {
    if (number == SYS_clone) return ((flags & CLONE_VM) != 0) != ((flags & CLONE_FS) != 0);
    return number == SYS_clone3 || number == SYS_vfork || number == SYS_unshare || number == SYS_setns || number == SYS_chroot ||
           number == SYS_pivot_root;
}

}  // namespace

HOOK(long, syscall, (long number, long a, long b, long c, long d, long e, long f)) {
    const auto next_syscall = NEXT(syscall);
    const int first = static_cast<int>(a);
    if (number == SYS_open) {
        Traced call(Call::open);
        const auto* path = reinterpret_cast<const char*>(a);
        return record_open(call, static_cast<int>(next_syscall(number, a, b, c, d, e, f)), path, AT_FDCWD, static_cast<int>(b));
    }
    if (number == SYS_openat) {
        Traced call(Call::open);
        const auto* path = reinterpret_cast<const char*>(b);
        return record_open(call, static_cast<int>(next_syscall(number, a, b, c, d, e, f)), path, first, static_cast<int>(c));
    }
    if (number == SYS_openat2) {
        Traced call(Call::open);
        const auto* path = reinterpret_cast<const char*>(b);
        const int descriptor = static_cast<int>(next_syscall(number, a, b, c, d, e, f));
        const int flags = descriptor >= 0 ? static_cast<int>(*reinterpret_cast<const uint64_t*>(c)) : 0;  // of open_how
        return record_open(call, descriptor, path, first, flags);
    }
    if (number == SYS_dup || number == SYS_dup2 || number == SYS_dup3) {
        Traced call(Call::dup, first);
        return record_dup(call, first, static_cast<int>(next_syscall(number, a, b, c, d, e, f)));
    }
    if (number == SYS_close) {
        Traced call(Call::close, first);
        return record_close(call, first, [&] { return next_syscall(number, a, b, c, d, e, f); });
    }
    // Call the hooked functions, which add the tracer's variables to the environment.
    if (number == SYS_execve)
        return execve(reinterpret_cast<const char*>(a), reinterpret_cast<char* const*>(b), reinterpret_cast<char* const*>(c));
    if (number == SYS_execveat)
        return execveat(first, reinterpret_cast<const char*>(b), reinterpret_cast<char* const*>(c),
                        reinterpret_cast<char* const*>(d), static_cast<int>(e));
    if (number == SYS_io_uring_setup) {
        Traced call(Call::io_uring_setup);
        return call.finish(next_syscall(number, a, b, c, d, e, f));
    }
    if (number == SYS_io_submit)
        return record_submit(reinterpret_cast<const iocb* const*>(c), [&] { return next_syscall(number, a, b, c, d, e, f); });
    if (parts_folders(number, a)) working_folder::forget_for_good();
    if (changes_folder(number)) {
        const long result = next_syscall(number, a, b, c, d, e, f);
        working_folder::forget();
        return result;
    }
    const DescriptorCall found = descriptor_call(number);
    if (found.call == Call::none) return next_syscall(number, a, b, c, d, e, f);
    Traced call(found.call, first);
    const long result = next_syscall(number, a, b, c, d, e, f);
    const uint64_t bytes = found.has_bytes ? static_cast<uint64_t>(c) : result > 0 ? static_cast<uint64_t>(result) : 0;
    return call.finish(result, {.offset = found.has_offset ? d : trace::kNoOffset, .bytes = bytes});
}

}  // namespace tailrace::preload
