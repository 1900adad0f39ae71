// The header of an object ("Data Object Header", version 2): its messages in one block. Attributes are messages, and keep the order
// in which they were made: netCDF needs it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "format/bytes.hpp"

namespace tailrace::format {

enum class Message : uint8_t {
    dataspace = 0x01,
    link_info = 0x02,
    datatype = 0x03,
    fill_value = 0x05,
    link = 0x06,
    layout = 0x08,
    group_info = 0x0A,
    filters = 0x0B,
    attribute = 0x0C,
    tree_widths = 0x13,
    attribute_info = 0x15,
};

constexpr uint64_t kMostMessageBytes = 65535;
constexpr uint16_t kMostAttributes = 64;  // for more, HDF5 makes a heap and two trees for one object's attributes

// Begins a header at the end of `out`. Nothing else may be added to `out` until end().
class ObjectHeader {
public:
    explicit ObjectHeader(Bytes& out);

    // Appends a message. `constant`: its body is never changed in place. Returns the position of the body in `out`.
    uint64_t add(Message kind, const Bytes& body, bool constant = false);
    // Appends an attribute. Returns the position of its values in `out`.
    uint64_t add_attribute(std::string_view name, const Bytes& type, const Bytes& space, std::span<const std::byte> values);

    uint64_t begin() const { return begin_; }
    // Ends the header and returns its range in `out`. The caller sets its checksum once all addresses in the header are known.
    Bytes::Range end();

    // False if the header has more than kMostAttributes attributes or a message of more than kMostMessageBytes.
    bool fits() const { return fits_; }

private:
    void begin_message(Message kind, uint64_t bytes, uint8_t flags, uint16_t order);
    Bytes& out_;
    uint64_t begin_, size_at_, attributes_at_;
    uint16_t attributes_ = 0;
    bool fits_ = true;
};

}  // namespace tailrace::format
