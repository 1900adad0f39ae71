#include "job.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace bench {

void fail(const std::string &what) {
    std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what.c_str());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
}

void meet(MPI_Comm comm) {
    MPI_Request request;
    MPI_Ibarrier(comm, &request);
    for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done;) usleep(50);
}

std::vector<double> Clock::seconds() const {
    std::vector<double> first = starts_, last = ends_;
    const int calls = static_cast<int>(first.size());
    MPI_Allreduce(MPI_IN_PLACE, first.data(), calls, MPI_DOUBLE, MPI_MIN, comm_);
    MPI_Allreduce(MPI_IN_PLACE, last.data(), calls, MPI_DOUBLE, MPI_MAX, comm_);
    for (size_t call = 0; call < last.size(); ++call) last[call] -= first[call];
    return last;
}

}  // namespace bench
