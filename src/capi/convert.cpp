// C functions that copy a stream to another layout.
#include "maintain/convert.hpp"

#include <tailrace/tailrace.h>

#include "capi/communicator.hpp"
#include "capi/guard.hpp"

using tailrace::guard_collective;
using tailrace::required;

extern "C" {

int tailrace_convert(MPI_Comm comm, const char* from, const char* name, const char* to, const char* options,
                     tailrace_progress progress, void* context, char** json) {
    if (json != nullptr) *json = nullptr;
    return guard_collective(tailrace::has_others(comm), [&] {
        tailrace::require_mpi(comm, "tailrace_convert");
        tailrace::check_arguments<tailrace::ConvertVote>(comm, [&] {
            required(json, "json");
            required(from, "from");
            required(name, "name");
            required(to, "to");
        });
        tailrace::StepProgress tell;
        if (progress != nullptr) tell = [=](uint64_t done, uint64_t all) { return progress(done, all, context) == 0; };
        *json =
            tailrace::owned_text(tailrace::convert_stream(comm, from, name, to, options != nullptr ? options : "", tell).dump());
    });
}

int tailrace_convert_fortran(MPI_Fint comm, const char* from, const char* name, const char* to, const char* options,
                             tailrace_progress progress, void* context, char** json) {
    return tailrace_convert(MPI_Comm_f2c(comm), from, name, to, options, progress, context, json);
}

}  // extern "C"
