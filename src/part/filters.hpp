// The filters of a compressed array in HDF5's terms.
#pragma once

#include <string>

#include "part/description.hpp"
#include "part/hdf5.hpp"

namespace tailrace {

// Registers the filters of the arrays with HDF5 until it is destroyed: HDF5 refuses a dataset with an unknown filter. Keeps a
// filter that the application has registered.
class KnownFilters {
public:
    explicit KnownFilters(const Description& description);
    ~KnownFilters();
    KnownFilters(const KnownFilters&) = delete;
    KnownFilters& operator=(const KnownFilters&) = delete;

private:
    bool registered_ = false;
};

void set_filters(hid_t creation, const Filters& filters);
// Throws UNSUPPORTED for filters that Codec cannot undo. `bytes`: size of an element. `name`: of the array, for the message.
Filters read_filters(hid_t creation, uint64_t bytes, const std::string& name);

}  // namespace tailrace
