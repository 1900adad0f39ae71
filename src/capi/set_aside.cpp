// C functions that set aside ranks which only write, and release them.
#include <tailrace/tailrace.h>

#include "capi/communicator.hpp"
#include "capi/guard.hpp"
#include "forward/forwarding.hpp"

using tailrace::fail;
using tailrace::guard;
using tailrace::required;
using tailrace::Status;

extern "C" {

int tailrace_set_aside(MPI_Comm all, int dedicated, MPI_Comm* compute) {
    return tailrace::guard_collective(tailrace::has_others(all), [&] {
        *required(compute, "compute") = MPI_COMM_NULL;
        tailrace::require_mpi(all, "tailrace_set_aside");
        tailrace::Forwarding::set_aside(all, dedicated < 0 ? 0 : static_cast<uint64_t>(dedicated), *compute);
    });
}

int tailrace_release(MPI_Comm* compute) {
    return guard([&] {
        if (*required(compute, "compute") == MPI_COMM_NULL) return;
        const auto forwarding = tailrace::Forwarding::of(*compute);
        if (!forwarding) fail(Status::BAD_ARGUMENT, "the communicator of tailrace_release is none that tailrace_set_aside gave");
        forwarding->release();
        tailrace::check_mpi(MPI_Comm_free(compute), "MPI_Comm_free");
        if (forwarding->open_streams > 0)
            fail(Status::BAD_ORDER, forwarding->open_streams,
                 " streams that other ranks write were open; what they have committed ",
                 "stays; close streams before tailrace_release");
    });
}

int tailrace_set_aside_fortran(MPI_Fint all, int dedicated, MPI_Fint* compute) {
    MPI_Comm made = MPI_COMM_NULL;
    const int status = tailrace_set_aside(MPI_Comm_f2c(all), dedicated, &made);
    if (compute != nullptr) *compute = MPI_Comm_c2f(made);
    return status;
}

int tailrace_release_fortran(MPI_Fint* compute) {
    if (compute == nullptr) return tailrace_release(nullptr);
    MPI_Comm comm = MPI_Comm_f2c(*compute);
    const int status = tailrace_release(&comm);
    *compute = MPI_Comm_c2f(comm);
    return status;
}

}  // extern "C"
