#include "layout/placement.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kElementBytes = 8;  // every array begins at a multiple of the largest element

constexpr uint64_t kMostBytes = uint64_t{1} << 62;  // the sum of two such numbers does not overflow off_t

[[noreturn]] void refuse_length() {
    fail(Status::BAD_SHAPE, "the arrays and steps would make a file of more than 2^62 bytes; use more files or smaller arrays");
}

uint64_t round_up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace

Placement::Placement(PartBytes bytes, const Storage& storage)
    : bytes_(std::move(bytes)), alignment_(std::max<uint64_t>(storage.alignment_bytes, kElementBytes)),
      threshold_(storage.align_threshold_bytes) {
    uint64_t end = place(kSuperblockBytes, bytes_.static_bytes, static_);
    static_seal_ = round_up(end, kElementBytes);
    static_end_ = bytes_.static_bytes.empty() ? kSuperblockBytes : static_seal_ + bytes_.seal_bytes;

    end = place(0, bytes_.step_bytes, step_);
    step_seal_ = round_up(end, kElementBytes);
    const uint64_t used = step_seal_ + bytes_.seal_bytes;
    pitch_ = align(used, used);
    static_end_ = align(static_end_, used);
}

uint64_t Placement::align(uint64_t address, uint64_t bytes) const {
    if (bytes < threshold_) return round_up(address, kElementBytes);
    return round_up(address, bytes >= kLongBytes ? std::lcm(alignment_, kLargePageBytes) : alignment_);
}

uint64_t Placement::place(uint64_t at, const std::vector<uint64_t>& sizes, std::vector<uint64_t>& addresses) const {
    for (const uint64_t size : sizes) {
        if (size > kMostBytes || at > kMostBytes) refuse_length();
        at = align(at, size);
        addresses.push_back(at);
        at += size;
    }
    if (at > kMostBytes) refuse_length();
    return at;
}

uint64_t block_end(const Placement& placement, const StepBlock& block) {
    uint64_t bytes;
    if (__builtin_mul_overflow(block.steps, placement.step_pitch(), &bytes) || bytes > kMostBytes || block.address > kMostBytes)
        refuse_length();
    return block.address + bytes;
}

uint64_t step_address(const Placement& placement, const std::vector<StepBlock>& blocks, uint64_t step) {
    for (const StepBlock& block : blocks)
        if (step >= block.first_step && step - block.first_step < block.steps)
            return block.address + (step - block.first_step) * placement.step_pitch();
    fail(Status::INTERNAL, "step ", step, " of the part is not laid out");
}

}  // namespace tailrace
