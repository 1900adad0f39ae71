// Calls about names and attributes of files.
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <utime.h>

#include "preload/call_files.hpp"
#include "preload/hook.hpp"
#include "preload/working_folder.hpp"

namespace tailrace::preload {

constexpr uint64_t kAfterStat = 1;  // detail of access: the C library has called stat before it

// Hooks a call with one path, relative to `directory`. A result less than 0 means that the call failed. `placed`: the function of
// call_files.hpp that makes the call.
#define OF_PLACED_AS(Result, placed, symbol, name, parameters, arguments, directory, ...)               \
    HOOK(Result, symbol, parameters) {                                                                  \
        Traced call(Call::name);                                                                        \
        const Result result = placing::placed(directory, path, [&] { return NEXT(symbol) arguments; }); \
        const uint64_t file = named_file(call, path, directory, result < 0);                            \
        return call.finish(result, CallInfo __VA_ARGS__, file);                                         \
    }
#define OF_DESCRIPTOR_AS(Result, symbol, name, parameters, arguments, ...) \
    HOOK(Result, symbol, parameters) {                                     \
        Traced call(Call::name, descriptor);                               \
        return call.finish(NEXT(symbol) arguments, CallInfo __VA_ARGS__);  \
    }
#define OF_PATH_AS(Result, ...) OF_PLACED_AS(Result, existing, __VA_ARGS__)
#define OF_PATH(...) OF_PATH_AS(int, __VA_ARGS__)
#define OF_ATTRIBUTES(...) OF_PLACED_AS(int, attributed, __VA_ARGS__)
#define OF_NEW_PATH(...) OF_PLACED_AS(int, unplaced, __VA_ARGS__)
#define OF_DESCRIPTOR(...) OF_DESCRIPTOR_AS(int, __VA_ARGS__)

OF_PATH(stat, stat, (const char* path, struct stat* to), (path, to), AT_FDCWD, {})
OF_PATH(stat64, stat, (const char* path, struct stat64* to), (path, to), AT_FDCWD, {})
OF_PATH(lstat, stat, (const char* path, struct stat* to), (path, to), AT_FDCWD, {})
OF_PATH(lstat64, stat, (const char* path, struct stat64* to), (path, to), AT_FDCWD, {})
OF_PATH(fstatat, stat, (int directory, const char* path, struct stat* to, int flags), (directory, path, to, flags), directory, {})
OF_PATH(fstatat64, stat, (int directory, const char* path, struct stat64* to, int flags), (directory, path, to, flags), directory,
        {})
OF_PATH(statx, stat, (int directory, const char* path, int flags, unsigned mask, struct statx* to),
        (directory, path, flags, mask, to), directory, {})
OF_PATH(__xstat, stat, (int version, const char* path, struct stat* to), (version, path, to), AT_FDCWD, {})
OF_PATH(__xstat64, stat, (int version, const char* path, struct stat64* to), (version, path, to), AT_FDCWD, {})
OF_PATH(__lxstat, stat, (int version, const char* path, struct stat* to), (version, path, to), AT_FDCWD, {})
OF_PATH(__lxstat64, stat, (int version, const char* path, struct stat64* to), (version, path, to), AT_FDCWD, {})
OF_PATH(__fxstatat, stat, (int version, int directory, const char* path, struct stat* to, int flags),
        (version, directory, path, to, flags), directory, {})
OF_PATH(__fxstatat64, stat, (int version, int directory, const char* path, struct stat64* to, int flags),
        (version, directory, path, to, flags), directory, {})
OF_DESCRIPTOR(fstat, fstat, (int descriptor, struct stat* to), (descriptor, to), {})
OF_DESCRIPTOR(fstat64, fstat, (int descriptor, struct stat64* to), (descriptor, to), {})
OF_DESCRIPTOR(__fxstat, fstat, (int version, int descriptor, struct stat* to), (version, descriptor, to), {})
OF_DESCRIPTOR(__fxstat64, fstat, (int version, int descriptor, struct stat64* to), (version, descriptor, to), {})

OF_PATH(access, access, (const char* path, int mode), (path, mode), AT_FDCWD, {})
OF_PATH(eaccess, access, (const char* path, int mode), (path, mode), AT_FDCWD, {.detail = kAfterStat})
OF_PATH(euidaccess, access, (const char* path, int mode), (path, mode), AT_FDCWD, {.detail = kAfterStat})
OF_PATH(faccessat, access, (int directory, const char* path, int mode, int flags), (directory, path, mode, flags), directory, {})
OF_NEW_PATH(mkdir, mkdir, (const char* path, mode_t mode), (path, mode), AT_FDCWD, {})
OF_NEW_PATH(mkdirat, mkdir, (int directory, const char* path, mode_t mode), (directory, path, mode), directory, {})
OF_ATTRIBUTES(truncate, truncate, (const char* path, off_t bytes), (path, bytes), AT_FDCWD, {.offset = bytes})
OF_ATTRIBUTES(truncate64, truncate, (const char* path, off_t bytes), (path, bytes), AT_FDCWD, {.offset = bytes})
OF_DESCRIPTOR(ftruncate, ftruncate, (int descriptor, off_t bytes), (descriptor, bytes), {.offset = bytes})
OF_DESCRIPTOR(ftruncate64, ftruncate, (int descriptor, off_t bytes), (descriptor, bytes), {.offset = bytes})

// Calls that remove files and directories. Empty directories of a tree below the folder are removed first.
template <class Remove>
static int without_tree(int directory, const char*& path, bool takes_files, bool takes_folders, Remove remove) {
    const auto remove_it = [&] { return placing::removed(directory, path, takes_files, takes_folders, remove); };
    const int result = remove_it();
    if (result == 0 || !placing::is_on() || (errno != ENOTEMPTY && errno != EEXIST)) return result;
    return logical_folder::remove_empty_tree(directory, path) ? remove_it() : result;
}

#define REMOVE(symbol, name, parameters, arguments, directory, takes_files, takes_folders)                                    \
    HOOK(int, symbol, parameters) {                                                                                           \
        Traced call(Call::name);                                                                                              \
        const int result = without_tree(directory, path, takes_files, takes_folders, [&] { return NEXT(symbol) arguments; }); \
        return call.finish(result, {}, named_file(call, path, directory, result < 0));                                        \
    }
REMOVE(rmdir, rmdir, (const char* path), (path), AT_FDCWD, false, true)
REMOVE(unlink, unlink, (const char* path), (path), AT_FDCWD, true, false)
REMOVE(unlinkat, unlink, (int directory, const char* path, int flags), (directory, path, flags), directory,
       (flags & AT_REMOVEDIR) == 0, (flags & AT_REMOVEDIR) != 0)
REMOVE(remove, unlink, (const char* path), (path), AT_FDCWD, true, true)

#define ALLOCATE(symbol, parameters, arguments) \
    OF_DESCRIPTOR(symbol, fallocate, parameters, arguments, {.offset = offset, .bytes = static_cast<uint64_t>(bytes)})
ALLOCATE(fallocate, (int descriptor, int mode, off_t offset, off_t bytes), (descriptor, mode, offset, bytes))
ALLOCATE(fallocate64, (int descriptor, int mode, off_t offset, off_t bytes), (descriptor, mode, offset, bytes))
// Calls on a range of bytes (posix_fadvise and the like), which return an errno.
#define OF_RANGE(symbol, name, parameters, arguments, ...) \
    HOOK(int, symbol, parameters) {                        \
        Traced call(Call::name, descriptor);               \
        const int code = NEXT(symbol) arguments;           \
        call.record(-int64_t{code}, CallInfo __VA_ARGS__); \
        return code;                                       \
    }
#define POSIX_ALLOCATE(symbol)                                                                            \
    OF_RANGE(symbol, fallocate, (int descriptor, off_t offset, off_t bytes), (descriptor, offset, bytes), \
             {.offset = offset, .bytes = static_cast<uint64_t>(bytes)})
POSIX_ALLOCATE(posix_fallocate)
POSIX_ALLOCATE(posix_fallocate64)
#define POSIX_ADVISE(symbol)                                                                                                \
    OF_RANGE(symbol, fadvise, (int descriptor, off_t offset, off_t bytes, int advice), (descriptor, offset, bytes, advice), \
             {.offset = offset, .bytes = static_cast<uint64_t>(bytes), .detail = static_cast<uint64_t>(advice)})
POSIX_ADVISE(posix_fadvise)
POSIX_ADVISE(posix_fadvise64)

OF_NEW_PATH(symlink, symlink, (const char* to, const char* path), (to, path), AT_FDCWD, {})
OF_NEW_PATH(symlinkat, symlink, (const char* to, int directory, const char* path), (to, directory, path), directory, {})
OF_ATTRIBUTES(chmod, chmod, (const char* path, mode_t mode), (path, mode), AT_FDCWD, {})
OF_ATTRIBUTES(fchmodat, chmod, (int directory, const char* path, mode_t mode, int flags), (directory, path, mode, flags), directory,
              {})
OF_ATTRIBUTES(lchmod, chmod, (const char* path, mode_t mode), (path, mode), AT_FDCWD, {})
OF_DESCRIPTOR(fchmod, chmod, (int descriptor, mode_t mode), (descriptor, mode), {})
OF_ATTRIBUTES(chown, chown, (const char* path, uid_t user, gid_t group), (path, user, group), AT_FDCWD, {})
OF_ATTRIBUTES(lchown, chown, (const char* path, uid_t user, gid_t group), (path, user, group), AT_FDCWD, {})
OF_ATTRIBUTES(fchownat, chown, (int directory, const char* path, uid_t user, gid_t group, int flags),
              (directory, path, user, group, flags), directory, {})
OF_DESCRIPTOR(fchown, chown, (int descriptor, uid_t user, gid_t group), (descriptor, user, group), {})
OF_ATTRIBUTES(utime, utime, (const char* path, const utimbuf* times), (path, times), AT_FDCWD, {})
OF_ATTRIBUTES(utimes, utime, (const char* path, const timeval* times), (path, times), AT_FDCWD, {})
OF_ATTRIBUTES(utimensat, utime, (int directory, const char* path, const timespec* times, int flags),
              (directory, path, times, flags), directory, {})
OF_ATTRIBUTES(lutimes, utime, (const char* path, const timeval* times), (path, times), AT_FDCWD, {})
OF_ATTRIBUTES(futimesat, utime, (int directory, const char* path, const timeval* times), (directory, path, times), directory, {})
OF_DESCRIPTOR(futimes, utime, (int descriptor, const timeval* times), (descriptor, times), {})
OF_DESCRIPTOR(futimens, utime, (int descriptor, const timespec* times), (descriptor, times), {})
OF_PATH(statfs, statfs, (const char* path, struct statfs* to), (path, to), AT_FDCWD, {})
OF_PATH(__statfs, statfs, (const char* path, struct statfs* to), (path, to), AT_FDCWD, {})
OF_PATH(statfs64, statfs, (const char* path, struct statfs64* to), (path, to), AT_FDCWD, {})
OF_PATH(statvfs, statfs, (const char* path, struct statvfs* to), (path, to), AT_FDCWD, {})
OF_PATH(statvfs64, statfs, (const char* path, struct statvfs64* to), (path, to), AT_FDCWD, {})
OF_DESCRIPTOR(fstatfs, statfs, (int descriptor, struct statfs* to), (descriptor, to), {})
OF_DESCRIPTOR(fstatfs64, statfs, (int descriptor, struct statfs64* to), (descriptor, to), {})
OF_DESCRIPTOR(fstatvfs, statfs, (int descriptor, struct statvfs* to), (descriptor, to), {})
OF_DESCRIPTOR(fstatvfs64, statfs, (int descriptor, struct statvfs64* to), (descriptor, to), {})
// After chdir a relative `path` would mean another file, so the new directory is recorded as ".".
HOOK(int, chdir, (const char* path)) {
    Traced call(Call::chdir);
    const int result = placing::existing(AT_FDCWD, path, [&] { return NEXT(chdir)(path); });
    working_folder::forget();
    return call.finish(result, {}, result == 0 ? named_file(call, ".", AT_FDCWD, false) : named_file(call, path, AT_FDCWD, true));
}
HOOK(int, fchdir, (int descriptor)) {
    Traced call(Call::chdir, descriptor);
    const int result = NEXT(fchdir)(descriptor);
    working_folder::forget();
    return call.finish(result);
}
OF_DESCRIPTOR(flock, flock, (int descriptor, int operation), (descriptor, operation), {.detail = static_cast<uint64_t>(operation)})

OF_DESCRIPTOR_AS(ssize_t, readahead, fadvise, (int descriptor, off64_t offset, size_t bytes), (descriptor, offset, bytes),
                 {.offset = offset, .bytes = bytes})

OF_PATH_AS(ssize_t, getxattr, xattr, (const char* path, const char* name, void* to, size_t bytes), (path, name, to, bytes),
           AT_FDCWD, {.bytes = bytes})
OF_PATH_AS(ssize_t, lgetxattr, xattr, (const char* path, const char* name, void* to, size_t bytes), (path, name, to, bytes),
           AT_FDCWD, {.bytes = bytes})
OF_DESCRIPTOR_AS(ssize_t, fgetxattr, xattr, (int descriptor, const char* name, void* to, size_t bytes),
                 (descriptor, name, to, bytes), {.bytes = bytes})
OF_PATH_AS(ssize_t, listxattr, xattr, (const char* path, char* to, size_t bytes), (path, to, bytes), AT_FDCWD, {.bytes = bytes})
OF_PATH_AS(ssize_t, llistxattr, xattr, (const char* path, char* to, size_t bytes), (path, to, bytes), AT_FDCWD, {.bytes = bytes})
OF_DESCRIPTOR_AS(ssize_t, flistxattr, xattr, (int descriptor, char* to, size_t bytes), (descriptor, to, bytes), {.bytes = bytes})
OF_PATH(setxattr, xattr, (const char* path, const char* name, const void* from, size_t bytes, int flags),
        (path, name, from, bytes, flags), AT_FDCWD, {.bytes = bytes})
OF_PATH(lsetxattr, xattr, (const char* path, const char* name, const void* from, size_t bytes, int flags),
        (path, name, from, bytes, flags), AT_FDCWD, {.bytes = bytes})
OF_DESCRIPTOR(fsetxattr, xattr, (int descriptor, const char* name, const void* from, size_t bytes, int flags),
              (descriptor, name, from, bytes, flags), {.bytes = bytes})
OF_PATH(removexattr, xattr, (const char* path, const char* name), (path, name), AT_FDCWD, {})
OF_PATH(lremovexattr, xattr, (const char* path, const char* name), (path, name), AT_FDCWD, {})
OF_DESCRIPTOR(fremovexattr, xattr, (int descriptor, const char* name), (descriptor, name), {})
OF_NEW_PATH(mknod, mknod, (const char* path, mode_t mode, dev_t device), (path, mode, device), AT_FDCWD, {})
OF_NEW_PATH(mknodat, mknod, (int directory, const char* path, mode_t mode, dev_t device), (directory, path, mode, device),
            directory, {})
OF_NEW_PATH(__xmknod, mknod, (int version, const char* path, mode_t mode, dev_t* device), (version, path, mode, device), AT_FDCWD,
            {})
OF_NEW_PATH(__xmknodat, mknod, (int version, int directory, const char* path, mode_t mode, dev_t* device),
            (version, directory, path, mode, device), directory, {})
OF_NEW_PATH(mkfifo, mknod, (const char* path, mode_t mode), (path, mode), AT_FDCWD, {})
OF_NEW_PATH(mkfifoat, mknod, (int directory, const char* path, mode_t mode), (directory, path, mode), directory, {})
// Shared memory is a file in /dev/shm.
HOOK(int, shm_unlink, (const char* name)) {
    Traced call(Call::unlink);
    const int result = NEXT(shm_unlink)(name);
    if (!call.is_recording() || (result < 0 && errno == EFAULT)) return result;
    char path[9 + NAME_MAX + 1] = "/dev/shm/";
    strncat(path, name + strspn(name, "/"), NAME_MAX);
    return call.finish(result, {}, file_id(path));
}

#define LOCK(symbol)                                                                                       \
    OF_DESCRIPTOR(symbol, flock, (int descriptor, int command, off_t bytes), (descriptor, command, bytes), \
                  {.detail = static_cast<uint64_t>(command)})
LOCK(lockf)
LOCK(lockf64)
// Calls with two paths: the first is the event's file, the second its detail.
#define OF_TWO_PATHS(symbol, name, parameters, arguments, from_directory, to_directory, flags)                   \
    HOOK(int, symbol, parameters) {                                                                              \
        Traced call(Call::name);                                                                                 \
        const int result = placing::two(Call::name == Call::link, flags, from_directory, from, to_directory, to, \
                                        [&] { return NEXT(symbol) arguments; });                                 \
        if (Call::name == Call::rename) working_folder::forget();                                                \
        const uint64_t file = named_file(call, from, from_directory, result < 0);                                \
        return call.finish(result, {.detail = named_file(call, to, to_directory, result < 0)}, file);            \
    }
OF_TWO_PATHS(rename, rename, (const char* from, const char* to), (from, to), AT_FDCWD, AT_FDCWD, 0)
OF_TWO_PATHS(renameat, rename, (int directory, const char* from, int to_directory, const char* to),
             (directory, from, to_directory, to), directory, to_directory, 0)
OF_TWO_PATHS(renameat2, rename, (int directory, const char* from, int to_directory, const char* to, unsigned flags),
             (directory, from, to_directory, to, flags), directory, to_directory, flags)
OF_TWO_PATHS(link, link, (const char* from, const char* to), (from, to), AT_FDCWD, AT_FDCWD, 0)
OF_TWO_PATHS(linkat, link, (int directory, const char* from, int to_directory, const char* to, int flags),
             (directory, from, to_directory, to, flags), directory, to_directory, 0)

// Makes the result of readlink logical, because links in /proc/self/fd point to files in trees and on scratch.
static ssize_t logical_link(char* text, size_t room, ssize_t bytes) {
    if (bytes <= 0 || !placing::is_on()) return bytes;
    const auto all = static_cast<uint64_t>(bytes), logical = placing::make_logical(text, all, room);
    if (logical < all) memset(text + logical, 0, all - logical);  // programs that clear the buffer expect a zero byte at the end
    return static_cast<ssize_t>(logical);
}
static char* logical_path(char* text) {
    if (text != nullptr && placing::is_on()) text[placing::make_logical(text, strlen(text), strlen(text))] = '\0';
    return text;
}

#define READLINK(symbol, parameters, arguments, directory)                                                       \
    HOOK(ssize_t, symbol, parameters) {                                                                          \
        Traced call(Call::readlink);                                                                             \
        const ssize_t result =                                                                                   \
            placing::existing(directory, path, [&] { return logical_link(to, bytes, NEXT(symbol) arguments); }); \
        return call.finish(result, {.bytes = bytes}, named_file(call, path, directory, result < 0));             \
    }
READLINK(readlink, (const char* path, char* to, size_t bytes), (path, to, bytes), AT_FDCWD)
READLINK(__readlink_chk, (const char* path, char* to, size_t bytes, size_t room), (path, to, bytes, room), AT_FDCWD)
READLINK(readlinkat, (int directory, const char* path, char* to, size_t bytes), (directory, path, to, bytes), directory)
READLINK(__readlinkat_chk, (int directory, const char* path, char* to, size_t bytes, size_t room),
         (directory, path, to, bytes, room), directory)

#define REALPATH(symbol, to, parameters, arguments)                                                                              \
    HOOK(char*, symbol, parameters) {                                                                                            \
        Traced call(Call::realpath);                                                                                             \
        char* result = staging::is_on() ? staging::real_path(path, to) : nullptr;                                                \
        if (result == nullptr) result = placing::existing(AT_FDCWD, path, [&] { return logical_path(NEXT(symbol) arguments); }); \
        return call.finish(result, {}, named_file(call, path, AT_FDCWD, result == nullptr));                                     \
    }
REALPATH(realpath, to, (const char* path, char* to), (path, to))
REALPATH(__realpath_chk, to, (const char* path, char* to, size_t room), (path, to, room))
REALPATH(canonicalize_file_name, nullptr, (const char* path), (path))

HOOK(char*, mkdtemp, (char* name)) {
    Traced call(Call::mkdir);
    char* result = NEXT(mkdtemp)(name);
    return call.finish(result, {}, named_file(call, result, AT_FDCWD, result == nullptr));
}

}  // namespace tailrace::preload
