// The beginning and end of MPI in a process, communicators that go, phases that are named, and Fortran's entry points.
#include "preload/mpi.hpp"

namespace tailrace::preload {
namespace {

void tell_rank(const void* object) {
    const MpiAbi* abi = mpi_abi(object);
    int rank = -1, ranks = -1;
    if (abi == nullptr || as_int(call_words(LIBRARY_FUNCTION(PMPI_Comm_rank)(object), {{abi->world, as_word(&rank)}})) != 0) return;
    call_words(LIBRARY_FUNCTION(PMPI_Comm_size)(object), {{abi->world, as_word(&ranks)}});
    trace::set_rank(rank, ranks);
}

Word begin_mpi(const Words& words, FindFunction find, const void* return_address, Call name) {
    MpiCall call(name, return_address);
    const Word answer = call_words(find(call.object()), words);
    if (call.on() && as_int(answer) == 0) tell_rank(call.object());
    return call.done(answer, {});
}

Word end_mpi(const Words& words, FindFunction find, const void* return_address, Call name) {
    MpiCall call(name, return_address);
    return call.done(call_words(find(call.object()), words), {});
}

Word free_communicator(const Words& words, FindFunction find, const void* return_address, Call name) {
    MpiCall call(name, return_address);
    if (words.at[0] != 0) forget_group(call.object(), *reinterpret_cast<const Word*>(words.at[0]));
    return call.done(call_words(find(call.object()), words), {});
}

// The level, by which programs name their phases, is the offset of the event.
Word control(const Words& words, FindFunction find, const void* return_address, Call name) {
    MpiCall call(name, return_address);
    return call.done(call_words(find(call.object()), words), {.offset = as_int(words.at[0])});
}

Word from_fortran(const Words& words, FindFunction find, const void* return_address) {
    const FortranCall call(return_address);
    return call_words(find(site_of(return_address).object), words);
}

}  // namespace

#define MPI_CALL(name, how)                         \
    LIBRARY_HOOK(MPI_##name, how, Call::MPI_##name) \
    LIBRARY_HOOK(PMPI_##name, how, Call::MPI_##name)
MPI_CALL(Init, begin_mpi)
MPI_CALL(Init_thread, begin_mpi)
MPI_CALL(Finalize, end_mpi)
MPI_CALL(Comm_free, free_communicator)
MPI_CALL(Comm_disconnect, free_communicator)
MPI_CALL(Pcontrol, control)

// `use mpi`, mpif.h and `use mpi_f08`, as gfortran names them.
#define FORTRAN(name)                         \
    LIBRARY_HOOK(mpi_##name##_, from_fortran) \
    LIBRARY_HOOK(mpi_##name##_f08_, from_fortran)
// Where a buffer of any type is passed, MPICH has a name more.
#define FORTRAN_WITH_BUFFER(name) \
    FORTRAN(name)                 \
    LIBRARY_HOOK(mpi_##name##_f08ts_, from_fortran)
FORTRAN(init)
FORTRAN(init_thread)
FORTRAN(finalize)
FORTRAN(pcontrol)
FORTRAN(barrier)
FORTRAN_WITH_BUFFER(bcast)
FORTRAN_WITH_BUFFER(reduce)
FORTRAN_WITH_BUFFER(allreduce)
FORTRAN_WITH_BUFFER(scan)
FORTRAN_WITH_BUFFER(exscan)
FORTRAN_WITH_BUFFER(reduce_scatter)
FORTRAN_WITH_BUFFER(reduce_scatter_block)
FORTRAN_WITH_BUFFER(gather)
FORTRAN_WITH_BUFFER(gatherv)
FORTRAN_WITH_BUFFER(scatter)
FORTRAN_WITH_BUFFER(scatterv)
FORTRAN_WITH_BUFFER(allgather)
FORTRAN_WITH_BUFFER(allgatherv)
FORTRAN_WITH_BUFFER(alltoall)
FORTRAN_WITH_BUFFER(alltoallv)
FORTRAN_WITH_BUFFER(alltoallw)
FORTRAN(comm_dup)
FORTRAN(comm_split)
FORTRAN(comm_split_type)
FORTRAN(comm_create)
FORTRAN(comm_idup)
FORTRAN(ibarrier)
FORTRAN_WITH_BUFFER(ibcast)
FORTRAN_WITH_BUFFER(ireduce)
FORTRAN_WITH_BUFFER(iallreduce)
FORTRAN_WITH_BUFFER(iscan)
FORTRAN_WITH_BUFFER(iexscan)
FORTRAN_WITH_BUFFER(ireduce_scatter)
FORTRAN_WITH_BUFFER(ireduce_scatter_block)
FORTRAN_WITH_BUFFER(igather)
FORTRAN_WITH_BUFFER(igatherv)
FORTRAN_WITH_BUFFER(iscatter)
FORTRAN_WITH_BUFFER(iscatterv)
FORTRAN_WITH_BUFFER(iallgather)
FORTRAN_WITH_BUFFER(iallgatherv)
FORTRAN_WITH_BUFFER(ialltoall)
FORTRAN_WITH_BUFFER(ialltoallv)
FORTRAN_WITH_BUFFER(ialltoallw)
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
