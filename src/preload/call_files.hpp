// One function for each kind of file call of the program. Each sets `path` to the path that the rules give, runs `call`, which
// uses `path`, and restores `path`. Rules of [place] are applied by placing.hpp, those of [stage] by staged_calls.hpp.
#pragma once

#include "preload/placing.hpp"
#include "preload/staged_calls.hpp"

namespace tailrace::preload::placing {

// Makes a call on a file that should exist. `changes`: the call changes the file, or opens it for writing.
template <class Call>
auto existing(int directory, const char*& path, Call call, bool changes = false) {
    if (staging::is_on()) return staging::existing(directory, path, call, changes);
    return is_on() ? placed_existing(directory, path, call) : call();
}

// Makes a call that opens a file, and may create it.
template <class Call>
auto opened_file(const staging::Opening& opening, int directory, const char*& path, Call call) {
    if (!is_on()) return call();
    if (staging::is_on() && (opening.creates() || opening.truncates())) return staging::opened_file(opening, directory, path, call);
    return opening.creates() ? placed_created(directory, path, call) : existing(directory, path, call, opening.writes());
}

// Makes a call that creates a directory or a link. These are not placed: they are made at their own paths.
template <class Call>
auto unplaced(int directory, const char*& path, Call call) {
    if (staging::is_on()) return staging::unplaced(directory, path, call);
    return is_on() ? placed_unplaced(directory, path, call) : call();
}

// Makes a call that changes attributes of a file or folder.
template <class Call>
auto attributed(int directory, const char*& path, Call call) {
    return staging::is_on() ? staging::attributed(directory, path, call) : existing(directory, path, call);
}

// Makes a call that removes a file (`takes_files`) or a folder (`takes_folders`).
template <class Call>
auto removed(int directory, const char*& path, bool takes_files, bool takes_folders, Call call) {
    if (staging::is_on()) return staging::removed(directory, path, takes_files, takes_folders, call);
    return existing(directory, path, call);
}

// Makes a call with two paths: a rename, or a link (`is_link`).
template <class Call>
auto two(bool is_link, unsigned flags, int from_directory, const char*& from, int to_directory, const char*& to, Call call) {
    if (staging::is_on()) return staging::two(is_link, flags, from_directory, from, to_directory, to, call);
    return is_on() ? placed_two(from_directory, from, to_directory, to, call) : call();
}

// Makes a call that creates a file under a name of its own choice, which it writes to `name` (mkstemp). Returns a file descriptor.
template <class Call>
int temporary(char*& name, Call call) {
    int descriptor = -1;
    if (staging::is_on() && reinterpret_cast<uint64_t>(name) >= 4096 && staging::temporary(name, call, descriptor))
        return descriptor;
    descriptor = call();
    if (descriptor >= 0 && is_on()) move_to_tree(name);
    return descriptor;
}

// The path for a call that can be made only once: the physical path if that file exists or is to be created, else the logical
// path.
class ChosenPath {
public:
    explicit ChosenPath(const char* path, const staging::Opening& opening = {}) : path_(path) {
        if (is_on() && path != nullptr) choose(opening);
    }
    const char* path() const { return path_; }

private:
    void choose(const staging::Opening& opening);

    const char* path_;
    char text_[kRoom];
};

}  // namespace tailrace::preload::placing
