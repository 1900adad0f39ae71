// Files below the folder of `[stage]`, as the rules of `tailrace run --config` stage them. A file is made on scratch or at its
// target; which of both is decided when it is made. The program sees one folder: a file on scratch hides one of its name at the
// target. Folders are at the target; those on scratch only hold files, and are made when a file needs them.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>

#include "place/stage.hpp"

namespace tailrace::preload::staging {

extern std::atomic<bool> has_scratch;

inline bool is_on() { return has_scratch.load(std::memory_order_relaxed); }

// What a call that opens a file does with it: the flags of open().
struct Opening {
    int flags = O_RDONLY;

    bool creates() const { return (flags & O_CREAT) != 0; }
    bool truncates() const { return (flags & O_TRUNC) != 0 && (flags & O_ACCMODE) != O_RDONLY; }
    bool is_exclusive() const { return creates() && (flags & O_EXCL) != 0; }
    bool follows() const { return (flags & O_NOFOLLOW) == 0; }
};
// Those of a mode of fopen().
Opening opening_of(const char* mode);

// To be called once, with the rules of this process. `path`: of the rules file.
void begin(const place::Rules& rules, const char* path);
// The links of folders may have changed.
void forget_folders();

constexpr uint64_t kStagedRoom = 4096 + 256;

enum class Choice : uint8_t { target, scratch, link };

// Where one path of a call leads. `directory` and `path` must outlive it.
class StagedPath {
public:
    StagedPath(int directory, const char* path) : directory_(directory), path_(path) { lead(); }

    bool is_inside() const { return below_ != 0; }
    // What is on scratch: nothing, a folder, or something else.
    bool is_file() const { return kind_ != 0 && kind_ != kFolderKind; }
    bool is_folder() const { return kind_ == kFolderKind; }
    const char* scratch() const { return text_; }

    // Decides for a call that opens it. Scratch: its folders may not exist there yet. A file of the target that it hides from now
    // on has the same mode there.
    Choice choose(const Opening& opening);
    // The call failed there, and made nothing; `is_full`: there was no space.
    void take_back(bool is_full) const;
    // Makes the folders of the file on scratch. False where they do not exist at the target.
    bool make_folders() const;

private:
    static constexpr unsigned kFolderKind = 0040000;

    void lead();
    bool has_pattern() const;
    Choice choose_new();
    bool is_hideable(const struct stat& file) const;

    const int directory_;
    const char* const path_;
    uint32_t below_ = 0, bytes_ = 0;  // where the path below the base begins in the text, and where it ends
    unsigned kind_ = 0;
    bool has_made_ = false;
    bool names_folder_ = false;  // by a slash at its end
    char text_[kStagedRoom];
};

constexpr uint32_t kMostLinks = 16;
// The path that a symbolic link says, relative to the same directory. False: it is none. `to` has kStagedRoom bytes.
bool read_link(int directory, const char* path, char* to);
bool exists_at(int directory, const char* path);
int64_t remove_at(int directory, const char* path, int flags);

// The folder on scratch of a folder; `folder` is its real path. False: there is none.
bool scratch_of_folder(const char* folder, uint32_t bytes, char* to);

// Whether an entry of a folder is that of a drain which copies while the program runs: no file of the program.
bool is_of_drain(const char* folder, uint32_t bytes, const char* name);

// The path on scratch of a file that a call opens; false: it is at the target.
bool find(const char* path, const Opening& opening, char* to);
// The real path of a file on scratch, as its target has it: in `to`, or, where that is a null pointer, in memory that free() takes.
// nullptr: it is not on scratch.
char* real_path(const char* path, char* to);
// The path at the target of one on scratch, cut where there is no room. Returns its bytes; 0: it is not on scratch.
uint64_t target_of(const char* path, uint64_t bytes, char* to, uint64_t room);

}  // namespace tailrace::preload::staging
