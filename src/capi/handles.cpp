#include "capi/handles.hpp"

#include <mutex>
#include <set>
#include <utility>

namespace {

// Different streams may be opened and closed by different threads.
std::mutex mutex;

std::set<tailrace_stream*>& handles() {
    static auto* const all = new std::set<tailrace_stream*>;  // MPI_Finalize may come after the destructors of this library
    return *all;
}

void add(tailrace_stream* stream) {
    const std::lock_guard lock(mutex);
    handles().insert(stream);
}

}  // namespace

tailrace_stream::tailrace_stream(std::unique_ptr<tailrace::Output> opened, MPI_Comm comm)
    : output(std::move(opened)), caller(tailrace::caller_of(comm)),
      definitions{.definitions = &output->current_definitions(), .of_reader = false, .caller = caller} {
    add(this);
}

tailrace_stream::tailrace_stream(tailrace::Error error) : open_error(std::move(error)) { add(this); }

tailrace_stream::~tailrace_stream() {
    const std::lock_guard lock(mutex);
    handles().erase(this);
}

tailrace::Caller tailrace::caller_of(MPI_Comm comm) { return {.rank = rank_in(comm), .ranks = size_of(comm)}; }

tailrace_stream* tailrace_stream::only() {
    const std::lock_guard lock(mutex);
    return handles().size() == 1 ? *handles().begin() : nullptr;
}

std::vector<tailrace_stream*> tailrace_stream::all() {
    const std::lock_guard lock(mutex);
    return {handles().begin(), handles().end()};
}
