#include "preload/file_walk.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace tailrace::preload::walks {
namespace {

// Directories that were visited, as a table by their hashes. Where links are followed, each directory is visited once.
class Seen {
public:
    Seen() = default;
    Seen(const Seen&) = delete;
    ~Seen() { free(slots_); }

    // False: it was added before. Without memory for more, it is taken for a new one.
    bool add(const struct stat& folder) {
        if (2 * (count_ + 1) > room_ && !grow()) return true;
        const Key key = {folder.st_dev, folder.st_ino};
        Key* const slot = slot_of(slots_, room_, key);
        if (slot->inode != 0) return false;
        *slot = key;
        ++count_;
        return true;
    }

private:
    struct Key {
        dev_t device;
        ino_t inode;  // 0: the slot is empty
    };

    static Key* slot_of(Key* slots, size_t room, const Key& key) {
        size_t at = (key.inode * 0x9e3779b97f4a7c15u ^ key.device) & (room - 1);
        while (slots[at].inode != 0 && (slots[at].inode != key.inode || slots[at].device != key.device)) at = (at + 1) & (room - 1);
        return slots + at;
    }

    bool grow() {
        const size_t room = room_ == 0 ? 64 : 2 * room_;
        auto* const slots = static_cast<Key*>(calloc(room, sizeof(Key)));
        if (slots == nullptr) return false;
        for (size_t k = 0; k < room_; ++k)
            if (slots_[k].inode != 0) *slot_of(slots, room, slots_[k]) = slots_[k];
        free(slots_);
        slots_ = slots;
        room_ = room;
        return true;
    }

    Key* slots_ = nullptr;
    size_t count_ = 0, room_ = 0;  // room: a power of 2
};

using PlainVisit = int (*)(const char*, const struct stat*, int);

// Walks a tree. Its calls of opendir, readdir and stat reach the hooks of this library, which have these names.
class FileWalk {
public:
    FileWalk(Visit visit, int flags, bool plain) : visit_(visit), flags_(flags), plain_(plain) {}
    FileWalk(const FileWalk&) = delete;
    ~FileWalk() {
        const int code = errno;
        if (began_in_ >= 0) close(began_in_);
        if (top_in_ >= 0) close(top_in_);
        errno = code;
    }

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
        const int base = slash == nullptr || slash[1] == '\0' ? 0 : static_cast<int>(slash - path_) + 1;
        if (changes_folder() && !go_to_top(base)) return -1;
        const int result = one(base, 0, nullptr);
        if (changes_folder() && fchdir(began_in_) != 0) return -1;
        return (flags_ & FTW_ACTIONRETVAL) != 0 && (result == FTW_SKIP_SUBTREE || result == FTW_SKIP_SIBLINGS) ? 0 : result;
    }

private:
    // The directories above the current one, to detect loops of links.
    struct Above {
        dev_t device;
        ino_t inode;
        const Above* above;
        int folder = -1;  // its descriptor, once it is open
    };

    bool changes_folder() const { return (flags_ & FTW_CHDIR) != 0; }

    // The path of the current object for a call. With FTW_CHDIR the process is in its directory.
    const char* from_here(int base) const { return changes_folder() ? path_ + base : path_; }

    // With FTW_CHDIR: goes to the directory of the top.
    bool go_to_top(int base) {
        constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
        char folder[sizeof path_];
        const size_t bytes = base > 1 ? static_cast<size_t>(base) - 1 : static_cast<size_t>(base);
        memcpy(folder, path_, bytes);
        folder[bytes] = '\0';
        began_in_ = open(".", kFlags);
        top_in_ = base > 0 ? open(folder, kFlags) : dup(began_in_);
        return began_in_ >= 0 && top_in_ >= 0 && fchdir(top_in_) == 0;
    }

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
        const char* const path = from_here(base);
        if ((physical ? lstat(path, &file) : stat(path, &file)) != 0) {
            if (!physical && lstat(path, &file) == 0 && S_ISLNK(file.st_mode)) return call(file, FTW_SLN, base, level);
            return call(file, FTW_NS, base, level);
        }
        if ((flags_ & FTW_MOUNT) != 0 && S_ISDIR(file.st_mode) && file.st_dev != device_) return 0;
        if (S_ISLNK(file.st_mode)) return call(file, FTW_SL, base, level);
        if (!S_ISDIR(file.st_mode)) return call(file, FTW_F, base, level);
        for (const Above* up = above; up != nullptr; up = up->above)
            if (up->device == file.st_dev && up->inode == file.st_ino) return 0;
        if (!physical && !seen_.add(file)) return 0;
        Above here = {file.st_dev, file.st_ino, above};
        return folder(file, base, level, here);
    }

    int folder(const struct stat& file, int base, int level, Above& here) {
        DIR* const directory = opendir(from_here(base));
        if (directory == nullptr) return errno == EACCES ? call(file, FTW_DNR, base, level) : -1;
        const bool depth = (flags_ & FTW_DEPTH) != 0, acts = (flags_ & FTW_ACTIONRETVAL) != 0;
        int result = depth ? 0 : call(file, FTW_D, base, level);
        if (acts && result == FTW_SKIP_SUBTREE) {
            closedir(directory);
            return 0;
        }
        const size_t before = length_;
        here.folder = dirfd(directory);
        if (result == 0 && changes_folder() && fchdir(here.folder) != 0) result = -1;
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
        if (depth && result == 0) result = call(file, FTW_DP, base, level);  // still in the directory, as in the C library
        if (changes_folder() && fchdir(here.above != nullptr ? here.above->folder : top_in_) != 0) return -1;
        return result;
    }

    Visit visit_;
    int flags_;
    bool plain_;
    dev_t device_ = 0;
    Seen seen_;
    int began_in_ = -1, top_in_ = -1;  // with FTW_CHDIR: the working directory, and the directory of the top
    size_t length_ = 0;
    char path_[2 * PATH_MAX];
};

}  // namespace

int walk_files(const char* path, Visit visit, int flags, bool plain) { return FileWalk(visit, flags, plain).begin(path); }

}  // namespace tailrace::preload::walks
