// Collective calls and messages, for one process.
#include <cstring>

#include "mpi.h"

namespace {

// What a collective call does: the result is what this process gave.
int copy(const void *from, void *to, int count, MPI_Datatype bytes) {
    if (count > 0) std::memcpy(to, from, static_cast<size_t>(count) * static_cast<size_t>(bytes));
    return MPI_SUCCESS;
}

int copy_to(const void *from, void *to, int count, int begin, MPI_Datatype bytes) {
    return copy(from, static_cast<char *>(to) + static_cast<size_t>(begin) * static_cast<size_t>(bytes), count, bytes);
}

int complete(MPI_Request *request) {
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

}  // namespace

extern "C" {

int MPI_Type_contiguous(int count, MPI_Datatype of, MPI_Datatype *type) {
    *type = count * of;
    return MPI_SUCCESS;
}
int MPI_Type_commit(MPI_Datatype *) { return MPI_SUCCESS; }
int MPI_Type_free(MPI_Datatype *) { return MPI_SUCCESS; }
int MPI_Op_create(MPI_User_function *, int, MPI_Op *op) {
    *op = MPI_BAND + 1;
    return MPI_SUCCESS;
}
int MPI_Op_free(MPI_Op *) { return MPI_SUCCESS; }

int MPI_Barrier(MPI_Comm) { return MPI_SUCCESS; }
int MPI_Ibarrier(MPI_Comm, MPI_Request *request) { return complete(request); }
int MPI_Bcast(void *, int, MPI_Datatype, int, MPI_Comm) { return MPI_SUCCESS; }
int MPI_Ibcast(void *, int, MPI_Datatype, int, MPI_Comm, MPI_Request *request) { return complete(request); }

int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op, MPI_Comm) {
    return copy(mine, all, count, type);
}
int MPI_Iallreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op, MPI_Comm, MPI_Request *request) {
    copy(mine, all, count, type);
    return complete(request);
}
int MPI_Ireduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op, int, MPI_Comm, MPI_Request *request) {
    copy(mine, all, count, type);
    return complete(request);
}

// The result of the first rank is undefined: it stays as it is.
int MPI_Exscan(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm) { return MPI_SUCCESS; }
int MPI_Iexscan(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *request) { return complete(request); }

int MPI_Gather(const void *mine, int count, MPI_Datatype type, void *all, int, MPI_Datatype, int, MPI_Comm) {
    return copy(mine, all, count, type);
}
int MPI_Allgather(const void *mine, int count, MPI_Datatype type, void *all, int, MPI_Datatype, MPI_Comm) {
    return copy(mine, all, count, type);
}
int MPI_Gatherv(const void *mine, int count, MPI_Datatype type, void *all, const int *, const int *begins, MPI_Datatype, int,
                MPI_Comm) {
    return copy_to(mine, all, count, begins[0], type);
}
int MPI_Igatherv(const void *mine, int count, MPI_Datatype type, void *all, const int *, const int *begins, MPI_Datatype, int,
                 MPI_Comm, MPI_Request *request) {
    copy_to(mine, all, count, begins[0], type);
    return complete(request);
}
int MPI_Allgatherv(const void *mine, int count, MPI_Datatype type, void *all, const int *, const int *begins, MPI_Datatype,
                   MPI_Comm) {
    return copy_to(mine, all, count, begins[0], type);
}

int MPI_Test(MPI_Request *request, int *is_complete, MPI_Status *) {
    *is_complete = 1;
    return complete(request);
}
int MPI_Testall(int, MPI_Request *, int *are_complete, MPI_Status *) {
    *are_complete = 1;
    return MPI_SUCCESS;
}
int MPI_Iprobe(int, int, MPI_Comm, int *is_there, MPI_Status *) {
    *is_there = 0;
    return MPI_SUCCESS;
}
int MPI_Get_count(const MPI_Status *, MPI_Datatype, int *count) {
    *count = 0;
    return MPI_SUCCESS;
}
int MPI_Recv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *) { return MPI_ERR_OTHER; }
int MPI_Irecv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) { return MPI_ERR_OTHER; }
int MPI_Isend(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) { return MPI_ERR_OTHER; }
int MPI_Issend(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) { return MPI_ERR_OTHER; }

}  // extern "C"
