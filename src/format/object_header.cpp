#include "format/object_header.hpp"

namespace tailrace::format {
namespace {

constexpr uint8_t kConstant = 0x01, kNeverShared = 0x04;            // of a message
constexpr uint8_t kSizeOf4Bytes = 0x02, kOrderOfAttributes = 0x0C;  // of the header: the order is kept and indexed
constexpr uint8_t kHasAttributeLimits = 0x10;

}  // namespace

ObjectHeader::ObjectHeader(Bytes& out) : out_(out), begin_(out.size()) {
    out_.put_text("OHDR");
    out_.put(uint8_t{2});  // version
    out_.put(static_cast<uint8_t>(kSizeOf4Bytes | kOrderOfAttributes | kHasAttributeLimits));
    out_.put(kMostAttributes);
    out_.put(static_cast<uint16_t>(kMostAttributes / 2));
    size_at_ = out_.size();
    out_.put(uint32_t{0});
    begin_message(Message::attribute_info, 28, kNeverShared, 0);
    out_.put(uint8_t{0});  // version
    out_.put(uint8_t{3});  // the order is kept and indexed
    attributes_at_ = out_.size();
    out_.put(uint16_t{0});
    for (int tree = 0; tree < 3; ++tree) out_.put(kUndefined);
}

void ObjectHeader::begin_message(Message kind, uint64_t bytes, uint8_t flags, uint16_t order) {
    if (bytes > kMostMessageBytes) fits_ = false;
    out_.put(kind);
    out_.put(static_cast<uint16_t>(bytes));
    out_.put(flags);
    out_.put(order);
}

uint64_t ObjectHeader::add(Message kind, const Bytes& body, bool constant) {
    begin_message(kind, body.size(), constant ? kConstant : 0, 0);
    out_.put_bytes(body.all());
    return out_.size() - body.size();
}

uint64_t ObjectHeader::add_attribute(std::string_view name, const Bytes& type, const Bytes& space,
                                     std::span<const std::byte> values) {
    constexpr uint64_t kHeadBytes = 9;
    if (attributes_ == kMostAttributes) fits_ = false;
    begin_message(Message::attribute, kHeadBytes + name.size() + 1 + type.size() + space.size() + values.size(), 0, attributes_++);
    out_.put(uint8_t{3});  // version
    out_.put(uint8_t{0});
    out_.put(static_cast<uint16_t>(name.size() + 1));
    out_.put(static_cast<uint16_t>(type.size()));
    out_.put(static_cast<uint16_t>(space.size()));
    out_.put(uint8_t{1});  // the name is UTF-8
    out_.put_name(name);
    out_.put_bytes(type.all());
    out_.put_bytes(space.all());
    out_.put_bytes(values);
    return out_.size() - values.size();
}

Bytes::Range ObjectHeader::end() {
    out_.set(size_at_, static_cast<uint32_t>(out_.size() - size_at_ - sizeof(uint32_t)));
    out_.set(attributes_at_, attributes_);
    out_.put(uint32_t{0});
    return {begin_, out_.size()};
}

}  // namespace tailrace::format
