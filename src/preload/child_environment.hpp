// The environment of programs that this process starts. Many programs start others with an environment of their own; these are
// recorded, too: the tracer's variables stay in it, and its library before others that are preloaded. A program of another machine
// or C library, whose loader would complain, gets an environment without the library.
#pragma once

#include <stddef.h>

#include <cstdint>

namespace tailrace::preload {

enum class Search { none, in_path };  // of a name without a slash

// Local; calls no allocating function, so that a child of vfork may use it.
class ChildEnvironment {
public:
    ChildEnvironment(const char* program, Search search, char* const* given);

    // Whether the program can be started with the environment as it is given.
    bool is_unchanged() const { return is_unchanged_; }
    size_t entries() const { return count_ + kMore; }
    size_t preload_bytes() const { return preload_bytes_; }
    // Fills room for entries() pointers and preload_bytes() bytes.
    void fill(char** entries, char* preload) const;

private:
    static constexpr size_t kMore = 8;  // the library, the variables, and the end

    char* const* given_;
    size_t count_ = 0, preload_bytes_ = 0;
    bool takes_library_ = true, is_unchanged_ = true;
};

// Returns start(environment), which gets the environment to use. Its room is on the stack.
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
