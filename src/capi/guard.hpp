// The border to C: exceptions are caught here and become a status and a text.
#pragma once

#include <string>

#include "base/error.hpp"
#include "base/vector_state.hpp"
#include "gather/memory_failure.hpp"
#include "layout/notation.hpp"

namespace tailrace {

// The text of the last failure on this thread.
std::string& last_message();

// What messages of a stream or reader need: this rank's number, how many ranks there are, and how indices are written.
struct Caller {
    uint64_t rank = 0, ranks = 1;
    Notation notation = Notation::c;
};

// Stores the error's text as last_message() and returns its status. `caller`: given by a local call, whose message names the rank
// if there are several ranks.
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

// guard() for a collective call: if memory is exhausted, ends the job if other ranks wait for this one.
template <class Work>
int guard_collective(bool others_wait, Work&& work) {
    return guard([&] { run_or_end_job(others_wait, work); });
}

// guard() for a local call with a stream or reader.
template <class Handle, class Work>
int guard_local(const Handle* handle, Work&& work) {
    return guard(work, handle != nullptr ? &handle->caller : nullptr);
}

// Returns a pointer argument; throws BAD_ARGUMENT if it is NULL.
template <class Pointer>
Pointer required(Pointer pointer, const char* name) {
    if (pointer == nullptr) fail(Status::BAD_ARGUMENT, "argument '", name, "' is NULL");
    return pointer;
}

// Returns a text argument; throws if it is NULL. In C a text ends at a zero byte; bindings whose texts may have a zero byte pass it
// as the two bytes C0 80.
const char* required(const char* text, const char* name);
// Returns a text argument, or "" if it is NULL.
inline const char* optional_text(const char* text, const char* name) { return text != nullptr ? required(text, name) : ""; }

// Throws an error with the status and text that the caller gives.
[[noreturn]] inline void fail_with(int status, const char* text) {
    if (status == static_cast<int>(Status::OK) || status_name(status) == nullptr)
        fail(Status::BAD_ARGUMENT, "a call cannot be refused with the status ", status, ": no failure has that number");
    fail(static_cast<Status>(status), required(text, "text"));
}

// A copy that the caller frees with tailrace_free.
char* owned_text(const std::string& text);

}  // namespace tailrace
