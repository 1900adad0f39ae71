// Records calls of MPI without the headers of an MPI library. Queries go to the MPI library that the program has loaded. On x86-64
// a handle is one word, whether it is a number (MPICH) or a pointer (Open MPI). All other differences are in MpiAbi.
#pragma once

#include "preload/callers.hpp"
#include "preload/hook.hpp"
#include "preload/layers.hpp"

namespace tailrace::preload {

// The differences between the binary interfaces of MPI libraries.
struct MpiAbi {
    Word world;        // MPI_COMM_WORLD
    Word no_status;    // MPI_STATUS_IGNORE
    Word in_place;     // MPI_IN_PLACE
    Word handle_mask;  // the bits of a word that belong to a handle
    int handle_bytes;  // size of a handle in an array
};
// The binary interface of the MPI library that `object` calls. nullptr: an unknown library; only the names and times of its calls
// are recorded.
const MpiAbi* mpi_abi(const void* object);

// The fields of the event of a successful MPI call.
struct MpiCallInfo {
    int64_t offset = trace::kNoOffset;
    uint64_t bytes = 0;
    uint64_t file = 0;  // id of the file's name or, for a collective call, of the group of ranks
    int64_t moved = 0;  // bytes transferred
};

// A call of MPI. Only the outermost is recorded: libraries call PMPI_X for MPI_X, and collectives within collectives.
class MpiCall {
public:
    MpiCall(Call call, const void* return_address);

    // Whether the call is recorded. Query MPI for the fields of the event only if it is.
    bool is_recording() const { return traced_.is_recording() && layer_.is_outermost(); }
    // The program or library that makes the call, as the loader's link_map.
    const void* object() const { return here_.object; }
    // Returns the result unchanged: 0 or the number of an error.
    Word finish(Word result, const MpiCallInfo& info);

private:
    const Site here_, caller_;  // they differ where the program calls through MPI's Fortran interface
    Traced traced_;
    const Layer layer_;
};

// The size in bytes of `count` elements of an MPI datatype; 0 for an invalid type.
uint64_t mpi_bytes(const void* object, Word count, Word type);

// The group of a communicator, as the id of "MPI ranks 0-3,8". The n-th collective of a group is the same one on all its ranks.
uint64_t mpi_group(const void* object, Word communicator);
// Forgets the group of a communicator that is freed, because MPI may use its handle again.
void forget_group(const void* object, Word communicator);

// Notes the request of a nonblocking transfer, so that waiting for it is recorded as I/O of this file. `place`: address of the
// request.
void put_request(const void* object, Word place, uint64_t file);

// Makes a barrier of all ranks before a call whose name is in TAILRACE_BARRIERS (such as MPI_File_open,phase_begin).
void insert_barrier(Call call, const Site& site);

// Keeps the place where Fortran code calls MPI. The C call within it comes from MPI's Fortran interface, not from the program.
class FortranCall {
public:
    explicit FortranCall(const void* return_address);
    FortranCall(const FortranCall&) = delete;
    FortranCall& operator=(const FortranCall&) = delete;
    ~FortranCall();

private:
    const bool is_outermost_;
};

}  // namespace tailrace::preload

// Hooks both names of an MPI function, MPI_X and PMPI_X, because programs and libraries call both.
#define MPI_HOOK(name, how, ...)                             \
    LIBRARY_HOOK(MPI_##name, how __VA_OPT__(, ) __VA_ARGS__) \
    LIBRARY_HOOK(PMPI_##name, how __VA_OPT__(, ) __VA_ARGS__)
