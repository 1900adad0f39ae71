// Replaces the paths of calls by the rules of `tailrace run --config`. A hook passes the physical path to the C library; the
// program and the log see the logical path. If something exists at the logical path itself (a file made without the rules, a
// directory, a link), it stays in use, so a name never gets a second file.
#pragma once

#include <errno.h>
#include <fcntl.h>

#include <atomic>
#include <type_traits>

#include "place/paths.hpp"
#include "preload/logical_folder.hpp"

namespace tailrace::preload::placing {

extern std::atomic<const void*> rules_memory;  // nullptr: nothing is placed

inline bool is_on() { return rules_memory.load(std::memory_order_relaxed) != nullptr; }
inline place::Rules rules() { return place::Rules(rules_memory.load(std::memory_order_relaxed)); }

constexpr uint64_t kRoom = 4096 + place::kTargetBytes + 2;

// Writes the absolute path of a folder, with links resolved; `folder` is relative to `directory`, and empty for the directory
// itself. Returns its length in bytes; 0: the folder does not exist, or the kernel reports no path. `to` has kRoom bytes.
uint32_t real_folder(int directory, const char* folder, uint32_t bytes, char* to);

// Writes the absolute path of a folder without double slashes and `.`; links are not resolved. Returns its length in bytes; 0: as
// for real_folder(), or the path has `..`.
uint32_t text_of_folder(int directory, const char* folder, uint32_t bytes, char* to);

// The physical path of one path of a call.
class PlacedPath {
public:
    PlacedPath() : directory_(AT_FDCWD) {}
    PlacedPath(int directory, const char* path) : directory_(directory) { lead(path); }
    void lead(const char* path);
    bool is_placed() const { return is_placed_; }
    const char* physical() const { return text_; }
    // Whether a file of any kind exists at the physical path.
    bool exists() const;
    // Makes the directories of the physical path. False: the logical folder does not exist, or the kernel refuses.
    bool make_folders() const;
    int directory() const { return directory_; }

private:
    int directory_;
    bool is_placed_ = false;
    uint32_t folder_ = 0, name_ = 0;  // length in bytes of the path before the target, and before the name
    char text_[kRoom];
};

bool exists_at(int directory, const char* path);

template <class Result>
bool is_absent(Result result) {
    if constexpr (std::is_pointer_v<Result>)
        return result == nullptr && (errno == ENOENT || errno == ENOTDIR);
    else
        return result < 0 && (errno == ENOENT || errno == ENOTDIR);
}

// Makes a call on a file that should exist. `path` is the variable that `call` uses; it has its old value when this returns.
template <class Call>
[[gnu::noinline]] auto placed_existing(int directory, const char*& path, Call call) -> decltype(call()) {
    const PlacedPath placed(directory, path);
    if (!placed.is_placed()) return call();
    const char* const logical = path;
    path = placed.physical();
    auto result = call();
    path = logical;
    if (!is_absent(result)) return result;
    const int code = errno;
    result = call();
    if (is_absent(result)) errno = code;
    return result;
}
// Makes a call that creates a regular file, or opens an existing one.
template <class Call>
[[gnu::noinline]] auto placed_created(int directory, const char*& path, Call call) -> decltype(call()) {
    const PlacedPath placed(directory, path);
    const char* const logical = path;
    if (!placed.is_placed() || (exists_at(directory, path) && !placed.exists())) return call();
    path = placed.physical();
    auto result = call();
    if (is_absent(result) && placed.make_folders()) result = call();
    path = logical;
    return result;
}
// Makes a call that creates a directory or a link. These are not placed: they are made at their own paths.
template <class Call>
[[gnu::noinline]] auto placed_unplaced(int directory, const char*& path, Call call) -> decltype(call()) {
    const PlacedPath placed(directory, path);
    if (!placed.is_placed() || !placed.exists()) return call();
    errno = EEXIST;
    if constexpr (std::is_pointer_v<decltype(call())>)
        return nullptr;
    else
        return -1;
}
// Moves a file that a call has just created under a name of its own choice (mkstemp) to its physical path.
void move_to_tree(const char* path);

// The kind of a file, such as S_IFREG; 0: the file does not exist.
unsigned kind_at(int directory, const char* path);
constexpr unsigned kRegular = 0100000, kFolder = 0040000;
void remove_at(int directory, const char* path);

// Makes a call that renames or links `from` to `to`. Only regular files are placed; others are made at their own paths.
template <class Call>
[[gnu::noinline]] int placed_two(int from_directory, const char*& from, int to_directory, const char*& to, Call call) {
    const PlacedPath placed_from(from_directory, from), placed_to(to_directory, to);
    const char *const logical_from = from, *const logical_to = to;
    if (placed_from.is_placed() && placed_from.exists()) from = placed_from.physical();
    const unsigned kind = kind_at(from_directory, from);
    const bool takes_place = placed_to.is_placed() && kind == kRegular;
    if (kind == kFolder && !logical_folder::flatten_before_rename(from_directory, from, to_directory, to)) return -1;
    int result = 0;
    if (takes_place && (placed_to.exists() || !exists_at(to_directory, to))) {
        to = placed_to.physical();
        result = call();
        if (is_absent(result) && placed_to.make_folders()) result = call();
    } else {
        result = call();
        if (result == 0 && placed_to.is_placed() && !takes_place) remove_at(to_directory, placed_to.physical());
    }
    from = logical_from;
    to = logical_to;
    return result;
}
// Changes a path to the one that the program should see: for a file in a tree its logical path, for a file on scratch the path at
// its target. Returns the length in bytes of the path, changed or not. The result is cut to `room` bytes.
uint64_t make_logical(char* path, uint64_t bytes, uint64_t room);

}  // namespace tailrace::preload::placing
