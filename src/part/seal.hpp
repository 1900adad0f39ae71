// The seal: the checksums of the bytes that one writer wrote in one step, stored in the part behind the step's arrays. Its address
// follows from the root attribute `tailrace_seals`, so a part can be checked alone. Every value that is read is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "layout/placement.hpp"
#include "part/description.hpp"
#include "part/part_file.hpp"

namespace tailrace {

constexpr const char* kSealsAttribute = "tailrace_seals";
constexpr uint64_t kSealOfStatic = UINT64_MAX;  // the "step" of the seal of the static arrays

struct Seal {
    uint64_t step = 0;        // within the part, or kSealOfStatic
    uint64_t writer = 0;      // within the part
    uint64_t part_bytes = 0;  // bytes that this writer wrote: the sum of its records
    std::vector<SealRecord> records;
    bool operator==(const Seal&) const = default;
};

// The records must ascend by address and not overlap: parse_seal refuses others.
std::vector<std::byte> make_seal(uint64_t step, uint64_t writer, const std::vector<SealRecord>& records);
// Decodes a seal. Throws CORRUPT unless every field has a value that make_seal can write. `path`: for the message.
Seal parse_seal(std::span<const std::byte> bytes, const std::string& path);

// Reads the bytes of each record and compares their checksum. Returns the first record that does not match, or nothing.
std::optional<SealRecord> verify_records(const File& file, const std::vector<SealRecord>& records);

// The addresses of a part's seals: the value of the root attribute.
struct SealMap {
    uint64_t writers = 0;  // each step, and the static arrays, have one slot for each writer, side by side
    uint64_t slot_bytes = 0;
    uint64_t static_seal = 0;  // address; 0: no static arrays
    uint64_t step_seal = 0;    // offset within a step
    uint64_t step_pitch = 0;
    std::vector<StepBlock> blocks;

    uint64_t static_address(uint64_t writer) const { return static_seal + writer * slot_bytes; }
    uint64_t address(uint64_t step, uint64_t writer) const;  // throws BAD_ARGUMENT for an unknown step or writer
    uint64_t steps() const;
};

SealMap seal_map(const Placement& placement, const std::vector<StepBlock>& blocks, uint64_t writers, uint64_t slot_bytes);
Attribute seal_attribute(const SealMap& map);
// Throws CORRUPT where the numbers cannot be those of a file of `file_bytes` bytes.
SealMap parse_seal_map(std::span<const uint64_t> values, uint64_t file_bytes, const std::string& path);
// Reads the seal attribute of a part; nothing if the part has no seals.
std::optional<SealMap> read_seal_map(const std::string& path);
// Reads one seal of a part at its address.
Seal read_seal(const File& file, uint64_t address, uint64_t slot_bytes);

}  // namespace tailrace
