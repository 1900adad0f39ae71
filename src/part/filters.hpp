// The filters of a compressed array as HDF5 has them.
#pragma once

#include <string>

#include "part/description.hpp"
#include "part/hdf5.hpp"

namespace tailrace {

// HDF5 lets no dataset name a filter that it does not know. While this lives it knows those of the arrays; a plugin of the
// application is left alone.
class KnownFilters {
public:
    explicit KnownFilters(const Description& description);
    ~KnownFilters();
    KnownFilters(const KnownFilters&) = delete;
    KnownFilters& operator=(const KnownFilters&) = delete;

private:
    bool ours_ = false;
};

void set_filters(hid_t creation, const Filters& filters);
// Throws UNSUPPORTED for filters that we do not undo. `bytes`: of an element.
Filters read_filters(hid_t creation, uint64_t bytes, const std::string& name);

}  // namespace tailrace
