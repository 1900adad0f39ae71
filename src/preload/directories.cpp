// Directories, and trees of directories that the C library walks by itself.
#include <dirent.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <string.h>

#include "preload/call_files.hpp"
#include "preload/file_walk.hpp"
#include "preload/fts_walk.hpp"
#include "preload/open_close.hpp"
#include "preload/walks.hpp"
#include "preload/working_folder.hpp"

namespace tailrace::preload {

// scandir gets one event for a whole directory, because the C library reads the entries within this call.
#define SCANDIR(symbol, entry, parameters, arguments, directory)                                                                \
    HOOK(int, symbol,                                                                                                           \
         (UNPACKED parameters, entry * **entries, int (*filter)(const entry*), int (*compare)(const entry**, const entry**))) { \
        Traced call(Call::readdir);                                                                                             \
        int result = 0;                                                                                                         \
        if (!placing::is_on() || !walks::scan(directory, path, entries, filter, compare, result))                               \
            result = NEXT(symbol)(UNPACKED arguments, entries, filter, compare);                                                \
        return call.finish(result, {}, named_file(call, path, directory, result < 0));                                          \
    }
SCANDIR(scandir, dirent, (const char* path), (path), AT_FDCWD)
SCANDIR(scandir64, dirent64, (const char* path), (path), AT_FDCWD)
SCANDIR(scandirat, dirent, (int directory, const char* path), (directory, path), directory)
SCANDIR(scandirat64, dirent64, (int directory, const char* path), (directory, path), directory)

HOOK(DIR*, opendir, (const char* path)) {
    Traced call(Call::opendir);
    DIR* result = placing::existing(AT_FDCWD, path, [&] { return NEXT(opendir)(path); });
    logical_folder::begin(result);
    const uint64_t file = named_file(call, path, AT_FDCWD, result == nullptr);
    if (call.is_recording() && result != nullptr) fd_table::set(dirfd(result), file);
    return call.finish(result, {}, file);
}

HOOK(DIR*, fdopendir, (int descriptor)) {
    Traced call(Call::opendir, descriptor);
    DIR* result = NEXT(fdopendir)(descriptor);
    logical_folder::begin(result);
    return call.finish(result, {.detail = 1});
}

HOOK(int, closedir, (DIR * directory)) {
    const int descriptor = directory == nullptr ? -1 : dirfd(directory);  // the C library returns EINVAL
    Traced call(Call::closedir, descriptor);
    logical_folder::end(directory);
    return record_close(call, descriptor, [&] { return NEXT(closedir)(directory); });
}

// readdir: the recorded result is 1 for an entry, and 0 for the end of the directory, which is not a failure.
#define READDIR(symbol, entry)                                                                  \
    HOOK(entry*, symbol, (DIR * directory)) {                                                   \
        Traced call(Call::readdir, dirfd(directory));                                           \
        dirent64* of_tree = nullptr;                                                            \
        const bool has_tree = logical_folder::read(directory, of_tree);                         \
        entry* result = has_tree ? reinterpret_cast<entry*>(of_tree) : NEXT(symbol)(directory); \
        call.record(int64_t{result != nullptr});                                                \
        return result;                                                                          \
    }
READDIR(readdir, dirent)
READDIR(readdir64, dirent64)

// readdir_r returns an errno.
#define READDIR_R(symbol, entry)                                                    \
    HOOK(int, symbol, (DIR * directory, entry * to, entry * *result)) {             \
        Traced call(Call::readdir, dirfd(directory));                               \
        dirent64* of_tree = nullptr;                                                \
        const bool has_tree = logical_folder::read(directory, of_tree);             \
        if (has_tree && of_tree != nullptr) memcpy(to, of_tree, of_tree->d_reclen); \
        if (has_tree) *result = of_tree == nullptr ? nullptr : to;                  \
        const int code = has_tree ? 0 : NEXT(symbol)(directory, to, result);        \
        call.record(code != 0 ? -int64_t{code} : int64_t{*result != nullptr});      \
        return code;                                                                \
    }
READDIR_R(readdir_r, dirent)
READDIR_R(readdir64_r, dirent64)

HOOK(long, telldir, (DIR * directory)) {
    long place = 0;
    return logical_folder::tell(directory, place) ? place : NEXT(telldir)(directory);
}

HOOK(void, seekdir, (DIR * directory, long place)) {
    if (!logical_folder::seek(directory, place)) NEXT(seekdir)(directory, place);
}

HOOK(void, rewinddir, (DIR * directory)) {
    if (!logical_folder::rewind(directory)) NEXT(rewinddir)(directory);
}

#define GETDIRENTRIES(symbol)                                                            \
    HOOK(ssize_t, symbol, (int descriptor, char* to, size_t bytes, off64_t* position)) { \
        Traced call(Call::readdir, descriptor);                                          \
        return call.finish(NEXT(symbol)(descriptor, to, bytes, position));               \
    }
GETDIRENTRIES(getdirentries)
GETDIRENTRIES(getdirentries64)

// ftw and the like get one event for a whole walk, with the path where it begins, because the C library reads the directories
// within the call. Calls that the program's function makes are recorded as usual.
#define WALK(symbol, parameters, arguments)                                                              \
    HOOK(int, symbol, parameters) {                                                                      \
        Traced call(Call::walk);                                                                         \
        const int result = NEXT(symbol) arguments;                                                       \
        call.record(result < 0 ? -int64_t{errno} : 0, {}, named_file(call, path, AT_FDCWD, result < 0)); \
        return result;                                                                                   \
    }
template <class Visited>
static walks::Visit as_visit(Visited visit) {
    return reinterpret_cast<walks::Visit>(reinterpret_cast<void*>(visit));
}
#define FILE_WALK(symbol, parameters, arguments, flags, plain)                                                           \
    HOOK(int, symbol, parameters) {                                                                                      \
        Traced call(Call::walk);                                                                                         \
        const working_folder::WhileUnknown folder((flags & FTW_CHDIR) != 0);                                             \
        const bool is_logical = placing::is_on();                                                                        \
        const int result = is_logical ? walks::walk_files(path, as_visit(visit), flags, plain) : NEXT(symbol) arguments; \
        call.record(result < 0 ? -int64_t{errno} : 0, {}, named_file(call, path, AT_FDCWD, result < 0));                 \
        return result;                                                                                                   \
    }
FILE_WALK(ftw, (const char* path, __ftw_func_t visit, int descriptors), (path, visit, descriptors), 0, true)
FILE_WALK(ftw64, (const char* path, __ftw64_func_t visit, int descriptors), (path, visit, descriptors), 0, true)
FILE_WALK(nftw, (const char* path, __nftw_func_t visit, int descriptors, int flags), (path, visit, descriptors, flags), flags,
          false)
FILE_WALK(nftw64, (const char* path, __nftw64_func_t visit, int descriptors, int flags), (path, visit, descriptors, flags), flags,
          false)
WALK(glob, (const char* path, int flags, int (*failed)(const char*, int), glob_t* to),
     (path, walks::with_logical_view(flags, to), failed, to))
WALK(glob64, (const char* path, int flags, int (*failed)(const char*, int), glob64_t* to),
     (path, walks::with_logical_view(flags, to), failed, to))

// fts_read gets an event for each entry. fts and fts64 have the same records on this machine.
static_assert(sizeof(FTSENT) == sizeof(FTSENT64) && sizeof(FTS) == sizeof(FTS64));

#define FTS_FUNCTIONS(symbol, tree, entry)                                                                                     \
    HOOK(tree*, symbol##_open, (char* const* paths, int options, int (*compare)(const entry**, const entry**))) {              \
        const bool is_logical = placing::is_on();                                                                              \
        if (!is_logical && (options & FTS_NOCHDIR) == 0) working_folder::forget_for_good();                                    \
        Traced call(Call::walk);                                                                                               \
        tree* const result =                                                                                                   \
            is_logical ? reinterpret_cast<tree*>(fts_walk::open(paths, options, reinterpret_cast<fts_walk::Compare>(compare))) \
                       : NEXT(symbol##_open)(paths, options, compare);                                                         \
        return call.finish(result, {}, named_file(call, result == nullptr ? nullptr : paths[0], AT_FDCWD, result == nullptr)); \
    }                                                                                                                          \
    HOOK(entry*, symbol##_read, (tree * walked)) {                                                                             \
        Traced call(Call::readdir);                                                                                            \
        entry* const result = placing::is_on() ? reinterpret_cast<entry*>(fts_walk::read(reinterpret_cast<FTS*>(walked)))      \
                                               : NEXT(symbol##_read)(walked);                                                  \
        call.record(int64_t{result != nullptr}, {},                                                                            \
                    result == nullptr ? 0 : named_file(call, result->fts_accpath, AT_FDCWD, false));                           \
        return result;                                                                                                         \
    }                                                                                                                          \
    HOOK(entry*, symbol##_children, (tree * walked, int instruction)) {                                                        \
        if (!placing::is_on()) return NEXT(symbol##_children)(walked, instruction);                                            \
        return reinterpret_cast<entry*>(fts_walk::children(reinterpret_cast<FTS*>(walked), instruction));                      \
    }                                                                                                                          \
    HOOK(int, symbol##_set, (tree * walked, entry * of, int instruction)) {                                                    \
        if (!placing::is_on()) return NEXT(symbol##_set)(walked, of, instruction);                                             \
        return fts_walk::set(reinterpret_cast<FTS*>(walked), reinterpret_cast<FTSENT*>(of), instruction);                      \
    }                                                                                                                          \
    HOOK(int, symbol##_close, (tree * walked)) {                                                                               \
        return placing::is_on() ? fts_walk::close(reinterpret_cast<FTS*>(walked)) : NEXT(symbol##_close)(walked);              \
    }
FTS_FUNCTIONS(fts, FTS, FTSENT)
FTS_FUNCTIONS(fts64, FTS64, FTSENT64)

}  // namespace tailrace::preload
