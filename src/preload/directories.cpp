// Directories, and trees of them that the C library goes through by itself.
#include <dirent.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>

#include "preload/opened.hpp"

namespace tailrace::preload {

// A whole directory at once: its entries are read within the C library.
#define SCANDIR(symbol, entry, parameters, arguments, directory)                                                                \
    HOOK(int, symbol,                                                                                                           \
         (UNPACKED parameters, entry * **entries, int (*filter)(const entry*), int (*compare)(const entry**, const entry**))) { \
        Traced call(Call::readdir);                                                                                             \
        const int result = NEXT(symbol)(UNPACKED arguments, entries, filter, compare);                                          \
        return call.done(result, {}, named(call, path, directory, result < 0));                                                 \
    }
SCANDIR(scandir, dirent, (const char* path), (path), kHere)
SCANDIR(scandir64, dirent64, (const char* path), (path), kHere)
SCANDIR(scandirat, dirent, (int directory, const char* path), (directory, path), directory)
SCANDIR(scandirat64, dirent64, (int directory, const char* path), (directory, path), directory)

HOOK(DIR*, opendir, (const char* path)) {
    Traced call(Call::opendir);
    DIR* result = NEXT(opendir)(path);
    const uint64_t file = named(call, path, kHere, result == nullptr);
    if (call.on() && result != nullptr) opened(dirfd(result), file);
    return call.done(result, {}, file);
}

HOOK(DIR*, fdopendir, (int descriptor)) {
    Traced call(Call::opendir, descriptor);
    return call.done(NEXT(fdopendir)(descriptor), {.detail = 1});
}

HOOK(int, closedir, (DIR * directory)) {
    const int descriptor = directory == nullptr ? -1 : dirfd(directory);  // the C library answers EINVAL
    Traced call(Call::closedir, descriptor);
    return closed_by(call, descriptor, [&] { return NEXT(closedir)(directory); });
}

// No entry is no failure.
#define READDIR(symbol, entry)                        \
    HOOK(entry*, symbol, (DIR * directory)) {         \
        Traced call(Call::readdir, dirfd(directory)); \
        entry* result = NEXT(symbol)(directory);      \
        call.note(int64_t{result != nullptr});        \
        return result;                                \
    }
READDIR(readdir, dirent)
READDIR(readdir64, dirent64)

// These answer an errno.
#define READDIR_R(symbol, entry)                                             \
    HOOK(int, symbol, (DIR * directory, entry * to, entry * *answer)) {      \
        Traced call(Call::readdir, dirfd(directory));                        \
        const int code = NEXT(symbol)(directory, to, answer);                \
        call.note(code != 0 ? -int64_t{code} : int64_t{*answer != nullptr}); \
        return code;                                                         \
    }
READDIR_R(readdir_r, dirent)
READDIR_R(readdir64_r, dirent64)

#define GETDIRENTRIES(symbol)                                                            \
    HOOK(ssize_t, symbol, (int descriptor, char* to, size_t bytes, off64_t* position)) { \
        Traced call(Call::readdir, descriptor);                                          \
        return call.done(NEXT(symbol)(descriptor, to, bytes, position));                 \
    }
GETDIRENTRIES(getdirentries)
GETDIRENTRIES(getdirentries64)

// Directories are read, and names looked up, within the C library: recorded is the walk, from where it begins. What a function does
// that it calls meanwhile is recorded as well.
#define WALK(symbol, parameters, arguments)                                                    \
    HOOK(int, symbol, parameters) {                                                            \
        Traced call(Call::walk);                                                               \
        const int result = NEXT(symbol) arguments;                                             \
        call.note(result < 0 ? -int64_t{errno} : 0, {}, named(call, path, kHere, result < 0)); \
        return result;                                                                         \
    }
WALK(ftw, (const char* path, __ftw_func_t visit, int descriptors), (path, visit, descriptors))
WALK(ftw64, (const char* path, __ftw64_func_t visit, int descriptors), (path, visit, descriptors))
WALK(nftw, (const char* path, __nftw_func_t visit, int descriptors, int flags), (path, visit, descriptors, flags))
WALK(nftw64, (const char* path, __nftw64_func_t visit, int descriptors, int flags), (path, visit, descriptors, flags))
WALK(glob, (const char* path, int flags, int (*failed)(const char*, int), glob_t* to), (path, flags, failed, to))
WALK(glob64, (const char* path, int flags, int (*failed)(const char*, int), glob64_t* to), (path, flags, failed, to))

#define FTS_OPEN(symbol, tree, entry)                                                                                \
    HOOK(tree*, symbol, (char* const* paths, int options, int (*compare)(const entry**, const entry**))) {           \
        Traced call(Call::walk);                                                                                     \
        tree* const result = NEXT(symbol)(paths, options, compare);                                                  \
        return call.done(result, {}, named(call, result == nullptr ? nullptr : paths[0], kHere, result == nullptr)); \
    }
FTS_OPEN(fts_open, FTS, FTSENT)
FTS_OPEN(fts64_open, FTS64, FTSENT64)

#define FTS_READ(symbol, tree, entry)                                                                                      \
    HOOK(entry*, symbol, (tree * walked)) {                                                                                \
        Traced call(Call::readdir);                                                                                        \
        entry* const result = NEXT(symbol)(walked);                                                                        \
        call.note(int64_t{result != nullptr}, {}, result == nullptr ? 0 : named(call, result->fts_accpath, kHere, false)); \
        return result;                                                                                                     \
    }
FTS_READ(fts_read, FTS, FTSENT)
FTS_READ(fts64_read, FTS64, FTSENT64)

}  // namespace tailrace::preload
