#include "preload/file_walk.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

namespace tailrace::preload::walks {
namespace {

using PlainVisit = int (*)(const char*, const struct stat*, int);

// Walks a tree. Its calls of opendir, readdir and stat reach the hooks of this library, which have these names.
class FileWalk {
public:
    FileWalk(Visit visit, int flags, bool plain) : visit_(visit), flags_(flags), plain_(plain) {}

    int begin(const char* path) {
        length_ = strlen(path);
        if (length_ == 0 || length_ >= sizeof path_) {
            errno = length_ == 0 ? ENOENT : ENAMETOOLONG;
            return -1;
        }
        memcpy(path_, path, length_ + 1);
        while (length_ > 1 && path_[length_ - 1] == '/') path_[--length_] = '\0';
        struct stat top;
        if (((flags_ & FTW_PHYS) != 0 ? lstat(path_, &top) : stat(path_, &top)) != 0 && lstat(path_, &top) != 0) return -1;
        device_ = top.st_dev;
        const char* slash = strrchr(path_, '/');
        const int result = one(slash == nullptr || slash[1] == '\0' ? 0 : static_cast<int>(slash - path_) + 1, 0, nullptr);
        return (flags_ & FTW_ACTIONRETVAL) != 0 && (result == FTW_SKIP_SUBTREE || result == FTW_SKIP_SIBLINGS) ? 0 : result;
    }

private:
    // The directories above the current one, to detect loops of links.
    struct Above {
        dev_t device;
        ino_t inode;
        const Above* above;
    };

    int call(const struct stat& file, int kind, int base, int level) {
        if (plain_) {
            const int known = kind == FTW_DP ? FTW_D : kind == FTW_SLN ? FTW_NS : kind == FTW_SL ? FTW_F : kind;
            return reinterpret_cast<PlainVisit>(reinterpret_cast<void*>(visit_))(path_, &file, known);
        }
        FTW at = {base, level};
        return visit_(path_, &file, kind, &at);
    }

    int one(int base, int level, const Above* above) {
        struct stat file = {};
        const bool physical = (flags_ & FTW_PHYS) != 0;
        if ((physical ? lstat(path_, &file) : stat(path_, &file)) != 0) {
            if (!physical && lstat(path_, &file) == 0 && S_ISLNK(file.st_mode)) return call(file, FTW_SLN, base, level);
            return call(file, FTW_NS, base, level);
        }
        if ((flags_ & FTW_MOUNT) != 0 && S_ISDIR(file.st_mode) && file.st_dev != device_) return 0;
        if (S_ISLNK(file.st_mode)) return call(file, FTW_SL, base, level);
        if (!S_ISDIR(file.st_mode)) return call(file, FTW_F, base, level);
        for (const Above* up = above; up != nullptr; up = up->above)
            if (up->device == file.st_dev && up->inode == file.st_ino) return 0;
        const Above here = {file.st_dev, file.st_ino, above};
        return folder(file, base, level, here);
    }

    int folder(const struct stat& file, int base, int level, const Above& here) {
        DIR* const directory = opendir(path_);
        if (directory == nullptr) return errno == EACCES ? call(file, FTW_DNR, base, level) : -1;
        const bool depth = (flags_ & FTW_DEPTH) != 0, acts = (flags_ & FTW_ACTIONRETVAL) != 0;
        int result = depth ? 0 : call(file, FTW_D, base, level);
        if (acts && result == FTW_SKIP_SUBTREE) {
            closedir(directory);
            return 0;
        }
        const size_t before = length_;
        while (result == 0) {
            const dirent* const entry = readdir(directory);
            if (entry == nullptr) break;
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
            const size_t name = strlen(entry->d_name);
            if (before + name + 2 > sizeof path_) continue;
            if (path_[before - 1] != '/') path_[length_++] = '/';
            const int inner_base = static_cast<int>(length_);
            memcpy(path_ + length_, entry->d_name, name + 1);
            length_ += name;
            result = one(inner_base, level + 1, &here);
            length_ = before;
            path_[length_] = '\0';
            if (acts && result == FTW_SKIP_SUBTREE) result = 0;
        }
        closedir(directory);
        if (acts && result == FTW_SKIP_SIBLINGS) result = 0;
        return depth && result == 0 ? call(file, FTW_DP, base, level) : result;
    }

    Visit visit_;
    int flags_;
    bool plain_;
    dev_t device_ = 0;
    size_t length_ = 0;
    char path_[2 * PATH_MAX];
};

}  // namespace

int walk_files(const char* path, Visit visit, int flags, bool plain) { return FileWalk(visit, flags, plain).begin(path); }

}  // namespace tailrace::preload::walks
