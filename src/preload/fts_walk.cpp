#include "preload/fts_walk.hpp"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <utility>

// Calls of opendir, readdir, stat and lstat reach the hooks of this library, which have these names.
namespace tailrace::preload::fts_walk {
namespace {

constexpr int kOptions =
    FTS_COMFOLLOW | FTS_LOGICAL | FTS_NOCHDIR | FTS_NOSTAT | FTS_PHYSICAL | FTS_SEEDOT | FTS_XDEV | FTS_WHITEOUT;
constexpr int kNamesAlone = 0x0100, kStopped = 0x0200;  // FTS_NAMEONLY and FTS_STOP, which <fts.h> keeps private
constexpr size_t kPathRoom = USHRT_MAX + 1;             // fts_pathlen cannot hold more
constexpr short kAboveRoots = -1;                       // level of the parent of the roots

// What the directory of the current entry is read for.
enum class Purpose : uint8_t { names, children, walk };

bool has(const FTS* walk, int option) { return (walk->fts_options & option) != 0; }

bool is_dots(const char* name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

FTSENT* made(FTS* walk, const char* name, size_t bytes) {
    // The entry, its name, and its attributes behind that, as one piece of memory.
    const size_t stat_at =
        (offsetof(FTSENT, fts_name) + bytes + 1 + alignof(struct stat) - 1) / alignof(struct stat) * alignof(struct stat);
    auto* const entry = static_cast<FTSENT*>(calloc(1, stat_at + sizeof(struct stat)));
    if (entry == nullptr) return nullptr;
    memcpy(entry->fts_name, name, bytes);
    entry->fts_namelen = static_cast<unsigned short>(bytes);
    entry->fts_path = entry->fts_accpath = walk->fts_path;
    entry->fts_instr = FTS_NOINSTR;
    if (!has(walk, FTS_NOSTAT)) entry->fts_statp = reinterpret_cast<struct stat*>(reinterpret_cast<char*>(entry) + stat_at);
    return entry;
}

void free_list(FTSENT* entry) {
    while (entry != nullptr) free(std::exchange(entry, entry->fts_link));
}

// Looks at the entry at `path`. Sets its attributes, and returns its kind.
unsigned short looked_at(const FTS* walk, FTSENT* entry, const char* path, bool follows) {
    struct stat own;
    struct stat& file = entry->fts_statp != nullptr ? *entry->fts_statp : own;
    if (has(walk, FTS_LOGICAL) || follows) {
        if (stat(path, &file) != 0) {
            const int code = errno;
            if (lstat(path, &file) == 0) {
                errno = 0;
                return FTS_SLNONE;
            }
            entry->fts_errno = code;
            memset(&file, 0, sizeof file);
            return FTS_NS;
        }
    } else if (lstat(path, &file) != 0) {
        entry->fts_errno = errno;
        memset(&file, 0, sizeof file);
        return FTS_NS;
    }
    if (S_ISLNK(file.st_mode)) return FTS_SL;
    if (S_ISREG(file.st_mode)) return FTS_F;
    if (!S_ISDIR(file.st_mode)) return FTS_DEFAULT;
    entry->fts_dev = file.st_dev;
    entry->fts_ino = file.st_ino;
    entry->fts_nlink = file.st_nlink;
    if (is_dots(entry->fts_name)) return FTS_DOT;
    for (FTSENT* above = entry->fts_parent; above->fts_level > kAboveRoots; above = above->fts_parent)
        if (above->fts_ino == file.st_ino && above->fts_dev == file.st_dev) {
            entry->fts_cycle = above;
            return FTS_DC;
        }
    return FTS_D;
}

FTSENT* sorted(const FTS* walk, FTSENT* first, size_t count) {
    if (walk->fts_compar == nullptr || count < 2) return first;
    auto** const all = static_cast<FTSENT**>(malloc(count * sizeof(FTSENT*)));
    if (all == nullptr) return first;
    size_t filled = 0;
    for (FTSENT* entry = first; entry != nullptr; entry = entry->fts_link) all[filled++] = entry;
    qsort(all, count, sizeof *all, walk->fts_compar);
    for (size_t k = 0; k < count; ++k) all[k]->fts_link = k + 1 < count ? all[k + 1] : nullptr;
    first = all[0];
    free(all);
    return first;
}

// Puts an entry's name behind the path of its parent. Returns the new length in bytes.
size_t put_name(FTS* walk, const FTSENT* entry) {
    size_t at = entry->fts_parent->fts_pathlen;
    if (at > 0 && walk->fts_path[at - 1] == '/') --at;  // the root directory, and a path that ends with a slash
    walk->fts_path[at++] = '/';
    memcpy(walk->fts_path + at, entry->fts_name, entry->fts_namelen + size_t{1});
    return at + entry->fts_namelen;
}

// The entries of the current directory. nullptr: there are none, or an error, which the directory's entry then says.
FTSENT* built(FTS* walk, Purpose purpose) {
    FTSENT* const folder = walk->fts_cur;
    DIR* const directory = opendir(folder->fts_accpath);
    if (directory == nullptr) {
        if (purpose == Purpose::walk) {
            folder->fts_info = FTS_DNR;
            folder->fts_errno = errno;
        }
        return nullptr;
    }
    FTSENT *first = nullptr, *last = nullptr;
    size_t count = 0;
    int code = 0;
    const bool needs_no_stat = has(walk, FTS_NOSTAT) && has(walk, FTS_PHYSICAL);
    while (const dirent* const found = readdir(directory)) {
        if (is_dots(found->d_name) && !has(walk, FTS_SEEDOT)) continue;
        const size_t bytes = strlen(found->d_name);
        if (folder->fts_pathlen + 1 + bytes >= kPathRoom) {
            code = ENAMETOOLONG;
            break;
        }
        FTSENT* const entry = made(walk, found->d_name, bytes);
        if (entry == nullptr) {
            code = errno;
            break;
        }
        entry->fts_level = static_cast<short>(folder->fts_level + 1);
        entry->fts_parent = folder;
        entry->fts_pathlen = static_cast<unsigned short>(put_name(walk, entry));
        if (purpose == Purpose::names || (needs_no_stat && found->d_type != DT_DIR && found->d_type != DT_UNKNOWN))
            entry->fts_info = FTS_NSOK;
        else
            entry->fts_info = looked_at(walk, entry, walk->fts_path, false);
        (last == nullptr ? first : last->fts_link) = entry;
        last = entry;
        ++count;
    }
    closedir(directory);
    walk->fts_path[folder->fts_pathlen] = '\0';
    if (code != 0) {
        free_list(first);
        folder->fts_info = FTS_ERR;
        walk->fts_options |= kStopped;
        errno = code;
        return nullptr;
    }
    if (first == nullptr && purpose == Purpose::walk) folder->fts_info = FTS_DP;
    return sorted(walk, first, count);
}

void drop_children(FTS* walk) { free_list(std::exchange(walk->fts_child, nullptr)); }

// Begins with a root: the path is its own, and its name is the last part of that.
FTSENT* loaded(FTS* walk, FTSENT* root) {
    memcpy(walk->fts_path, root->fts_name, root->fts_namelen + size_t{1});
    root->fts_pathlen = root->fts_namelen;
    const char* const slash = strrchr(root->fts_name, '/');
    if (slash != nullptr && (slash != root->fts_name || slash[1] != '\0')) {
        const size_t bytes = strlen(slash + 1);
        memmove(root->fts_name, slash + 1, bytes + 1);
        root->fts_namelen = static_cast<unsigned short>(bytes);
    }
    root->fts_accpath = root->fts_path = walk->fts_path;
    walk->fts_dev = root->fts_dev;
    return walk->fts_cur = root;
}

// Proceeds behind an entry: to the next one of its directory, or to the directory again.
FTSENT* next(FTS* walk, FTSENT* entry) {
    while (FTSENT* const after = entry->fts_link) {
        free(std::exchange(entry, after));
        if (entry->fts_level == FTS_ROOTLEVEL) return loaded(walk, entry);
        if (entry->fts_instr == FTS_SKIP) continue;
        put_name(walk, entry);
        if (entry->fts_instr == FTS_FOLLOW) {
            entry->fts_info = looked_at(walk, entry, entry->fts_accpath, true);
            entry->fts_instr = FTS_NOINSTR;
        }
        return walk->fts_cur = entry;
    }
    FTSENT* const above = entry->fts_parent;
    free(entry);
    if (above->fts_level == kAboveRoots) {
        free(above);
        errno = 0;
        return walk->fts_cur = nullptr;
    }
    walk->fts_path[above->fts_pathlen] = '\0';
    above->fts_info = above->fts_errno != 0 ? FTS_ERR : FTS_DP;
    return walk->fts_cur = above;
}

// Goes into the directory that was returned before its contents.
FTSENT* entered(FTS* walk, FTSENT* folder, int instruction) {
    if (instruction == FTS_SKIP || (has(walk, FTS_XDEV) && folder->fts_dev != walk->fts_dev)) {
        drop_children(walk);
        folder->fts_info = FTS_DP;
        return folder;
    }
    if (walk->fts_child != nullptr && has(walk, kNamesAlone)) {
        walk->fts_options &= ~kNamesAlone;
        drop_children(walk);
    }
    FTSENT* first = std::exchange(walk->fts_child, nullptr);
    if (first == nullptr) first = built(walk, Purpose::walk);
    if (first == nullptr) return has(walk, kStopped) ? nullptr : folder;
    put_name(walk, first);
    return walk->fts_cur = first;
}

FTS* failed(FTS* walk, FTSENT* roots, FTSENT* above, int code) {
    free_list(roots);
    free(above);
    free(walk->fts_path);
    free(walk);
    errno = code;
    return nullptr;
}

}  // namespace

FTS* open(char* const* paths, int options, Compare compare) {
    if ((options & ~kOptions) != 0) {
        errno = EINVAL;
        return nullptr;
    }
    auto* const walk = static_cast<FTS*>(calloc(1, sizeof(FTS)));
    if (walk == nullptr) return nullptr;
    walk->fts_compar = reinterpret_cast<int (*)(const void*, const void*)>(compare);
    walk->fts_options = options | FTS_NOCHDIR;
    walk->fts_rfd = -1;
    walk->fts_path = static_cast<char*>(malloc(kPathRoom));
    walk->fts_pathlen = kPathRoom;
    if (walk->fts_path == nullptr) return failed(walk, nullptr, nullptr, ENOMEM);
    *walk->fts_path = '\0';
    FTSENT* const above = made(walk, "", 0);
    if (above == nullptr) return failed(walk, nullptr, nullptr, ENOMEM);
    above->fts_level = kAboveRoots;
    FTSENT *first = nullptr, *last = nullptr;
    size_t count = 0;
    for (; *paths != nullptr; ++paths, ++count) {
        const size_t bytes = strlen(*paths);
        if (bytes == 0 || bytes >= kPathRoom) return failed(walk, first, above, bytes == 0 ? ENOENT : ENAMETOOLONG);
        FTSENT* const root = made(walk, *paths, bytes);
        if (root == nullptr) return failed(walk, first, above, ENOMEM);
        root->fts_level = FTS_ROOTLEVEL;
        root->fts_parent = above;
        root->fts_accpath = root->fts_name;
        root->fts_info = looked_at(walk, root, root->fts_name, has(walk, FTS_COMFOLLOW));
        if (root->fts_info == FTS_DOT) root->fts_info = FTS_D;
        (last == nullptr ? first : last->fts_link) = root;
        last = root;
    }
    FTSENT* const before = made(walk, "", 0);
    if (before == nullptr) return failed(walk, first, above, ENOMEM);
    before->fts_info = FTS_INIT;
    before->fts_parent = above;
    before->fts_link = sorted(walk, first, count);
    walk->fts_cur = before;
    return walk;
}

FTSENT* read(FTS* walk) {
    FTSENT* const entry = walk->fts_cur;
    if (entry == nullptr || has(walk, kStopped)) return nullptr;
    const int instruction = std::exchange(entry->fts_instr, FTS_NOINSTR);
    const bool is_link = entry->fts_info == FTS_SL || entry->fts_info == FTS_SLNONE;
    if (instruction == FTS_AGAIN || (instruction == FTS_FOLLOW && is_link)) {
        entry->fts_info = looked_at(walk, entry, entry->fts_accpath, instruction == FTS_FOLLOW);
        return entry;
    }
    return entry->fts_info == FTS_D ? entered(walk, entry, instruction) : next(walk, entry);
}

FTSENT* children(FTS* walk, int instruction) {
    if (instruction != 0 && instruction != kNamesAlone) {
        errno = EINVAL;
        return nullptr;
    }
    errno = 0;
    const FTSENT* const entry = walk->fts_cur;
    if (entry == nullptr || has(walk, kStopped)) return nullptr;
    if (entry->fts_info == FTS_INIT) return entry->fts_link;
    if (entry->fts_info != FTS_D) return nullptr;
    drop_children(walk);
    walk->fts_options |= instruction;
    return walk->fts_child = built(walk, instruction != 0 ? Purpose::names : Purpose::children);
}

int set(FTS*, FTSENT* entry, int instruction) {
    if (instruction != 0 && instruction != FTS_AGAIN && instruction != FTS_FOLLOW && instruction != FTS_NOINSTR &&
        instruction != FTS_SKIP) {
        errno = EINVAL;
        return 1;  // as the C library does
    }
    entry->fts_instr = static_cast<unsigned short>(instruction);
    return 0;
}

int close(FTS* walk) {
    // Each entry from the current one up to the roots has those behind it in its list.
    for (FTSENT* entry = walk->fts_cur; entry != nullptr;) {
        FTSENT* const above = entry->fts_level > kAboveRoots ? entry->fts_parent : nullptr;
        free_list(entry);
        entry = above;
    }
    free_list(walk->fts_child);
    free(walk->fts_path);
    free(walk);
    return 0;
}

}  // namespace tailrace::preload::fts_walk
