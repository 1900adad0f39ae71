#pragma once

#include "job.hpp"

#include <hdf5.h>

namespace bench {

// Fails the job with the name of the call when an HDF5 call returned a negative number.
inline hid_t checked(hid_t result, const char *call, const std::string &path) {
    if (result < 0) fail(std::string(call) + " failed for " + path + "; the HDF5 error stack is above");
    return result;
}

}  // namespace bench
