#include "cluster/switch/fabric.hpp"

#include <algorithm>
#include <utility>

namespace tailrace::cluster {

namespace {

// Bytes that wait on a node's own link before the node itself waits: a few of the largest frames of a device.
constexpr std::size_t most_in_bytes = 1 << 18;
// A port's buffer holds frames of many senders for a moment, as that of a switch does: as long as the kernel's network holds them,
// but a few of the largest frames always have room.
constexpr Nanoseconds most_out_ns = 50'000'000;
constexpr std::size_t least_out_bytes = 1 << 18;
constexpr std::size_t most_out_bytes = 4 << 20;
constexpr std::size_t most_addresses = 4096;

Address address_at(const Frame& frame, std::size_t offset) {
    Address address{};
    std::copy_n(frame.bytes.begin() + static_cast<std::ptrdiff_t>(frame.header_bytes + offset), address.size(), address.begin());
    return address;
}

std::size_t room_of(const Link& link) {
    if (link.ns_per_byte == 0) {
        return most_out_bytes;
    }
    const double bytes = static_cast<double>(most_out_ns) / link.ns_per_byte;
    return static_cast<std::size_t>(std::clamp(bytes, double{least_out_bytes}, double{most_out_bytes}));
}

bool for_many(const Address& address) { return (address[0] & 1) != 0; }

}  // namespace

Address Frame::destination() const { return address_at(*this, 0); }

Address Frame::source() const { return address_at(*this, 6); }

void Fabric::set_link(std::size_t port, Link link, Nanoseconds now_ns) {
    Port& changed = ports_.at(port);
    const double before = changed.link.ns_per_byte;
    if (link.cut) {
        changed.link.cut = true;  // frames under way keep the rate until a new one is set
        return;
    }
    changed.link = link;
    if (before == 0 || before == link.ns_per_byte) {
        return;
    }
    const auto at_new_rate = [&](Nanoseconds due_ns) {
        const auto left_ns = static_cast<double>(due_ns - now_ns);
        return left_ns <= 0 ? due_ns : now_ns + static_cast<Nanoseconds>(left_ns * link.ns_per_byte / before);
    };
    changed.in.busy_until_ns = at_new_rate(changed.in.busy_until_ns);
    changed.out.busy_until_ns = at_new_rate(changed.out.busy_until_ns);
    decltype(events_) events;
    for (; !events_.empty(); events_.pop()) {
        Event event = events_.top();
        if (event.port == port && (event.stage == Stage::Serialized || event.stage == Stage::Sent)) {
            event.due_ns = at_new_rate(event.due_ns);
        }
        events.push(event);
    }
    events_ = std::move(events);
}

bool Fabric::takes(std::size_t port) const { return ports_[port].in.queued_bytes < most_in_bytes; }

void Fabric::take(std::size_t port, Frame frame, Nanoseconds now_ns) {
    Port& from = ports_[port];
    if (from.link.cut) {
        return;
    }
    const std::size_t bytes = frame.wire_bytes;
    const Address source = frame.source();
    if (!for_many(source) && (learned_.size() < most_addresses || learned_.contains(source))) {
        learned_[source] = port;
    }
    const std::size_t kept = keep(std::move(frame), 1);
    if (from.link.ns_per_byte == 0 && from.link.delay_ns == 0) {
        forward(port, kept, now_ns);
        return;
    }
    from.in.busy_until_ns =
        std::max(from.in.busy_until_ns, now_ns) + static_cast<Nanoseconds>(static_cast<double>(bytes) * from.link.ns_per_byte);
    from.in.queued_bytes += bytes;
    schedule(from.in.busy_until_ns, Stage::Serialized, port, kept);
}

Nanoseconds Fabric::advance(Nanoseconds now_ns, const Deliver& deliver) {
    while (!events_.empty() && events_.top().due_ns <= now_ns) {
        const Event event = events_.top();
        events_.pop();
        Port& port = ports_[event.port];
        const std::size_t bytes = kept_[event.frame].frame.wire_bytes;
        switch (event.stage) {
            case Stage::Serialized:
                port.in.queued_bytes -= bytes;
                schedule(event.due_ns + port.link.delay_ns, Stage::AtSwitch, event.port, event.frame);
                break;
            case Stage::AtSwitch:
                if (port.link.cut) {
                    release(event.frame);
                } else {
                    forward(event.port, event.frame, event.due_ns);
                }
                break;
            case Stage::Sent:
                port.out.queued_bytes -= bytes;
                schedule(event.due_ns + port.link.delay_ns, Stage::AtNode, event.port, event.frame);
                break;
            case Stage::AtNode:
                if (!port.link.cut) {
                    deliver(event.port, kept_[event.frame].frame);
                }
                release(event.frame);
                break;
        }
    }
    return events_.empty() ? 0 : events_.top().due_ns;
}

void Fabric::schedule(Nanoseconds due_ns, Stage stage, std::size_t port, std::size_t frame) {
    events_.push({due_ns, order_++, stage, port, frame});
}

/// `now_ns`: when the frame arrived at the switch, which may be slightly in the past. Later times count from it, so that delays of
/// this process do not add up.
void Fabric::forward(std::size_t from, std::size_t frame, Nanoseconds now_ns) {
    const Address destination = kept_[frame].frame.destination();
    const auto known = for_many(destination) ? learned_.end() : learned_.find(destination);
    if (known != learned_.end()) {
        if (known->second == from) {
            release(frame);
        } else {
            send(known->second, frame, now_ns);
        }
        return;
    }
    kept_[frame].users += ports_.size() - 1;
    for (std::size_t to = 0; to < ports_.size(); ++to) {
        if (to != from) {
            send(to, frame, now_ns);
        }
    }
    release(frame);
}

void Fabric::send(std::size_t to, std::size_t frame, Nanoseconds now_ns) {
    Port& port = ports_[to];
    const std::size_t bytes = kept_[frame].frame.wire_bytes;
    if (port.link.cut || port.out.queued_bytes + bytes > room_of(port.link)) {
        dropped_ += port.link.cut ? 0 : 1;
        release(frame);
        return;
    }
    port.out.busy_until_ns =
        std::max(port.out.busy_until_ns, now_ns) + static_cast<Nanoseconds>(static_cast<double>(bytes) * port.link.ns_per_byte);
    port.out.queued_bytes += bytes;
    schedule(port.out.busy_until_ns, Stage::Sent, to, frame);
}

std::size_t Fabric::keep(Frame frame, std::size_t users) {
    if (free_.empty()) {
        kept_.push_back({std::move(frame), users});
        return kept_.size() - 1;
    }
    const std::size_t at = free_.back();
    free_.pop_back();
    kept_[at] = {std::move(frame), users};
    return at;
}

void Fabric::release(std::size_t frame) {
    if (--kept_[frame].users == 0) {
        kept_[frame].frame = {};
        free_.push_back(frame);
    }
}

}  // namespace tailrace::cluster
