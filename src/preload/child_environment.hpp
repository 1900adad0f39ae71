// The environment of programs that this process starts. If a program starts another one with its own environment, the tracer's
// variables are added to it, and the tracer's library before other preloaded ones, so that the child is recorded, too. A program
// for another machine or C library, whose loader would print an error, gets an environment without the library.
#pragma once

#include <stddef.h>

#include <cstdint>

namespace tailrace::preload {

enum class Search { none, in_path };  // whether a program name without a slash is searched in PATH

// Local; calls no allocating function, so that a child of vfork may use it.
class ChildEnvironment {
public:
    ChildEnvironment(const char* program, Search search, char* const* given);

    // Whether the given environment needs no change.
    bool is_unchanged() const { return is_unchanged_; }
    size_t entries() const { return count_ + kMore; }
    size_t preload_bytes() const { return preload_bytes_; }
    // Fills room for entries() pointers and preload_bytes() bytes.
    void fill(char** entries, char* preload) const;

private:
    static constexpr size_t kMore = 8;  // room for the library, the variables, and the null pointer at the end

    char* const* given_;
    size_t count_ = 0, preload_bytes_ = 0;
    bool takes_library_ = true, is_unchanged_ = true;
};

// Calls start(environment) with the environment to use, which is on the stack, and returns its result.
template <class Start>
auto with_child_environment(const char* program, Search search, char* const* given, Start start) {
    const ChildEnvironment environment(program, search, given);
    if (environment.is_unchanged()) return start(given);
    char* entries[environment.entries()];
    char preload[environment.preload_bytes()];
    environment.fill(entries, preload);
    return start(static_cast<char* const*>(entries));
}

}  // namespace tailrace::preload
