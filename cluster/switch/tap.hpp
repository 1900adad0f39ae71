// The device by which a node is at the switch: eth0 of a network namespace, whose other end is a descriptor here.
#pragma once

#include "cluster/switch/fabric.hpp"

#include <optional>
#include <string>

namespace tailrace::cluster {

class Tap {
public:
    /// Makes eth0 in the network namespace that the path names. Throws std::system_error.
    explicit Tap(const std::string& network_namespace);
    ~Tap();
    Tap(const Tap&) = delete;
    Tap& operator=(const Tap&) = delete;

    [[nodiscard]] int descriptor() const { return descriptor_; }

    /// The next frame from the node, if there is one.
    std::optional<Frame> read() const;

    /// A frame is lost, as on a wire, if the node's device does not take it because it is down.
    void write(const Frame& frame) const;

private:
    int descriptor_ = -1;
};

}  // namespace tailrace::cluster
