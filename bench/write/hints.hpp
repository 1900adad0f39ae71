// The MPI-IO hints that are tried for the peers' writes.
#pragma once

#include "harness/mpi_hints.hpp"

namespace bench {

// Two-phase writes: large collective buffers, and one aggregator for the one node. Without data sieving, which would read and
// rewrite the gaps.
inline Hints hints_two_phase() {
    return {{"romio_ds_write", "disable"}, {"romio_cb_write", "enable"}, {"cb_buffer_size", "16777216"}, {"cb_nodes", "1"}};
}
inline Hints hints_direct() {
    return {{"romio_ds_write", "disable"}, {"romio_cb_write", "disable"}, {"collective_buffering", "false"}};
}

}  // namespace bench
