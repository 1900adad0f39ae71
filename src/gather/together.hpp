// Work in which ranks wait for each other. Errors are agreed on where there is an exchange that can carry them; between two
// exchanges there is none. A rank that has no memory left there would leave alone, and the others would wait for it for ever: it
// ends the job.
#pragma once

#include <mpi.h>

#include <new>

namespace tailrace {

// Says why, and ends all processes of the job. What is committed stays.
[[noreturn]] void end_job_without_memory() noexcept;

// MPI_COMM_NULL, and no MPI: nobody waits for this rank.
bool has_others(MPI_Comm comm) noexcept;

template <class Work>
void together(bool others_wait, Work&& work) {
    try {
        work();
    } catch (const std::bad_alloc&) {
        if (others_wait) end_job_without_memory();
        throw;
    }
}

}  // namespace tailrace
