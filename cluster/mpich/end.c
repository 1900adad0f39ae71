// Preloaded into the ranks of MPICH: keeps MPI_Finalize between nodes from hanging.
//
// MPICH 4.0 over UCX closes its connections one by one, each with a flush. Then it waits for all ranks without serving connections.
// A flush that needs a rank which already waits never ends. So this library does not close connections. Instead two barriers run:
// the first makes their connections, and after the second all sent data has arrived. UCX's worker closes what is open after that.
// The build needs neither MPI nor UCX: the names are those of their binary interfaces.
#include <stddef.h>

enum { comm_world = 0x44000000 };

// Weak symbols: a shell between the launcher and the rank does not have them, and must start even where all symbols are bound at
// once.
__attribute__((weak)) int PMPI_Barrier(int comm);
__attribute__((weak)) int PMPI_Finalize(void);
int MPI_Finalize(void);
void *ucp_disconnect_nb(void *connection);

int MPI_Finalize(void) {
    PMPI_Barrier(comm_world);
    PMPI_Barrier(comm_world);
    return PMPI_Finalize();
}

void *ucp_disconnect_nb(void *connection) {
    (void)connection;
    return NULL;  // done
}
