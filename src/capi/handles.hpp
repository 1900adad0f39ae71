// The structs behind the opaque handles of tailrace.h.
#pragma once

#include <tailrace/tailrace.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capi/guard.hpp"
#include "stream/output.hpp"
#include "view/reader.hpp"
#include "view/scattered_reader.hpp"

struct tailrace_definitions {
    const tailrace::Definitions* definitions;
    bool of_reader;  // true: the definitions are a reader's, and ragged dimensions have the lengths of the selected step
    tailrace::Caller caller;
};

// Either `output` or `open_error` is set. tailrace_open fails with the same error on all ranks, so each rank can return it from
// every later call without waiting for the others.
struct tailrace_stream {
    tailrace_stream(std::unique_ptr<tailrace::Output> opened, MPI_Comm comm);
    explicit tailrace_stream(tailrace::Error error);
    ~tailrace_stream();
    tailrace_stream(const tailrace_stream&) = delete;

    // The only handle of this process; nullptr if there are none or several. Handles of failed openings count, too.
    static tailrace_stream* only();
    static std::vector<tailrace_stream*> all();

    std::unique_ptr<tailrace::Output> output;
    std::optional<tailrace::Error> open_error;
    tailrace::Caller caller;
    tailrace_definitions definitions{};
    std::string report;
};

struct tailrace_reader {
    tailrace::Reader reader;
    tailrace::ScatteredReader scattered{reader};
    tailrace_definitions definitions{};
    tailrace::Caller caller;
    std::string description;
};

namespace tailrace {

Caller caller_of(MPI_Comm comm);

// The stream or reader of a handle; every call with a handle begins with output_of() or reader_of(). Throw if the handle is NULL.
inline Output& output_of(const tailrace_stream* stream) {
    if (stream == nullptr) fail(Status::BAD_ARGUMENT, "argument 'stream' is NULL: the stream was not opened, or was closed");
    set_notation(stream->caller.notation);
    if (stream->open_error) throw Error(*stream->open_error);
    return *stream->output;
}

inline Reader& reader_of(tailrace_reader* reader) {
    if (reader == nullptr) fail(Status::BAD_ARGUMENT, "argument 'reader' is NULL: the stream was not opened, or was closed");
    set_notation(reader->caller.notation);
    return reader->reader;
}

}  // namespace tailrace
