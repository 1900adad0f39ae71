// Makes calls with paths if files are staged. A file on scratch is used first. If there is none, the call is made as without
// staging: with the path that a rule of [place] gives, or unchanged.
#pragma once

#include <string.h>

#include "preload/placing.hpp"
#include "preload/staged_elsewhere.hpp"
#include "preload/staging.hpp"
#include "trace/raw.hpp"

namespace tailrace::preload::staging {

// The result of a call that fails without being made: sets errno to `code`.
template <class Result>
Result failed(int code) {
    errno = code;
    if constexpr (std::is_pointer_v<Result>)
        return nullptr;
    else
        return Result(-1);
}

// The number of links of a path that was asked for already.
constexpr uint32_t kHasAsked = kMostLinks + 1;

// Makes a call on a file that should exist. A link below the base may lead to a file on scratch, where the kernel does not find it.
// A file that this node does not have may be on another node, or in a bundle. `changes`: the call changes the file, or opens it for
// writing.
template <class Call>
[[gnu::noinline]] auto existing(int directory, const char*& path, Call call, bool changes = false, uint32_t links = 0)
    -> decltype(call()) {
    const char* const logical = path;
    int first_code = 0;
    bool is_inside = false;
    {
        const ChangingNames changing(changes);
        const StagedPath staged(directory, path);
        is_inside = staged.is_inside();
        if (staged.is_file()) {
            path = staged.scratch();
            auto result = call();
            path = logical;
            if (!placing::is_absent(result)) return result;
            first_code = errno;  // the file was delivered meanwhile, or is not a folder as the call needs
        }
    }
    auto result = placing::placed_existing(directory, path, call);
    if (!is_inside || !placing::is_absent(result)) return result;
    const int code = first_code != 0 ? first_code : errno;
    char next[kStagedRoom];
    if (links < kMostLinks && read_link(directory, path, next)) {
        path = next;
        result = existing(directory, path, call, changes, links + 1);
        path = logical;
        if (!placing::is_absent(result)) return result;
    } else if (links <= kMostLinks && has_asked_for(directory, path)) {
        return existing(directory, path, call, changes, kHasAsked);
    }
    errno = code;
    return result;
}

template <class Result>
bool has_failed(Result result) {
    if constexpr (std::is_pointer_v<Result>)
        return result == nullptr;
    else
        return result < 0;
}

// Makes a call that opens a file, and may create it.
template <class Call>
[[gnu::noinline]] auto opened_file(const Opening& opening, int directory, const char*& path, Call call, uint32_t links = 0)
    -> decltype(call()) {
    const char* const logical = path;
    take_out_of_bundle(directory, path);
    ChangingNames changing;
    StagedPath staged(directory, path);
    const Choice choice = staged.choose(opening);
    char next[kStagedRoom];
    if (choice != Choice::scratch) changing.end();
    if (choice == Choice::link && links < kMostLinks && read_link(directory, path, next)) {
        path = next;
        auto result = opened_file(opening, directory, path, call, links + 1);
        path = logical;
        return result;
    }
    if (choice == Choice::scratch) {
        path = staged.scratch();
        auto result = call();
        if (placing::is_absent(result) && opening.creates() && staged.make_folders()) result = call();
        path = logical;
        if (!has_failed(result)) return result;
        const bool is_full = (errno == ENOSPC || errno == EDQUOT) && !staged.is_file();
        staged.take_back(is_full);
        if (!is_full && !placing::is_absent(result)) return result;
        changing.end();
    }
    return opening.creates() ? placing::placed_created(directory, path, call) : placing::placed_existing(directory, path, call);
}

// Makes a call that creates a directory or a link.
template <class Call>
[[gnu::noinline]] auto unplaced(int directory, const char*& path, Call call) -> decltype(call()) {
    take_out_of_bundle(directory, path);
    {
        const StagedPath staged(directory, path);
        if (staged.is_file()) return failed<decltype(call())>(EEXIST);
    }
    return placing::placed_unplaced(directory, path, call);
}

// Makes a call that removes a file (`takes_files`) or a folder (`takes_folders`). If a file on scratch hides a file of the same
// name at the target, the file at the target is removed first; otherwise it would become visible again.
template <class Call>
[[gnu::noinline]] int removed(int directory, const char*& path, bool takes_files, bool takes_folders, Call call) {
    const char* const logical = path;
    if (takes_files) leave_bundle(directory, path);
    if (takes_folders && has_names_elsewhere(directory, path)) return failed<int>(ENOTEMPTY);
    {
        const ChangingNames changing;
        const StagedPath staged(directory, path);
        if (staged.is_file()) {
            const int64_t hidden = takes_files ? remove_at(directory, path, 0) : 0;
            if (hidden != 0 && hidden != -ENOENT) return failed<int>(static_cast<int>(-hidden));
            path = staged.scratch();
            const int result = call();
            path = logical;
            return result;
        }
        if (staged.is_folder() && takes_folders) {
            const int64_t folder = remove_at(AT_FDCWD, staged.scratch(), AT_REMOVEDIR);
            if (folder == -ENOTEMPTY || folder == -EEXIST) return failed<int>(ENOTEMPTY);
        }
    }
    int result = placing::placed_existing(directory, path, call);
    const bool is_again = placing::is_absent(result) && takes_files && has_asked_for(directory, path);
    if (is_again) result = placing::placed_existing(directory, path, call);
    return result;
}

// Makes a call that changes attributes. The attributes of a folder are changed on scratch, too, because new files and the delivery
// depend on them.
template <class Call>
[[gnu::noinline]] int attributed(int directory, const char*& path, Call call) {
    const int result = existing(directory, path, call, true);
    if (result != 0) return result;
    const char* const logical = path;
    const StagedPath staged(directory, path);
    if (!staged.is_folder()) return result;
    path = staged.scratch();
    const int code = errno;
    call();
    errno = code;
    path = logical;
    return result;
}

struct TwoPaths {
    int from_directory;
    const char* from;
    int to_directory;
    const char* to;
};

// What a rename or a link does besides the call itself.
enum class Step : uint8_t {
    refuse,      // the call fails, with errno
    at_target,   // the call is made with unchanged paths
    on_scratch,  // the call is made with both paths on scratch
    replace,     // the call is made with unchanged paths, then the file on scratch with the new name is removed
    move_folder  // the call is made with unchanged paths, then the folder is renamed on scratch, too
};
Step step_of_rename(const TwoPaths& paths, const StagedPath& from, const StagedPath& to, unsigned flags);
Step step_of_link(const TwoPaths& paths, const StagedPath& from, const StagedPath& to);
// Renames the folder on scratch, after the call has renamed it at the target. False: it could not be renamed.
bool move_folder(const StagedPath& from, const StagedPath& to);

template <class Call>
[[gnu::noinline]] int two_of_this_node(bool is_link, unsigned flags, int from_directory, const char*& from, int to_directory,
                                       const char*& to, Call call) {
    ChangingNames changing;
    const StagedPath staged_from(from_directory, from), staged_to(to_directory, to);
    const TwoPaths paths = {from_directory, from, to_directory, to};
    switch (is_link ? step_of_link(paths, staged_from, staged_to) : step_of_rename(paths, staged_from, staged_to, flags)) {
        case Step::refuse: return -1;
        case Step::on_scratch: {
            from = staged_from.scratch();
            to = staged_to.scratch();
            int result = call();
            if (placing::is_absent(result) && staged_to.make_folders()) result = call();
            from = paths.from;
            to = paths.to;
            changing.end();
            if (result == 0 && !is_link) staged_to.deliver_over_target();
            return result;
        }
        case Step::replace: {
            const int result = placing::placed_two(from_directory, from, to_directory, to, call);
            if (result == 0) remove_at(AT_FDCWD, staged_to.scratch(), 0);
            return result;
        }
        case Step::move_folder: {
            const int result = placing::placed_two(from_directory, from, to_directory, to, call);
            if (result != 0) return result;
            forget_folders();
            if (move_folder(staged_from, staged_to)) return 0;
            const int code = errno;
            from = paths.to;  // what is on scratch must keep its folder
            to = paths.from;
            placing::placed_two(to_directory, from, from_directory, to, call);
            from = paths.from;
            to = paths.to;
            return failed<int>(code);
        }
        case Step::at_target: break;
    }
    return placing::placed_two(from_directory, from, to_directory, to, call);
}

// Renames a folder here and on the other nodes.
template <class Call>
[[gnu::noinline]] int rename_folder(unsigned flags, int from_directory, const char*& from, int to_directory, const char*& to,
                                    Call call) {
    const FolderElsewhere elsewhere(from_directory, from, to_directory, to, flags);
    if (elsewhere.refusal() != 0) return failed<int>(elsewhere.refusal());
    const int result = two_of_this_node(false, flags, from_directory, from, to_directory, to, call);
    if (result != 0) elsewhere.undo(from_directory, from, to_directory, to);
    return result;
}

// Makes a call with two paths, a rename or a link. Another node or a bundle may have the first file, a bundle the second.
template <class Call>
int two(bool is_link, unsigned flags, int from_directory, const char*& from, int to_directory, const char*& to, Call call) {
    take_out_of_bundle(to_directory, to);
    if (!is_link) {
        leave_bundle(from_directory, from);
        take_folder_out(from_directory, from);
        take_folder_out(to_directory, to);
        if (renames_folder(from_directory, from)) return rename_folder(flags, from_directory, from, to_directory, to, call);
    }
    const int result = two_of_this_node(is_link, flags, from_directory, from, to_directory, to, call);
    const bool is_again = placing::is_absent(result) && !exists_at(from_directory, from) && has_asked_for(from_directory, from);
    return is_again ? two_of_this_node(is_link, flags, from_directory, from, to_directory, to, call) : result;
}

// Makes a call that creates a file under a name of its own choice, which it writes to `name`. False: the file must be created at
// the target.
template <class Call>
[[gnu::noinline]] bool temporary(char*& name, Call call, int& descriptor) {
    constexpr int kMostTimes = 100;
    char* const logical = name;
    for (int times = 0; times < kMostTimes; ++times) {
        char text[kStagedRoom];
        const ChangingNames changing;
        StagedPath staged(AT_FDCWD, logical);
        if (staged.is_file() || staged.choose({O_WRONLY | O_CREAT | O_EXCL}) != Choice::scratch) return false;
        const size_t bytes = strlen(staged.scratch());
        memcpy(text, staged.scratch(), bytes + 1);
        name = text;
        descriptor = call();
        if (placing::is_absent(descriptor) && staged.make_folders()) descriptor = call();
        name = logical;
        if (descriptor < 0) return errno != ENOSPC && errno != EDQUOT && errno != ENOENT;
        const char* const slash = strrchr(logical, '/');
        char* const last = logical + (slash == nullptr ? 0 : slash - logical + 1);
        const size_t last_bytes = strlen(last);
        char before[place::kNameBytes + 1];
        memcpy(before, last, last_bytes + 1);
        memcpy(last, text + bytes - last_bytes, last_bytes);
        if (!exists_at(AT_FDCWD, logical)) return true;
        memcpy(last, before, last_bytes);
        remove_at(AT_FDCWD, text, 0);
        trace::raw::call(SYS_close, descriptor);
    }
    return false;
}

}  // namespace tailrace::preload::staging
