// The MPI-IO hints for reading that the peers are tried with.
#pragma once

#include "harness/mpi_hints.hpp"

namespace bench {

struct NamedHints {
    const char *name;
    Hints hints;
};

// As the MPI library chooses; large collective buffers and one aggregator for the one node; each rank what it needs and nothing
// else; each rank what it needs with what lies between.
inline const NamedHints reading_hints[] = {
    {"default", {}},
    {"two-phase", {{"romio_cb_read", "enable"}, {"cb_buffer_size", "16777216"}, {"cb_nodes", "1"}}},
    {"direct", {{"romio_ds_read", "disable"}, {"romio_cb_read", "disable"}}},
    {"sieving", {{"romio_ds_read", "enable"}, {"romio_cb_read", "disable"}, {"ind_rd_buffer_size", "16777216"}}},
};

}  // namespace bench
