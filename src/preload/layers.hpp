// Libraries that write through other libraries: netCDF through HDF5, HDF5 through MPI-IO, MPI-IO through the C library. Each layer
// records a call once: calls of a library to itself are not recorded. Each event has flags for the layers within which it was made.
#pragma once

#include "preload/hook.hpp"

namespace tailrace::preload {

// Lives as long as a call of a layer.
class Layer {
public:
    explicit Layer(trace::Within layer) : before_(tailrace_within), is_outermost_((before_ & static_cast<uint16_t>(layer)) == 0) {
        tailrace_within |= static_cast<uint16_t>(layer);
    }
    Layer(const Layer&) = delete;
    Layer& operator=(const Layer&) = delete;
    // RATIONALE: restores all flags. An exception may have passed the layers within this one without clearing theirs.
    ~Layer() { tailrace_within = before_; }
    // Whether the call does not come from its own layer.
    bool is_outermost() const { return is_outermost_; }

private:
    const uint16_t before_;
    const bool is_outermost_;
};

}  // namespace tailrace::preload
