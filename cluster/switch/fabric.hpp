// A switch as arithmetic: which frame leaves at which port, and when. It makes no system calls; each call gets the time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <vector>

namespace tailrace::cluster {

using Nanoseconds = std::int64_t;
using Address = std::array<unsigned char, 6>;

/// One link, the same both ways. A frame crosses the sender's link, then the receiver's.
struct Link {
    Nanoseconds delay_ns = 0;
    double ns_per_byte = 0;  ///< 0: no limit
    bool cut = false;
};

/// A frame of the device, which may contain many packets. `wire_bytes`: the bytes that these packets have on a wire.
struct Frame {
    std::vector<unsigned char> bytes;
    std::size_t header_bytes = 0;  ///< of the device, before the frame
    std::size_t wire_bytes = 0;

    [[nodiscard]] Address destination() const;
    [[nodiscard]] Address source() const;
};

class Fabric {
public:
    /// Sends a frame to the node at a port, and takes the frame.
    using Deliver = std::function<void(std::size_t port, const Frame& frame)>;

    explicit Fabric(std::size_t ports) : ports_(ports) {}

    /// Frames that wait on the link continue at the new rate.
    void set_link(std::size_t port, Link link, Nanoseconds now_ns);

    /// A frame that a node has sent.
    void take(std::size_t port, Frame frame, Nanoseconds now_ns);

    /// Delivers the frames that are due. Returns the time of the next one; 0: none is under way.
    Nanoseconds advance(Nanoseconds now_ns, const Deliver& deliver);

    /// Whether the node's link takes another frame. Otherwise the frame waits in the node, as in front of a busy network card.
    [[nodiscard]] bool takes(std::size_t port) const;

    /// The number of frames for which a port had no room. They are lost, as in a real switch.
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

private:
    struct Direction {
        Nanoseconds busy_until_ns = 0;
        std::size_t queued_bytes = 0;
    };

    struct Port {
        Link link;
        Direction in;   // from the node
        Direction out;  // to the node
    };

    enum class Stage { Serialized, AtSwitch, Sent, AtNode };

    struct Event {
        Nanoseconds due_ns;
        std::uint64_t order;
        Stage stage;
        std::size_t port;
        std::size_t frame;

        bool operator>(const Event& other) const { return due_ns != other.due_ns ? due_ns > other.due_ns : order > other.order; }
    };

    void schedule(Nanoseconds due_ns, Stage stage, std::size_t port, std::size_t frame);
    void forward(std::size_t from, std::size_t frame, Nanoseconds now_ns);
    void send(std::size_t to, std::size_t frame, Nanoseconds now_ns);
    std::size_t keep(Frame frame, std::size_t users);
    void release(std::size_t frame);

    struct Kept {
        Frame frame;
        std::size_t users = 0;
    };

    std::vector<Port> ports_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::vector<Kept> kept_;
    std::vector<std::size_t> free_;
    std::map<Address, std::size_t> learned_;
    std::uint64_t order_ = 0;
    std::uint64_t dropped_ = 0;
};

}  // namespace tailrace::cluster
