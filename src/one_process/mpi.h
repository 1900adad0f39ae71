// MPI for one process: the part of MPI that the library calls, for a build on machines that have none. Rank 0 is alone in every
// communicator, so a collective call copies, and each request is complete when it was begun. There is no other rank to send a
// message to: such calls return an error. Include paths put this folder where another build has MPI's own header.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tailrace_one_process_comm *MPI_Comm;
typedef int MPI_Fint, MPI_Info, MPI_Request, MPI_Op, MPI_Errhandler;
typedef int MPI_Datatype; /* the bytes of an element */
typedef struct {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR;
} MPI_Status;

extern struct tailrace_one_process_comm tailrace_one_process_world, tailrace_one_process_self;
#define MPI_COMM_WORLD (&tailrace_one_process_world)
#define MPI_COMM_SELF (&tailrace_one_process_self)
#define MPI_COMM_NULL ((MPI_Comm)0)

#define MPI_SUCCESS 0
#define MPI_ERR_OTHER 1
#define MPI_UNDEFINED (-1)
#define MPI_ANY_SOURCE (-1)
#define MPI_ANY_TAG (-1)
#define MPI_INFO_NULL 0
#define MPI_REQUEST_NULL 0
#define MPI_KEYVAL_INVALID (-1)
#define MPI_ERRORS_RETURN 1
#define MPI_COMM_TYPE_SHARED 1
#define MPI_THREAD_SINGLE 0
#define MPI_THREAD_MULTIPLE 3
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_MAX_ERROR_STRING 256
#define MPI_MAX_LIBRARY_VERSION_STRING 256
#define MPI_BYTE 1
#define MPI_CHAR 1
#define MPI_INT ((MPI_Datatype)sizeof(int))
#define MPI_UINT64_T ((MPI_Datatype)sizeof(uint64_t))
#define MPI_MAX 1
#define MPI_MIN 2
#define MPI_SUM 3
#define MPI_BAND 4
#define MPI_BOR 5

typedef void MPI_User_function(void *in, void *inout, int *count, MPI_Datatype *type);
typedef int MPI_Comm_copy_attr_function(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *is_copied);
typedef int MPI_Comm_delete_attr_function(MPI_Comm comm, int key, void *value, void *extra);
int tailrace_one_process_copy(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *is_copied);
#define MPI_COMM_NULL_COPY_FN ((MPI_Comm_copy_attr_function *)0)
#define MPI_COMM_DUP_FN (&tailrace_one_process_copy)
#define MPI_COMM_NULL_DELETE_FN ((MPI_Comm_delete_attr_function *)0)

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int MPI_Initialized(int *flag);
int MPI_Finalized(int *flag);
int MPI_Finalize(void);
int MPI_Query_thread(int *provided);
int MPI_Abort(MPI_Comm comm, int code);
int MPI_Get_library_version(char *text, int *length);
int MPI_Error_string(int code, char *text, int *length);

int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_size(MPI_Comm comm, int *size);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy);
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *part);
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part);
int MPI_Comm_free(MPI_Comm *comm);
MPI_Fint MPI_Comm_c2f(MPI_Comm comm);
MPI_Comm MPI_Comm_f2c(MPI_Fint handle);
int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *remove, int *key, void *extra);
int MPI_Comm_free_keyval(int *key);
int MPI_Comm_set_attr(MPI_Comm comm, int key, void *value);
int MPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *found);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *handler);
int MPI_Errhandler_free(MPI_Errhandler *handler);

int MPI_Type_contiguous(int count, MPI_Datatype of, MPI_Datatype *type);
int MPI_Type_commit(MPI_Datatype *type);
int MPI_Type_free(MPI_Datatype *type);
int MPI_Op_create(MPI_User_function *function, int commutes, MPI_Op *op);
int MPI_Op_free(MPI_Op *op);

int MPI_Barrier(MPI_Comm comm);
int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request);
int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Ibcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request);
int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Iallreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request);
int MPI_Ireduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                MPI_Request *request);
int MPI_Exscan(const void *mine, void *before, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Iexscan(const void *mine, void *before, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request);
int MPI_Gather(const void *mine, int count, MPI_Datatype type, void *all, int counts, MPI_Datatype types, int root, MPI_Comm comm);
int MPI_Allgather(const void *mine, int count, MPI_Datatype type, void *all, int counts, MPI_Datatype types, MPI_Comm comm);
int MPI_Gatherv(const void *mine, int count, MPI_Datatype type, void *all, const int *counts, const int *begins, MPI_Datatype types,
                int root, MPI_Comm comm);
int MPI_Igatherv(const void *mine, int count, MPI_Datatype type, void *all, const int *counts, const int *begins,
                 MPI_Datatype types, int root, MPI_Comm comm, MPI_Request *request);
int MPI_Allgatherv(const void *mine, int count, MPI_Datatype type, void *all, const int *counts, const int *begins,
                   MPI_Datatype types, MPI_Comm comm);

int MPI_Test(MPI_Request *request, int *is_complete, MPI_Status *status);
int MPI_Testall(int count, MPI_Request *requests, int *are_complete, MPI_Status *statuses);
int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *is_there, MPI_Status *status);
int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count);
int MPI_Recv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status);
int MPI_Irecv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Isend(const void *data, int count, MPI_Datatype type, int target, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Issend(const void *data, int count, MPI_Datatype type, int target, int tag, MPI_Comm comm, MPI_Request *request);

#ifdef __cplusplus
}
#endif
