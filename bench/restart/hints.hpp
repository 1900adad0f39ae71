// The MPI-IO hints that are tried for the peers' reads.
#pragma once

#include "harness/mpi_hints.hpp"

namespace bench {

struct NamedHints {
    const char *name;
    Hints hints;
};

// The hint sets. default: the MPI library's choice; two-phase: large collective buffers and one aggregator for the one node;
// direct: each rank reads only its data; sieving: each rank reads its data with the gaps between.
inline const NamedHints reading_hints[] = {
    {"default", {}},
    {"two-phase", {{"romio_cb_read", "enable"}, {"cb_buffer_size", "16777216"}, {"cb_nodes", "1"}}},
    {"direct", {{"romio_ds_read", "disable"}, {"romio_cb_read", "disable"}}},
    {"sieving", {{"romio_ds_read", "enable"}, {"romio_cb_read", "disable"}, {"ind_rd_buffer_size", "16777216"}}},
};

}  // namespace bench
