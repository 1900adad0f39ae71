// Calls of MPI, without MPI's headers: whichever library the program has loaded is asked at run time. On x86-64 a handle, whether
// a number (MPICH) or a pointer (Open MPI), travels as a word; what else differs is in the shims of mpi_abi.cpp.
#pragma once

#include "preload/callers.hpp"
#include "preload/hook.hpp"
#include "preload/layers.hpp"

namespace tailrace::preload {

// What differs between the binary interfaces of MPI libraries.
struct MpiAbi {
    Word world;        // MPI_COMM_WORLD
    Word no_status;    // MPI_STATUS_IGNORE
    Word in_place;     // MPI_IN_PLACE
    Word handle_mask;  // the bits of a word that a handle has
    int handle_bytes;  // of a handle in an array
};
// Of the library that an object calls; nullptr: one that is not known here, of which names and times are recorded.
const MpiAbi* mpi_abi(const void* object);

// What an event says of a call of MPI that has worked.
struct MpiAbout {
    int64_t offset = trace::kNowhere;
    uint64_t bytes = 0;
    uint64_t file = 0;  // or the group of ranks of a collective
    int64_t moved = 0;
};

// One call of MPI while it runs. Only the outermost is recorded: libraries call MPI_X as PMPI_X, and collectives of themselves.
class MpiCall {
public:
    MpiCall(Call call, const void* return_address);

    // Whether it is recorded, so that it is worth finding out what an event should say.
    bool on() const { return traced_.on() && layer_.first(); }
    // That calls MPI.
    const void* object() const { return here_.object; }
    // Hands the answer on: 0 or the number of an error.
    Word done(Word answer, const MpiAbout& about);

private:
    const Site here_, caller_;  // they differ where Fortran's interface is in between
    Traced traced_;
    const Layer layer_;
};

// Bytes of so many elements; 0 for a type that there is not.
uint64_t mpi_bytes(const void* object, Word count, Word type);

// The group of a communicator, as the id of "MPI ranks 0-3,8". The n-th collective of a group is the same one on all its ranks.
uint64_t mpi_group(const void* object, Word communicator);
// Its handle may be another communicator's from now on.
void forget_group(const void* object, Word communicator);

// A transfer of a file that goes on after its call: who waits for it, waits for this file.
void put_request(const void* object, Word place, uint64_t file);

// A barrier of all ranks before a call, where the user wants one (TAILRACE_BARRIERS=MPI_File_open,phase_begin).
void insert_barrier(Call call, const Site& site);

// Where Fortran code has called MPI, while it does: the calls in C come from Fortran's interface.
class FortranCall {
public:
    explicit FortranCall(const void* return_address);
    FortranCall(const FortranCall&) = delete;
    FortranCall& operator=(const FortranCall&) = delete;
    ~FortranCall();

private:
    const bool first_;
};

}  // namespace tailrace::preload

// Libraries and tools call MPI by either name.
#define MPI_HOOK(name, how, ...)                             \
    LIBRARY_HOOK(MPI_##name, how __VA_OPT__(, ) __VA_ARGS__) \
    LIBRARY_HOOK(PMPI_##name, how __VA_OPT__(, ) __VA_ARGS__)
