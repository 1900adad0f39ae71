// The Python functions that this thread is in, for CPython 3.9 to 3.14. They are read from the interpreter's memory, at the field
// offsets of each version. Python itself is never called, because hooks run without its global lock (GIL).
#pragma once

#include <cstdint>

#include "preload/loaded_object.hpp"

namespace tailrace::preload::python_frames {

// A code object: its function and its file.
class Code {
public:
    Code() = default;
    explicit Code(const char* object) : object_(object) {}
    // Both write a text and return its length in bytes; 0: the text is not ASCII, or too long.
    uint64_t file(char* to, uint64_t room) const;
    uint64_t function(char* to, uint64_t room) const;

private:
    const char* object_ = nullptr;
};

// The code objects of the functions, innermost first.
struct Codes {
    static constexpr unsigned kMost = 12;
    unsigned count = 0;
    uint64_t hash = 0;  // hash of all code objects; 0: there are none
    Code at[kMost];
};

// Finds out whether this process is a known version of CPython. Called where the loader's lock may be taken.
void prepare();

// Whether this process is a known version of CPython.
bool is_known();

Codes codes();

bool is_interpreter(const LoadedObject& object);

}  // namespace tailrace::preload::python_frames
