// One call of a library that files are written through (HDF5, netCDF, PnetCDF), while it runs. Only the outermost is recorded.
#pragma once

#include "preload/callers.hpp"
#include "preload/hook.hpp"
#include "preload/layers.hpp"

namespace tailrace::preload {

// What an event says of such a call.
struct LibraryAbout {
    uint64_t file = 0, object = 0;  // names: of the file, of the dataset or variable in it
    uint64_t bytes = 0;             // in memory
};

// While this thread records nothing.
class Silence {
public:
    Silence() : before_(tailrace_silent) { tailrace_silent = 1; }
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;
    ~Silence() { tailrace_silent = before_; }

private:
    const char before_;
};

class LibraryCall {
public:
    LibraryCall(trace::Within layer, Call call, const void* return_address)
        : object_(site_of(return_address).object), traced_(call), layer_(layer) {}

    // Whether it is recorded, so that it is worth finding out what an event should say.
    bool on() const { return traced_.on() && layer_.first(); }
    // That calls the library.
    const void* object() const { return object_; }

    // Hands the answer on; `error` is less than 0 where the call failed.
    Word done(Word answer, int64_t error, const LibraryAbout& about) {
        if (on())
            traced_.note(error < 0 ? error : static_cast<int64_t>(about.bytes), {.bytes = about.bytes, .detail = about.object},
                         about.file);
        return answer;
    }

private:
    const void* object_;
    Traced traced_;
    const Layer layer_;
};

}  // namespace tailrace::preload
