// Functions of libraries that a process may have twice (the HDF5 of h5py and that of netCDF4), or that only the caller sees (a
// library that an extension module has brought): the next definition is the one that the calling object would have got.
#pragma once

#include <atomic>
#include <cstdint>

namespace tailrace::preload {

using Word = intptr_t;  // any argument that travels in a general register: numbers, pointers, handles of either MPI

// From where a library was called.
struct Site {
    const void* object;  // the loader's map of it
    uint64_t name;       // id of "OBJECT+0xOFFSET" in the log
};
// The answer is kept for each address. Takes the loader's lock the first time. A library may jump from the function that we have
// called to another one, which then seems to be called by us: it is the library that calls.
Site site_of(const void* return_address);

// What one symbol is to the objects that call it.
struct NextOfCallers {
    static constexpr unsigned kMost = 8;
    std::atomic<const void*> objects[kMost];
    std::atomic<void*> functions[kMost];
};
// nullptr where the caller's libraries do not have it.
void* next_of_caller(NextOfCallers& known, const char* symbol, const void* object);

// A call of a library, whatever its arguments are. One that has fewer takes no notice of the rest; none has more: the longest is
// Fortran's MPI_Ialltoallw.
struct Words {
    Word at[11];
};
using LibraryFunction = Word (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);
constexpr Word kNoFunction = -1;  // fails in each of these libraries

Word call_words(void* function, const Words& words);

using FindFunction = void* (*)(const void* object);

inline Word as_word(const void* pointer) { return reinterpret_cast<Word>(pointer); }
inline int as_int(Word word) { return static_cast<int>(word); }  // of an `int`, the upper half is not defined

}  // namespace tailrace::preload

// Finds the function of the library that an object calls.
#define LIBRARY_FUNCTION(symbol)                                                  \
    [](const void* calling) -> void* {                                            \
        static constinit ::tailrace::preload::NextOfCallers of_callers = {};      \
        return ::tailrace::preload::next_of_caller(of_callers, #symbol, calling); \
    }

// A hook that is given `how`, the words, how the next definition is found, and from where it was called.
#define LIBRARY_HOOK(symbol, how, ...)                                                                             \
    HOOK(Word, symbol, (Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, Word k)) { \
        return how(Words{{a, b, c, d, e, f, g, h, i, j, k}}, LIBRARY_FUNCTION(symbol),                             \
                   __builtin_return_address(0) __VA_OPT__(, ) __VA_ARGS__);                                        \
    }
