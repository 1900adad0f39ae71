// The border to C: exceptions end here and become a status and a text.
#pragma once

#include <string>

#include "base/error.hpp"
#include "base/vector_state.hpp"
#include "gather/memory_failure.hpp"
#include "layout/notation.hpp"

namespace tailrace {

// The text of the last failure on this thread.
std::string& last_message();

// The rank that a message is of, and how the message writes indices. Of a stream or reader.
struct Caller {
    uint64_t rank = 0, ranks = 1;
    Notation notation = Notation::c;
};

// `caller`: of a local call, whose message names the rank where there are several.
int keep(const Error& error, const Caller* caller = nullptr);

template <class Work>
int guard(Work&& work, const Caller* caller = nullptr) {
    try {
        work();
        clear_upper_halves();
        return static_cast<int>(Status::OK);
    } catch (const Error& error) {
        return keep(error, caller);
    } catch (const std::bad_alloc&) {
        return keep(Error(Status::NO_MEMORY, "out of memory"), caller);
    } catch (const std::exception& error) {
        return keep(Error(Status::INTERNAL, error.what()), caller);
    }
}

// For a collective call: without memory it ends the job if other ranks wait.
template <class Work>
int guard_collective(bool others_wait, Work&& work) {
    return guard([&] { run_or_end_job(others_wait, work); });
}

// Of a local call with a stream or reader.
template <class Handle, class Work>
int guard_local(const Handle* handle, Work&& work) {
    return guard(work, handle != nullptr ? &handle->caller : nullptr);
}

// An argument that must be there.
template <class Pointer>
Pointer required(Pointer pointer, const char* name) {
    if (pointer == nullptr) fail(Status::BAD_ARGUMENT, "argument '", name, "' is NULL");
    return pointer;
}

// A text that must be there. Bindings whose texts may have a zero byte, where a text ends in C, hand it over as the bytes C0 80.
const char* required(const char* text, const char* name);
// A text that may be NULL, which is "".
inline const char* optional_text(const char* text, const char* name) { return text != nullptr ? required(text, name) : ""; }

// A failure that the caller has found.
[[noreturn]] inline void fail_with(int status, const char* text) {
    if (status == static_cast<int>(Status::OK) || status_name(status) == nullptr)
        fail(Status::BAD_ARGUMENT, "a call cannot be refused with the status ", status, ": no failure has that number");
    fail(static_cast<Status>(status), required(text, "text"));
}

// A copy that the caller frees with tailrace_free.
char* owned_text(const std::string& text);

}  // namespace tailrace
