// The border to C: exceptions end here and become a status and a text.
#pragma once

#include <string>

#include "base/error.hpp"
#include "base/vector_state.hpp"
#include "gather/memory_failure.hpp"

namespace tailrace {

// The text of the last failure on this thread.
std::string& last_message();

int keep(const Error& error);

template <class Work>
int guard(Work&& work) {
    try {
        work();
        clear_upper_halves();
        return static_cast<int>(Status::OK);
    } catch (const Error& error) {
        return keep(error);
    } catch (const std::bad_alloc&) {
        return keep(Error(Status::NO_MEMORY, "out of memory"));
    } catch (const std::exception& error) {
        return keep(Error(Status::INTERNAL, error.what()));
    }
}

// For a collective call: without memory it ends the job if other ranks wait.
template <class Work>
int guard_collective(bool others_wait, Work&& work) {
    return guard([&] { run_or_end_job(others_wait, work); });
}

// An argument that must be there.
template <class Pointer>
Pointer required(Pointer pointer, const char* name) {
    if (pointer == nullptr) fail(Status::BAD_ARGUMENT, "argument '", name, "' is NULL");
    return pointer;
}

// A copy that the caller frees with tailrace_free.
char* owned_text(const std::string& text);

}  // namespace tailrace
