// Hooks of library functions: the next definition is the one that the calling object would get without the tracer. A process may
// have a library twice, such as the HDF5 of h5py and that of netCDF4. A library of an extension module is visible to that module
// only.
#pragma once

#include <atomic>
#include <cstdint>

namespace tailrace::preload {

using Word = intptr_t;  // any argument that travels in a general register: numbers, pointers, handles of either MPI

// The place from which a library function is called.
struct Site {
    const void* object;  // the program or library that calls, as the loader's link_map
    uint64_t name;       // id of "OBJECT+0xOFFSET" in the log
};
// The site of a return address. Results are cached; the first look-up of an address takes the loader's lock. A return address in
// the tracer means that a library function, called by the tracer, has jumped to another hooked function: then the site is that
// library's.
Site site_of(const void* return_address);

// A cache of the definitions of one symbol, for each object that calls it.
struct NextOfCallers {
    static constexpr unsigned kMost = 8;
    std::atomic<const void*> objects[kMost];
    std::atomic<void*> functions[kMost];
};
// The definition of `symbol` that the calling `object` would get without the tracer; nullptr if its libraries do not have the
// symbol.
void* next_of_caller(NextOfCallers& known, const char* symbol, const void* object);

// The arguments of any library call, as register words. A function with fewer arguments ignores the rest. None has more: the
// longest is Fortran's MPI_Ialltoallw.
struct Words {
    Word at[11];
};
using LibraryFunction = Word (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);
constexpr Word kNoFunction = -1;  // the result if there is no function; all these libraries use it as an error

Word call_words(void* function, const Words& words);

using FindFunction = void* (*)(const void* object);

inline Word as_word(const void* pointer) { return reinterpret_cast<Word>(pointer); }
inline int as_int(Word word) { return static_cast<int>(word); }  // the upper half of a word with an `int` is undefined

}  // namespace tailrace::preload

// A function that returns the definition of `symbol` for a calling object.
#define LIBRARY_FUNCTION(symbol)                                                  \
    [](const void* calling) -> void* {                                            \
        static constinit ::tailrace::preload::NextOfCallers of_callers = {};      \
        return ::tailrace::preload::next_of_caller(of_callers, #symbol, calling); \
    }

// A hook that calls `how` with the arguments, the function that finds the next definition, and the return address.
#define LIBRARY_HOOK(symbol, how, ...)                                                                             \
    HOOK(Word, symbol, (Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, Word k)) { \
        return how(Words{{a, b, c, d, e, f, g, h, i, j, k}}, LIBRARY_FUNCTION(symbol),                             \
                   __builtin_return_address(0) __VA_OPT__(, ) __VA_ARGS__);                                        \
    }
