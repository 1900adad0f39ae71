// syscall(), by which a program names the system call by its number: those that move bytes, open and close are recorded, all others
// are handed on as they come, so that also calls that return twice do.
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "preload/opened.hpp"

namespace tailrace::preload {
namespace {

// What is known of a call whose first argument is a descriptor.
struct Known {
    Call call;
    bool has_bytes, has_offset;  // its third and fourth argument
};

Known known(long number) {
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

}  // namespace

HOOK(long, syscall, (long number, long a, long b, long c, long d, long e, long f)) {
    const auto asked = NEXT(syscall);
    const int first = static_cast<int>(a);
    if (number == SYS_open) {
        Traced call(Call::open);
        const auto* path = reinterpret_cast<const char*>(a);
        return opened_as(call, static_cast<int>(asked(number, a, b, c, d, e, f)), path, kHere, static_cast<int>(b));
    }
    if (number == SYS_openat) {
        Traced call(Call::open);
        const auto* path = reinterpret_cast<const char*>(b);
        return opened_as(call, static_cast<int>(asked(number, a, b, c, d, e, f)), path, first, static_cast<int>(c));
    }
    if (number == SYS_openat2) {
        Traced call(Call::open);
        const auto* path = reinterpret_cast<const char*>(b);
        const int descriptor = static_cast<int>(asked(number, a, b, c, d, e, f));
        const int flags = descriptor >= 0 ? static_cast<int>(*reinterpret_cast<const uint64_t*>(c)) : 0;  // of open_how
        return opened_as(call, descriptor, path, first, flags);
    }
    if (number == SYS_dup || number == SYS_dup2 || number == SYS_dup3) {
        Traced call(Call::dup, first);
        return copied_as(call, first, static_cast<int>(asked(number, a, b, c, d, e, f)));
    }
    if (number == SYS_close) {
        Traced call(Call::close, first);
        return closed_by(call, first, [&] { return asked(number, a, b, c, d, e, f); });
    }
    const Known about = known(number);
    if (about.call == Call::none) return asked(number, a, b, c, d, e, f);
    Traced call(about.call, first);
    const long result = asked(number, a, b, c, d, e, f);
    const uint64_t bytes = about.has_bytes ? static_cast<uint64_t>(c) : result > 0 ? static_cast<uint64_t>(result) : 0;
    return call.done(result, {.offset = about.has_offset ? d : trace::kNowhere, .bytes = bytes});
}

}  // namespace tailrace::preload
