// Initialization and end of MPI, freed communicators, MPI_Pcontrol, and Fortran's entry points.
#include <string.h>

#include "preload/mpi.hpp"

namespace tailrace::preload {
namespace {

void record_rank(const void* object) {
    const MpiAbi* abi = mpi_abi(object);
    int rank = -1, ranks = -1;
    if (abi == nullptr || as_int(call_words(LIBRARY_FUNCTION(PMPI_Comm_rank)(object), {{abi->world, as_word(&rank)}})) != 0) return;
    call_words(LIBRARY_FUNCTION(PMPI_Comm_size)(object), {{abi->world, as_word(&ranks)}});
    trace::set_rank(rank, ranks);
}

Word begin_mpi(const Words& words, FindFunction find, const void* return_address, Call name) {
    MpiCall call(name, return_address);
    const Word result = call_words(find(call.object()), words);
    if (call.is_recording() && as_int(result) == 0) {
        record_rank(call.object());
        keep_call_paths();
    }
    return call.finish(result, {});
}

Word end_mpi(const Words& words, FindFunction find, const void* return_address, Call name) {
    MpiCall call(name, return_address);
    return call.finish(call_words(find(call.object()), words), {});
}

Word free_communicator(const Words& words, FindFunction find, const void* return_address, Call name) {
    MpiCall call(name, return_address);
    if (const MpiAbi* abi = mpi_abi(call.object()); abi != nullptr && words.at[0] != 0) {
        Word handle = 0;  // only the bytes of a handle are copied
        memcpy(&handle, reinterpret_cast<const void*>(words.at[0]), static_cast<size_t>(abi->handle_bytes));
        forget_group(call.object(), handle);
    }
    return call.finish(call_words(find(call.object()), words), {});
}

// MPI_Pcontrol: its level, by which programs mark their phases, is stored as the event's offset.
Word control(const Words& words, FindFunction find, const void* return_address, Call name) {
    MpiCall call(name, return_address);
    return call.finish(call_words(find(call.object()), words), {.offset = as_int(words.at[0])});
}

Word from_fortran(const Words& words, FindFunction find, const void* return_address) {
    const FortranCall call(return_address);
    return call_words(find(site_of(return_address).object), words);
}

}  // namespace

MPI_HOOK(Init, begin_mpi, Call::MPI_Init)
MPI_HOOK(Init_thread, begin_mpi, Call::MPI_Init_thread)
MPI_HOOK(Finalize, end_mpi, Call::MPI_Finalize)
MPI_HOOK(Comm_free, free_communicator, Call::MPI_Comm_free)
MPI_HOOK(Comm_disconnect, free_communicator, Call::MPI_Comm_disconnect)
MPI_HOOK(Pcontrol, control, Call::MPI_Pcontrol)

// Hooks the Fortran symbols of a call, for `use mpi`, mpif.h and `use mpi_f08`, with the names that gfortran makes.
#define FORTRAN(name)                         \
    LIBRARY_HOOK(mpi_##name##_, from_fortran) \
    LIBRARY_HOOK(mpi_##name##_f08_, from_fortran)
// The same for calls with a buffer of any type, for which MPICH has one more name.
#define FORTRAN_WITH_BUFFER(name) \
    FORTRAN(name)                 \
    LIBRARY_HOOK(mpi_##name##_f08ts_, from_fortran)
// Hooks the Fortran symbols of a collective and of its nonblocking form.
#define FORTRAN_COLLECTIVE(name) \
    FORTRAN_WITH_BUFFER(name)    \
    FORTRAN_WITH_BUFFER(i##name)
FORTRAN(init)
FORTRAN(init_thread)
FORTRAN(finalize)
FORTRAN(pcontrol)
FORTRAN(barrier)
FORTRAN_COLLECTIVE(bcast)
FORTRAN_COLLECTIVE(reduce)
FORTRAN_COLLECTIVE(allreduce)
FORTRAN_COLLECTIVE(scan)
FORTRAN_COLLECTIVE(exscan)
FORTRAN_COLLECTIVE(reduce_scatter)
FORTRAN_COLLECTIVE(reduce_scatter_block)
FORTRAN_COLLECTIVE(gather)
FORTRAN_COLLECTIVE(gatherv)
FORTRAN_COLLECTIVE(scatter)
FORTRAN_COLLECTIVE(scatterv)
FORTRAN_COLLECTIVE(allgather)
FORTRAN_COLLECTIVE(allgatherv)
FORTRAN_COLLECTIVE(alltoall)
FORTRAN_COLLECTIVE(alltoallv)
FORTRAN_COLLECTIVE(alltoallw)
FORTRAN(comm_dup)
FORTRAN(comm_split)
FORTRAN(comm_split_type)
FORTRAN(comm_create)
FORTRAN(comm_idup)
FORTRAN(ibarrier)
FORTRAN(file_open)
FORTRAN(file_close)
FORTRAN(file_delete)
FORTRAN(file_set_view)
FORTRAN(file_set_size)
FORTRAN(file_preallocate)
FORTRAN(file_seek)
FORTRAN(file_sync)
FORTRAN_WITH_BUFFER(file_read)
FORTRAN_WITH_BUFFER(file_read_all)
FORTRAN_WITH_BUFFER(file_read_at)
FORTRAN_WITH_BUFFER(file_read_at_all)
FORTRAN_WITH_BUFFER(file_write)
FORTRAN_WITH_BUFFER(file_write_all)
FORTRAN_WITH_BUFFER(file_write_at)
FORTRAN_WITH_BUFFER(file_write_at_all)
FORTRAN_WITH_BUFFER(file_iread)
FORTRAN_WITH_BUFFER(file_iread_at)
FORTRAN_WITH_BUFFER(file_iwrite)
FORTRAN_WITH_BUFFER(file_iwrite_at)
FORTRAN(wait)
FORTRAN(waitall)
FORTRAN(waitany)
FORTRAN(waitsome)
FORTRAN(test)
FORTRAN(testall)
FORTRAN(testany)
FORTRAN(testsome)

}  // namespace tailrace::preload
