// The functions of CPython 3.9 to 3.14 that this thread is in. They are read from the interpreter's memory, at the offsets of each
// version. Python itself is never called: hooks run without its lock.
#pragma once

#include <cstdint>

#include "preload/loaded_object.hpp"

namespace tailrace::preload::python_frames {

// A code object: its function and its file.
class Code {
public:
    Code() = default;
    explicit Code(const char* object) : object_(object) {}
    // Write the text and return its bytes; 0 where it is not ASCII, or too long.
    uint64_t file(char* to, uint64_t room) const;
    uint64_t function(char* to, uint64_t room) const;

private:
    const char* object_ = nullptr;
};

// Innermost first.
struct Codes {
    static constexpr unsigned kMost = 12;
    unsigned count = 0;
    uint64_t hash = 0;  // of all; 0: none
    Code at[kMost];
};

// Finds out whether this process is a known version of CPython. Called where the loader's lock may be taken.
void prepare();

// Whether this process is a known version of CPython.
bool is_known();

Codes codes();

bool is_interpreter(const LoadedObject& object);

}  // namespace tailrace::preload::python_frames
