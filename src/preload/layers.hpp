// Libraries that write through other libraries: netCDF through HDF5, HDF5 through MPI-IO, MPI-IO through the C library. Each layer
// records a call once: calls of a library to itself are not recorded. Each event has flags for the layers within which it was made.
#pragma once

#include "preload/hook.hpp"

namespace tailrace::preload {

// Marks this thread as within a call of a layer, from construction to destruction.
class Layer {
public:
    explicit Layer(trace::Within layer) : before_(tailrace_within), is_outermost_((before_ & static_cast<uint16_t>(layer)) == 0) {
        tailrace_within |= static_cast<uint16_t>(layer);
    }
    Layer(const Layer&) = delete;
    Layer& operator=(const Layer&) = delete;
    // Restores all flags, because an exception may have left inner layers without clearing their flags.
    ~Layer() { tailrace_within = before_; }
    // Whether the call was not made by the layer itself.
    bool is_outermost() const { return is_outermost_; }

private:
    const uint16_t before_;
    const bool is_outermost_;
};

}  // namespace tailrace::preload
