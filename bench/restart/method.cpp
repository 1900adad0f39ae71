#include "method.hpp"

namespace bench {

Entries all_entries() {
    Entries entries;
    add_raw(entries);
    add_tailrace(entries);
    add_hdf5(entries);
    add_netcdf4(entries);
    add_pnetcdf(entries);
    return entries;
}

}  // namespace bench
