// Collectives: when each rank came and when it could go on, of which group of ranks, from where in the program.
#include "preload/mpi.hpp"

namespace tailrace::preload {
namespace {

// Which words of a call are its communicator, and what this rank gives: buffer, count and type.
struct Collective {
    int communicator, buffer = -1, count = -1, type = -1;
};

Word collective(const Words& words, FindFunction find, const void* return_address, Call name, const Collective& is) {
    MpiCall call(name, return_address);
    const Word answer = call_words(find(call.object()), words);
    if (!call.on() || as_int(answer) != 0) return call.done(answer, {});
    const MpiAbi* abi = mpi_abi(call.object());
    MpiAbout about = {.file = mpi_group(call.object(), words.at[is.communicator])};
    if (is.buffer >= 0 && abi != nullptr && words.at[is.buffer] != abi->in_place)
        about.bytes = mpi_bytes(call.object(), words.at[is.count], words.at[is.type]);
    return call.done(answer, about);
}

}  // namespace

#define COLLECTIVE(name, ...)                                                       \
    LIBRARY_HOOK(MPI_##name, collective, Call::MPI_##name, Collective{__VA_ARGS__}) \
    LIBRARY_HOOK(PMPI_##name, collective, Call::MPI_##name, Collective{__VA_ARGS__})
COLLECTIVE(Barrier, 0)
COLLECTIVE(Bcast, 4, 0, 1, 2)
COLLECTIVE(Reduce, 6, 0, 2, 3)
COLLECTIVE(Allreduce, 5, 0, 2, 3)
COLLECTIVE(Scan, 5, 0, 2, 3)
COLLECTIVE(Exscan, 5, 0, 2, 3)
COLLECTIVE(Reduce_scatter, 5)
COLLECTIVE(Reduce_scatter_block, 5)
COLLECTIVE(Gather, 7, 0, 1, 2)
COLLECTIVE(Gatherv, 8, 0, 1, 2)
COLLECTIVE(Scatter, 7, 3, 4, 5)
COLLECTIVE(Scatterv, 8, 4, 5, 6)
COLLECTIVE(Allgather, 6, 0, 1, 2)
COLLECTIVE(Allgatherv, 7, 0, 1, 2)
COLLECTIVE(Alltoall, 6)
COLLECTIVE(Alltoallv, 8)
COLLECTIVE(Alltoallw, 8)
COLLECTIVE(Comm_dup, 0)
COLLECTIVE(Comm_split, 0)
COLLECTIVE(Comm_split_type, 0)
COLLECTIVE(Comm_create, 0)
// Those that go on after the call. Ranks do not wait for each other in it.
COLLECTIVE(Ibarrier, 0)
COLLECTIVE(Ibcast, 4, 0, 1, 2)
COLLECTIVE(Ireduce, 6, 0, 2, 3)
COLLECTIVE(Iallreduce, 5, 0, 2, 3)
COLLECTIVE(Iscan, 5, 0, 2, 3)
COLLECTIVE(Iexscan, 5, 0, 2, 3)
COLLECTIVE(Ireduce_scatter, 5)
COLLECTIVE(Ireduce_scatter_block, 5)
COLLECTIVE(Igather, 7, 0, 1, 2)
COLLECTIVE(Igatherv, 8, 0, 1, 2)
COLLECTIVE(Iscatter, 7, 3, 4, 5)
COLLECTIVE(Iscatterv, 8, 4, 5, 6)
COLLECTIVE(Iallgather, 6, 0, 1, 2)
COLLECTIVE(Iallgatherv, 7, 0, 1, 2)
COLLECTIVE(Ialltoall, 6)
COLLECTIVE(Ialltoallv, 8)
COLLECTIVE(Ialltoallw, 8)
COLLECTIVE(Comm_idup, 0)

}  // namespace tailrace::preload
