// Records collective calls: when each rank entered and left, the group of ranks, and the place in the program.
#include "preload/mpi.hpp"

namespace tailrace::preload {
namespace {

// Positions among a call's arguments: the communicator, and the buffer, count and type that this rank sends.
struct Collective {
    int communicator, buffer = -1, count = -1, type = -1;
};

Word collective(const Words& words, FindFunction find, const void* return_address, Call name, const Collective& position) {
    MpiCall call(name, return_address);
    const Word result = call_words(find(call.object()), words);
    if (!call.is_recording() || as_int(result) != 0) return call.finish(result, {});
    const MpiAbi* abi = mpi_abi(call.object());
    MpiCallInfo info = {.file = mpi_group(call.object(), words.at[position.communicator])};
    if (position.buffer >= 0 && abi != nullptr && words.at[position.buffer] != abi->in_place)
        info.bytes = mpi_bytes(call.object(), words.at[position.count], words.at[position.type]);
    return call.finish(result, info);
}

}  // namespace

#define COLLECTIVE(name, ...) MPI_HOOK(name, collective, Call::MPI_##name, Collective{__VA_ARGS__})
// Hooks a collective and its nonblocking form, in which ranks do not wait for each other.
#define COLLECTIVE_PAIR(name, nonblocking, ...) \
    COLLECTIVE(name, __VA_ARGS__)               \
    COLLECTIVE(nonblocking, __VA_ARGS__)
COLLECTIVE_PAIR(Barrier, Ibarrier, 0)
COLLECTIVE_PAIR(Bcast, Ibcast, 4, 0, 1, 2)
COLLECTIVE_PAIR(Reduce, Ireduce, 6, 0, 2, 3)
COLLECTIVE_PAIR(Allreduce, Iallreduce, 5, 0, 2, 3)
COLLECTIVE_PAIR(Scan, Iscan, 5, 0, 2, 3)
COLLECTIVE_PAIR(Exscan, Iexscan, 5, 0, 2, 3)
COLLECTIVE_PAIR(Reduce_scatter, Ireduce_scatter, 5)
COLLECTIVE_PAIR(Reduce_scatter_block, Ireduce_scatter_block, 5)
COLLECTIVE_PAIR(Gather, Igather, 7, 0, 1, 2)
COLLECTIVE_PAIR(Gatherv, Igatherv, 8, 0, 1, 2)
COLLECTIVE_PAIR(Scatter, Iscatter, 7, 3, 4, 5)
COLLECTIVE_PAIR(Scatterv, Iscatterv, 8, 4, 5, 6)
COLLECTIVE_PAIR(Allgather, Iallgather, 6, 0, 1, 2)
COLLECTIVE_PAIR(Allgatherv, Iallgatherv, 7, 0, 1, 2)
COLLECTIVE_PAIR(Alltoall, Ialltoall, 6)
COLLECTIVE_PAIR(Alltoallv, Ialltoallv, 8)
COLLECTIVE_PAIR(Alltoallw, Ialltoallw, 8)
COLLECTIVE_PAIR(Comm_dup, Comm_idup, 0)
COLLECTIVE(Comm_split, 0)
COLLECTIVE(Comm_split_type, 0)
COLLECTIVE(Comm_create, 0)

}  // namespace tailrace::preload
