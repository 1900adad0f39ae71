#include "gather/at_finalize.hpp"

#include <mpi.h>

#include <memory>
#include <utility>

#include "gather/communicator.hpp"

namespace tailrace {
namespace {

using Work = std::function<void()>;

int do_work(MPI_Comm, int, void* work, void*) {
    const std::unique_ptr<Work> owned(static_cast<Work*>(work));
    (*owned)();
    return MPI_SUCCESS;
}

}  // namespace

// Makes the work the destructor of an attribute of MPI_COMM_SELF: MPI_Finalize deletes these attributes first.
void at_finalize(Work work) {
    int key = MPI_KEYVAL_INVALID;
    check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &do_work, &key, nullptr), "MPI_Comm_create_keyval");
    check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, key, new Work(std::move(work))), "MPI_Comm_set_attr");
    check_mpi(MPI_Comm_free_keyval(&key), "MPI_Comm_free_keyval");
}

}  // namespace tailrace
