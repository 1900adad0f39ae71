#include "format/messages.hpp"

#include <bit>

#include "format/chunk_index.hpp"

namespace tailrace::format {
namespace {

enum class Layout : uint8_t { contiguous = 1, chunked = 2, from_other_files = 3 };

void put_layout(Bytes& out, uint8_t version, Layout layout) {
    out.put(version);
    out.put(layout);
}

}  // namespace

Bytes fill_value(Allocation allocation, FillTime time, std::span<const std::byte> value) {
    constexpr uint8_t kIsDefined = 0x20;
    Bytes out;
    out.put(uint8_t{3});  // version
    out.put(static_cast<uint8_t>(static_cast<unsigned>(allocation) | static_cast<unsigned>(time) << 2 |
                                 (value.empty() ? 0u : kIsDefined)));
    if (value.empty()) return out;
    out.put(static_cast<uint32_t>(value.size()));
    out.put_bytes(value);
    return out;
}

Bytes contiguous_layout(uint64_t address, uint64_t bytes) {
    Bytes out;
    put_layout(out, 4, Layout::contiguous);
    out.put(address);
    out.put(bytes);
    return out;
}

Bytes virtual_layout(uint64_t collection, uint32_t number) {
    Bytes out;
    put_layout(out, 4, Layout::from_other_files);
    out.put(collection);
    out.put(number);
    return out;
}

Bytes fixed_array_layout(std::span<const uint64_t> chunk, uint64_t element_bytes, uint64_t address) {
    constexpr uint8_t kFixedArray = 3;
    Bytes out;
    put_layout(out, 4, Layout::chunked);
    out.put(uint8_t{0});
    out.put(static_cast<uint8_t>(chunk.size() + 1));
    // Each length has as few bytes as the largest needs: newer versions of HDF5 require it.
    uint64_t all = element_bytes;
    for (const uint64_t length : chunk) all |= length;
    const auto width = static_cast<uint8_t>((std::bit_width(all) + 7) / 8);
    out.put(width);
    const auto put_length = [&](uint64_t length) { out.put_bytes(std::as_bytes(std::span(&length, 1)).first(width)); };
    for (const uint64_t length : chunk) put_length(length);
    put_length(element_bytes);
    out.put(kFixedArray);
    out.put(kFixedArrayPageBits);
    out.put(address);
    return out;
}

Bytes chunk_tree_layout(std::span<const uint64_t> chunk, uint64_t element_bytes, uint64_t address) {
    Bytes out;
    put_layout(out, 3, Layout::chunked);
    out.put(static_cast<uint8_t>(chunk.size() + 1));
    out.put(address);
    for (const uint64_t length : chunk) out.put(static_cast<uint32_t>(length));
    out.put(static_cast<uint32_t>(element_bytes));
    return out;
}

Bytes filter_pipeline(std::span<const Filter> filters) {
    constexpr uint16_t kOwnNumbers = 256;  // smaller numbers are HDF5's own filters, which have no name here
    constexpr uint16_t kOptional = 1;
    Bytes out;
    out.put(uint8_t{2});  // version
    out.put(static_cast<uint8_t>(filters.size()));
    for (const Filter& filter : filters) {
        const bool named = filter.number >= kOwnNumbers;
        out.put(filter.number);
        if (named) out.put(static_cast<uint16_t>(filter.name.size() + 1));
        out.put(kOptional);
        out.put(static_cast<uint16_t>(filter.values.size()));
        if (named) out.put_name(filter.name);
        for (const uint32_t value : filter.values) out.put(value);
    }
    return out;
}

Bytes link_info(uint64_t links) {
    Bytes out;
    out.put(uint8_t{0});  // version
    out.put(uint8_t{3});  // the order is kept and indexed
    out.put(links);
    for (int tree = 0; tree < 3; ++tree) out.put(kUndefined);
    return out;
}

Bytes group_info() {
    constexpr uint8_t kHasLinkLimits = 1;
    Bytes out;
    out.put(uint8_t{0});  // version
    out.put(kHasLinkLimits);
    out.put(static_cast<uint16_t>(kMostLinks));
    out.put(static_cast<uint16_t>(kMostLinks - 1));
    return out;
}

Bytes link(std::string_view name, uint64_t number, uint64_t address) {
    constexpr uint8_t kHasNumber = 0x04, kHasEncoding = 0x10, kLengthOf2Bytes = 0x01;
    const bool long_name = name.size() > 255;
    Bytes out;
    out.put(uint8_t{1});  // version
    out.put(static_cast<uint8_t>(kHasNumber | kHasEncoding | (long_name ? kLengthOf2Bytes : 0)));
    out.put(number);
    out.put(uint8_t{1});  // UTF-8
    if (long_name)
        out.put(static_cast<uint16_t>(name.size()));
    else
        out.put(static_cast<uint8_t>(name.size()));
    out.put_text(name);
    out.put(address);
    return out;
}

Bytes superblock(uint64_t root_address, uint64_t extension_address, uint64_t file_bytes) {
    Bytes out;
    out.put_text("\x89HDF\r\n\x1a\n");
    for (const int value : {3, 8, 8, 0})
        out.put(static_cast<uint8_t>(value));  // version, bytes of addresses and lengths, nothing open
    out.put(uint64_t{0});                      // addresses count from the file's beginning
    out.put(extension_address);
    out.put(file_bytes);
    out.put(root_address);
    out.put_checksum();
    return out;
}

Bytes tree_widths(uint64_t most_children) {
    constexpr uint16_t kOfGroups = 16, kOfGroupLeaves = 4;  // HDF5's defaults; Tailrace makes no such trees
    Bytes out;
    out.put(uint8_t{0});  // version
    out.put(static_cast<uint16_t>(most_children / 2));
    out.put(kOfGroups);
    out.put(kOfGroupLeaves);
    return out;
}

}  // namespace tailrace::format
