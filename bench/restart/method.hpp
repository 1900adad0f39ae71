// One way of reading a rank's slab of all arrays from the files of bench_write.
#pragma once

#include "harness/arrays.hpp"
#include "harness/entry.hpp"
#include "slab.hpp"

#include <mpi.h>

namespace bench {

struct Restart {
    MPI_Comm comm;
    int rank;
    Case shape;  // as it was written
    std::array<uint64_t, 3> global;
    Slab slab;
    Buffer memory;  // the slabs, variable after variable; the same for all methods

    uint64_t slab_bytes() const { return slab.elements() * static_cast<uint64_t>(shape.element_bytes); }
    std::byte *of_variable(int variable) const { return memory.data() + static_cast<uint64_t>(variable) * slab_bytes(); }
};

class Method {
public:
    virtual ~Method() = default;
    // Collective; the clock runs: opens the files of `folder`, reads the slabs, closes.
    virtual void read(const Restart &restart, const std::string &folder) = 0;
};

using Entry = EntryOf<Method>;  // its files: those that the entry of bench_write with this name wrote
using Entries = std::vector<Entry>;

// One function for each file of methods; to add a method, write its file and add its function here and to all_entries().
void add_raw(Entries &entries);
void add_tailrace(Entries &entries);
void add_hdf5(Entries &entries);
void add_netcdf4(Entries &entries);
void add_pnetcdf(Entries &entries);
Entries all_entries();

}  // namespace bench
