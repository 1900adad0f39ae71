// A call of a library that writes files through other libraries (HDF5, netCDF, PnetCDF). Only the outermost call is recorded.
#pragma once

#include "preload/callers.hpp"
#include "preload/hook.hpp"
#include "preload/layers.hpp"

namespace tailrace::preload {

// The fields of such a call's event.
struct LibraryCallInfo {
    uint64_t file = 0, object = 0;  // ids of the names of the file and of the dataset or variable
    uint64_t bytes = 0;             // size of the data in memory
};

// While an object of this class exists, this thread records nothing.
class RecordingPause {
public:
    RecordingPause() : before_(tailrace_silent) { tailrace_silent = 1; }
    RecordingPause(const RecordingPause&) = delete;
    RecordingPause& operator=(const RecordingPause&) = delete;
    ~RecordingPause() { tailrace_silent = before_; }

private:
    const char before_;
};

class LibraryCall {
public:
    LibraryCall(trace::Within layer, Call call, const void* return_address)
        : object_(site_of(return_address).object), traced_(call), layer_(layer) {}

    // Whether the call is recorded. Query the library for the fields of the event only if it is.
    bool is_recording() const { return traced_.is_recording() && layer_.is_outermost(); }
    // The program or library that makes the call, as the loader's link_map.
    const void* object() const { return object_; }

    // Returns the result unchanged; `error` is less than 0 where the call failed.
    Word finish(Word result, int64_t error, const LibraryCallInfo& info) {
        if (is_recording())
            traced_.record(error < 0 ? error : static_cast<int64_t>(info.bytes), {.bytes = info.bytes, .detail = info.object},
                           info.file);
        return result;
    }

private:
    const void* object_;
    Traced traced_;
    const Layer layer_;
};

}  // namespace tailrace::preload
