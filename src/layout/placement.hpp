// Where each byte of a part goes. Addresses are a pure function of what is stored, so every writer computes them without messages.
//
//   [superblock page][static arrays][step 0][step 1] ... [metadata 0][step n] ... [metadata 1] ...
//
// A step's arrays are in the order of definition, each at the next aligned address; after them come the step's seals: the checksums
// of what each writer wrote. Steps are laid out in blocks. A part that grows gets another block, and new metadata behind it.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/layout.hpp"

namespace tailrace {

// Extents of at least kLongBytes begin at a multiple of the largest memory page, which is also a multiple of Lustre's stripes
// (1 MiB). RATIONALE: the page cache then uses large pages: writes on ext4 were 1.3 to 1.6 times faster (measured). The gaps take
// at most an eighth of the space.
constexpr uint64_t kLargePageBytes = 2u << 20;
constexpr uint64_t kLongBytes = 8 * kLargePageBytes;
constexpr uint64_t kSuperblockBytes = 4096;  // the superblock's page; everything else is behind it

// Room for the seal of one writer: a head; for each extent its address, length and checksum.
constexpr uint64_t kSealHeadBytes = 48, kSealRecordBytes = 24;
constexpr uint64_t seal_slot_bytes(uint64_t records) { return kSealHeadBytes + records * kSealRecordBytes; }
constexpr uint64_t seal_records_in(uint64_t slot_bytes) {
    return slot_bytes < kSealHeadBytes ? 0 : (slot_bytes - kSealHeadBytes) / kSealRecordBytes;
}
// The room for checksum records has so many more than one for each extent of an array and one for each variable.
constexpr uint64_t kSpareSealRecords = 8;

// The sizes of one part's arrays in bytes. A scalar has one element.
struct PartBytes {
    std::vector<uint64_t> static_bytes;  // of each static array
    std::vector<uint64_t> step_bytes;    // of each array of a step; the time value is one of them
    uint64_t seal_bytes = 0;             // room for the checksums of a step, and as much for those of the static arrays
};

class Placement {
public:
    Placement() = default;
    // Throws BAD_SHAPE where the arrays are more bytes than a file may have.
    Placement(PartBytes bytes, const Storage& storage);

    // Addresses of the static arrays and their seals, and the first address at which steps may begin.
    const std::vector<uint64_t>& static_addresses() const { return static_; }
    uint64_t static_seal() const { return static_seal_; }
    uint64_t static_end() const { return static_end_; }

    // Offsets within a step that begins at an aligned address: of its arrays, its seals, and the next step.
    const std::vector<uint64_t>& step_offsets() const { return step_; }
    uint64_t step_seal() const { return step_seal_; }
    uint64_t step_pitch() const { return pitch_; }

    const PartBytes& bytes() const { return bytes_; }
    uint64_t align(uint64_t address, uint64_t bytes) const;

private:
    uint64_t place(uint64_t at, const std::vector<uint64_t>& sizes, std::vector<uint64_t>& addresses) const;
    PartBytes bytes_;
    uint64_t alignment_ = 1, threshold_ = 0;
    std::vector<uint64_t> static_, step_;
    uint64_t static_seal_ = 0, static_end_ = 0, step_seal_ = 0, pitch_ = 0;
};

// Consecutive steps that are laid out together in a part. All addresses of a growing part follow from its blocks.
struct StepBlock {
    uint64_t first_step = 0;  // within the part
    uint64_t steps = 0;
    uint64_t address = 0;  // of its first step
};

// Throws BAD_SHAPE where the steps are more bytes than a file may have.
uint64_t block_end(const Placement& placement, const StepBlock& block);

// The address of a step that is laid out in one of the blocks.
uint64_t step_address(const Placement& placement, const std::vector<StepBlock>& blocks, uint64_t step);

}  // namespace tailrace
