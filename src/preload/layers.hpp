// Libraries that write through other libraries: netCDF through HDF5, HDF5 through MPI-IO, MPI-IO through the C library. A call is
// recorded by each layer, once: what a library calls of itself is not. Every event says within which layers it was made.
#pragma once

#include "preload/hook.hpp"

namespace tailrace::preload {

// While a call of a layer runs.
class Layer {
public:
    explicit Layer(trace::Within layer) : before_(tailrace_within), first_((before_ & static_cast<uint16_t>(layer)) == 0) {
        tailrace_within |= static_cast<uint16_t>(layer);
    }
    Layer(const Layer&) = delete;
    Layer& operator=(const Layer&) = delete;
    // An exception may have passed the layers within this one, and left their marks.
    ~Layer() { tailrace_within = before_; }
    // Not called by its own layer.
    bool first() const { return first_; }

private:
    const uint16_t before_;
    const bool first_;
};

}  // namespace tailrace::preload
