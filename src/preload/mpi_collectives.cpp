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

#define ALONE(name, ...) MPI_HOOK(name, collective, Call::MPI_##name, Collective{__VA_ARGS__})
// And the one that goes on after the call, in which ranks do not wait for each other.
#define COLLECTIVE(name, later, ...) \
    ALONE(name, __VA_ARGS__)         \
    ALONE(later, __VA_ARGS__)
COLLECTIVE(Barrier, Ibarrier, 0)
COLLECTIVE(Bcast, Ibcast, 4, 0, 1, 2)
COLLECTIVE(Reduce, Ireduce, 6, 0, 2, 3)
COLLECTIVE(Allreduce, Iallreduce, 5, 0, 2, 3)
COLLECTIVE(Scan, Iscan, 5, 0, 2, 3)
COLLECTIVE(Exscan, Iexscan, 5, 0, 2, 3)
COLLECTIVE(Reduce_scatter, Ireduce_scatter, 5)
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, 5)
COLLECTIVE(Gather, Igather, 7, 0, 1, 2)
COLLECTIVE(Gatherv, Igatherv, 8, 0, 1, 2)
COLLECTIVE(Scatter, Iscatter, 7, 3, 4, 5)
COLLECTIVE(Scatterv, Iscatterv, 8, 4, 5, 6)
COLLECTIVE(Allgather, Iallgather, 6, 0, 1, 2)
COLLECTIVE(Allgatherv, Iallgatherv, 7, 0, 1, 2)
COLLECTIVE(Alltoall, Ialltoall, 6)
COLLECTIVE(Alltoallv, Ialltoallv, 8)
COLLECTIVE(Alltoallw, Ialltoallw, 8)
COLLECTIVE(Comm_dup, Comm_idup, 0)
ALONE(Comm_split, 0)
ALONE(Comm_split_type, 0)
ALONE(Comm_create, 0)

}  // namespace tailrace::preload
