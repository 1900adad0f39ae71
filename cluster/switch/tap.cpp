#include "cluster/switch/tap.hpp"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>

namespace tailrace::cluster {

namespace {

constexpr std::size_t most_frame_bytes = 70000;  // the offloads make frames of up to 64 KiB plus headers

/// struct virtio_net_hdr_v1 of the kernel, whose header does not compile as C++.
struct DeviceHeader {
    std::uint8_t flags;
    std::uint8_t gso_type;
    std::uint16_t hdr_len;
    std::uint16_t gso_size;
    std::uint16_t csum_start;
    std::uint16_t csum_offset;
    std::uint16_t num_buffers;
};

constexpr std::size_t header_bytes = sizeof(DeviceHeader);
constexpr std::size_t ethernet_bytes = 14;
constexpr std::size_t least_frame_bytes = header_bytes + ethernet_bytes;

int checked(int result, const std::string& what) {
    if (result < 0) {
        throw std::system_error(errno, std::generic_category(), what);
    }
    return result;
}

/// On a wire, a packet of many segments is that many packets, each with headers of Ethernet, IP and TCP.
std::size_t wire_bytes_of(const std::vector<unsigned char>& bytes) {
    constexpr std::size_t at_offset = 12;  // within the header of TCP: its length in words of 4 bytes, in the upper half
    DeviceHeader header{};
    std::memcpy(&header, bytes.data(), sizeof header);
    const std::size_t length = bytes.size() - header_bytes;
    if (header.gso_type == 0 || header.gso_size == 0 || header.csum_start + at_offset >= length) {
        return length;
    }
    const std::size_t tcp_bytes = std::size_t{bytes[header_bytes + header.csum_start + at_offset]} >> 4U << 2U;
    const std::size_t headers = header.csum_start + tcp_bytes;
    if (headers >= length) {
        return length;
    }
    const std::size_t payload = length - headers;
    const std::size_t segments = (payload + header.gso_size - 1) / header.gso_size;
    return payload + segments * headers;
}

}  // namespace

Tap::Tap(const std::string& network_namespace) {
    const int ours = checked(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), "/proc/self/ns/net");
    const int theirs = checked(open(network_namespace.c_str(), O_RDONLY | O_CLOEXEC), network_namespace);
    checked(setns(theirs, CLONE_NEWNET), "setns " + network_namespace);
    descriptor_ = checked(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), "/dev/net/tun");
    ifreq request{};
    request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
    std::strcpy(request.ifr_name, "eth0");
    checked(ioctl(descriptor_, TUNSETIFF, &request), "TUNSETIFF eth0 in " + network_namespace);
    const int size = header_bytes;
    checked(ioctl(descriptor_, TUNSETVNETHDRSZ, &size), "TUNSETVNETHDRSZ");
    checked(ioctl(descriptor_, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6), "TUNSETOFFLOAD");
    checked(setns(ours, CLONE_NEWNET), "setns back");
    close(theirs);
    close(ours);
}

Tap::~Tap() {
    if (descriptor_ >= 0) {
        close(descriptor_);
    }
}

std::optional<Frame> Tap::read() const {
    static thread_local std::vector<unsigned char> buffer(most_frame_bytes);
    const ssize_t count = ::read(descriptor_, buffer.data(), buffer.size());
    if (count < static_cast<ssize_t>(least_frame_bytes)) {
        return std::nullopt;
    }
    Frame frame;
    frame.bytes.assign(buffer.begin(), buffer.begin() + count);
    frame.header_bytes = header_bytes;
    frame.wire_bytes = wire_bytes_of(frame.bytes);
    return frame;
}

void Tap::write(const Frame& frame) const {
    [[maybe_unused]] const ssize_t count = ::write(descriptor_, frame.bytes.data(), frame.bytes.size());
}

}  // namespace tailrace::cluster
