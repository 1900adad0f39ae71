// The MPI-IO hints for writing that the peers are tried with.
#pragma once

#include "harness/mpi_hints.hpp"

namespace bench {

// No data sieving: it reads and rewrites what lies between; large collective buffers, one aggregator for the one node.
inline Hints hints_two_phase() {
    return {{"romio_ds_write", "disable"}, {"romio_cb_write", "enable"}, {"cb_buffer_size", "16777216"}, {"cb_nodes", "1"}};
}
inline Hints hints_direct() {
    return {{"romio_ds_write", "disable"}, {"romio_cb_write", "disable"}, {"collective_buffering", "false"}};
}

}  // namespace bench
