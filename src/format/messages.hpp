// The messages of datasets and of the root group, and the superblock.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "format/bytes.hpp"

namespace tailrace::format {

// ---- datasets ----------------------------------------------------------------------------------------------------------------

enum class Allocation : uint8_t { early = 1, late = 2, incremental = 3 };
enum class FillTime : uint8_t { never = 1, if_set = 2 };
// `value`: one element, or empty.
Bytes fill_value(Allocation allocation, FillTime time, std::span<const std::byte> value);

// `address`: kUndefined where nothing is stored.
Bytes contiguous_layout(uint64_t address, uint64_t bytes);
// The layout of a virtual dataset, whose list of sources is the object `number` of this collection of the global heap.
Bytes virtual_layout(uint64_t collection, uint32_t number);
// Layouts with chunks. `chunk`: the lengths of a chunk. `address`: of the fixed array, or of the root of the tree.
Bytes fixed_array_layout(std::span<const uint64_t> chunk, uint64_t element_bytes, uint64_t address);
Bytes chunk_tree_layout(std::span<const uint64_t> chunk, uint64_t element_bytes, uint64_t address);
constexpr uint64_t kTreeAddressAt = 3;  // byte position of the tree's address in the message of chunk_tree_layout()

struct Filter {
    uint16_t number;
    std::string_view name;  // only of filters that HDF5 does not contain
    std::vector<uint32_t> values;
};
Bytes filter_pipeline(std::span<const Filter> filters);

// ---- the root group ----------------------------------------------------------------------------------------------------------

// Its links are messages of its header, and keep the order in which they were made.
constexpr uint64_t kMostLinks = 65535;
Bytes link_info(uint64_t links);
Bytes group_info();
Bytes link(std::string_view name, uint64_t number, uint64_t address);

// ---- the superblock ----------------------------------------------------------------------------------------------------------

// Version 3, HDF5 1.10. The extension is an object header with the choices that are not HDF5's defaults; kUndefined: none.
Bytes superblock(uint64_t root_address, uint64_t extension_address, uint64_t file_bytes);
// For the extension: the most children of a node of a chunk tree, an even number.
Bytes tree_widths(uint64_t most_children);

}  // namespace tailrace::format
