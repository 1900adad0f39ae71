// Files below the folder of [stage] of `tailrace run --config`. Each file is either on scratch or at its target; this is decided
// when the file is created. The program sees one folder: a file on scratch hides a file of the same name at the target. Folders are
// made at the target; a folder on scratch is made when a file needs it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>

#include "place/scratch_counts.hpp"
#include "place/stage.hpp"

namespace tailrace::preload::staging {

extern std::atomic<bool> has_scratch;

inline bool is_on() { return has_scratch.load(std::memory_order_relaxed); }

// The flags of open() with which a call opens a file.
struct Opening {
    int flags = O_RDONLY;

    bool creates() const { return (flags & O_CREAT) != 0; }
    bool truncates() const { return (flags & O_TRUNC) != 0 && (flags & O_ACCMODE) != O_RDONLY; }
    bool is_exclusive() const { return creates() && (flags & O_EXCL) != 0; }
    bool writes() const { return (flags & O_ACCMODE) != O_RDONLY; }
    bool follows() const { return (flags & O_NOFOLLOW) == 0; }
};
// The flags that a mode of fopen() means.
Opening opening_of(const char* mode);

// Called once, with the rules of this process. `path`: path of the rules file.
void begin(const place::Rules& rules, const char* path);
// Forgets cached real paths of folders, because links may have changed.
void forget_folders();

// While it exists, no drain gives a file on scratch its name at the target. Where `is_wanted` is false, and where files are not
// delivered while the program runs, it does nothing. It must not exist while another node or the drain is asked for something.
class ChangingNames {
public:
    explicit ChangingNames(bool is_wanted = true);
    ChangingNames(const ChangingNames&) = delete;
    ~ChangingNames() { end(); }
    void end();

private:
    place::NamesLock* lock_ = nullptr;
};

constexpr uint64_t kStagedRoom = 4096 + 256;

enum class Choice : uint8_t { target, scratch, link };

// The path on scratch of one path of a call. `directory` and `path` must outlive the object.
class StagedPath {
public:
    StagedPath(int directory, const char* path) : directory_(directory), path_(path) { lead(); }

    bool is_inside() const { return below_ != 0; }
    // What exists on scratch at this path: is_file() anything but a folder, is_folder() a folder; neither: nothing exists.
    bool is_file() const { return kind_ != 0 && kind_ != kFolderKind; }
    bool is_folder() const { return kind_ == kFolderKind; }
    const char* scratch() const { return text_; }

    // Decides where a call opens or creates the file. Choice::scratch: its folders may not exist on scratch yet. A new file on
    // scratch that hides a file at the target gets the same mode.
    Choice choose(const Opening& opening);
    // Undoes choose() after the call failed on scratch and created nothing. `is_full`: there was no space.
    void take_back(bool is_full) const;
    // Makes the folders of the file on scratch. False: they do not exist at the target.
    bool make_folders() const;
    // Asks for the file, which is neither on this node's scratch nor at the target: another node that has it delivers it, or it is
    // taken out of a bundle. False: nothing was asked.
    bool ask_for_file() const;
    // Takes the file out of its bundle if it is there alone.
    void take_out_of_bundle() const;
    // The file is about to be removed or renamed: it is in no bundle any more.
    void leave_bundle() const;
    // Takes all files below this folder out of their bundles.
    void take_folder_out() const;
    // Has a folder of this path renamed on the scratch of other nodes, or (`is_back`) renamed back. False: some node has not done
    // so.
    bool move_elsewhere(const StagedPath& to, bool is_back) const;
    // Whether this is the path of a folder, or below it.
    bool is_within(const StagedPath& folder) const;
    // After a file on scratch was renamed: if the target has an older file of the name that stays there, delivers the new one,
    // because others would read the old one.
    void deliver_over_target() const;

private:
    static constexpr unsigned kFolderKind = 0040000;

    void lead();
    bool has_pattern() const;
    bool is_given() const;
    // Whether a new file of this name is written at the target, where an older one is. Other nodes read it there. In a bundle the
    // new one would be beside an older one that everybody reads.
    bool stays_at_target() const;
    void read_folder_again() const;
    Choice choose_new();
    bool is_hideable(const struct stat& file) const;

    const int directory_;
    const char* const path_;
    uint32_t below_ = 0, bytes_ = 0;  // in text_: the index where the path below the base begins, and where it ends
    unsigned kind_ = 0;
    bool has_made_ = false;
    bool names_folder_ = false;  // whether the path ends in a slash
    char text_[kStagedRoom];
};

constexpr uint32_t kMostLinks = 16;
// Writes the target of a symbolic link, as a path relative to the same directory. False: `path` is not a link. `to` has kStagedRoom
// bytes.
bool read_link(int directory, const char* path, char* to);
bool exists_at(int directory, const char* path);
// Whether the folder in which a name is exists at the target.
bool has_folder(int directory, const char* path);
int64_t remove_at(int directory, const char* path, int flags);

// Writes the path of the folder on scratch that belongs to a folder; `folder` is its real path. False: there is none.
bool scratch_of_folder(const char* folder, uint32_t bytes, char* to);

// Whether an entry of a folder has unfinished files of a drain or of an extraction, and is not a file of the program.
bool is_of_drain(const char* folder, uint32_t bytes, const char* name);

// Writes the path on scratch of a file that a call opens. False: the file is at the target.
bool find(const char* path, const Opening& opening, char* to);
// The real path at the target of a file on scratch. Written to `to`; if `to` is a null pointer, to memory from malloc. Returns
// nullptr if the file is not on scratch.
char* real_path(const char* path, char* to);
// Writes the path at the target of a path on scratch, cut to `room` bytes. Returns its length in bytes; 0: the path is not on
// scratch.
uint64_t target_of(const char* path, uint64_t bytes, char* to, uint64_t room);

}  // namespace tailrace::preload::staging
