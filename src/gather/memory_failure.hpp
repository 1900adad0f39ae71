// A rank that runs out of memory between two agreements cannot report it: no exchange carries its error, and the other ranks would
// wait for it for ever. So it ends the job (docs/decisions/0025).
#pragma once

#include <mpi.h>

#include <new>

namespace tailrace {

// Prints the reason and ends all processes of the job. Committed steps are not lost.
[[noreturn]] void end_job_out_of_memory() noexcept;

// Whether a communicator has ranks besides this one; false for MPI_COMM_NULL and while MPI does not run.
bool has_others(MPI_Comm comm) noexcept;

// Runs work. If it runs out of memory while other ranks wait for this one, ends the job; if none waits, throws bad_alloc.
template <class Work>
void run_or_end_job(bool others_wait, Work&& work) {
    try {
        work();
    } catch (const std::bad_alloc&) {
        if (others_wait) end_job_out_of_memory();
        throw;
    }
}

}  // namespace tailrace
