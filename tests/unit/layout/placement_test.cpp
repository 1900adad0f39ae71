#include "layout/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "../error_of.hpp"

namespace tailrace {
namespace {

struct Range {
    uint64_t begin, end;
};

// All arrays and seals of a part with some steps, as ranges of the file.
std::vector<Range> ranges_of(const Placement& placement, uint64_t steps) {
    std::vector<Range> ranges{{0, kSuperblockBytes}};
    const PartBytes& bytes = placement.bytes();
    for (size_t i = 0; i < bytes.static_bytes.size(); ++i)
        ranges.push_back({placement.static_addresses()[i], placement.static_addresses()[i] + bytes.static_bytes[i]});
    if (!bytes.static_bytes.empty()) ranges.push_back({placement.static_seal(), placement.static_seal() + bytes.seal_bytes});
    const StepBlock block{0, steps, placement.static_end()};
    for (uint64_t step = 0; step < steps; ++step) {
        const uint64_t at = step_address(placement, {block}, step);
        for (size_t i = 0; i < bytes.step_bytes.size(); ++i)
            ranges.push_back({at + placement.step_offsets()[i], at + placement.step_offsets()[i] + bytes.step_bytes[i]});
        ranges.push_back({at + placement.step_seal(), at + placement.step_seal() + bytes.seal_bytes});
    }
    ranges.push_back({block_end(placement, block), UINT64_MAX});
    return ranges;
}

TEST(Placement, ArraysDoNotOverlapAndLargeOnesAreAligned) {
    std::mt19937_64 engine(5);
    const auto between = [&](uint64_t lo, uint64_t hi) { return std::uniform_int_distribution<uint64_t>(lo, hi)(engine); };
    for (int round = 0; round < 500; ++round) {
        Storage storage;
        storage.alignment_bytes = uint64_t{8} << between(0, 17);
        storage.align_threshold_bytes = between(0, 1) ? 65536 : between(0, 3000);
        PartBytes bytes;
        bytes.seal_bytes = between(0, 2) * 40;
        for (auto* sizes : {&bytes.static_bytes, &bytes.step_bytes})
            for (uint64_t n = between(0, 6); n-- > 0;) sizes->push_back(between(0, 3) ? between(0, 5000) : between(60000, 300000));
        const Placement placement(bytes, storage);
        std::vector<Range> ranges = ranges_of(placement, 3);
        std::ranges::sort(ranges,
                          [](const Range& a, const Range& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
        for (size_t i = 1; i < ranges.size(); ++i) ASSERT_LE(ranges[i - 1].end, ranges[i].begin) << "round " << round;
        const auto check_aligned = [&](uint64_t address, uint64_t size) {
            const uint64_t multiple = size >= storage.align_threshold_bytes ? storage.alignment_bytes : 8;
            ASSERT_EQ(address % multiple, 0u) << "round " << round;
        };
        for (size_t i = 0; i < bytes.static_bytes.size(); ++i)
            check_aligned(placement.static_addresses()[i], bytes.static_bytes[i]);
        for (uint64_t step = 0; step < 3; ++step)
            for (size_t i = 0; i < bytes.step_bytes.size(); ++i)
                check_aligned(placement.static_end() + step * placement.step_pitch() + placement.step_offsets()[i],
                              bytes.step_bytes[i]);
    }
}

TEST(Placement, TinyArraysStayTiny) {
    Storage storage;
    storage.alignment_bytes = 1 << 20;
    PartBytes bytes;
    bytes.step_bytes.assign(200, 40);
    const Placement placement(bytes, storage);
    EXPECT_EQ(placement.step_pitch(), 200u * 40);
    EXPECT_EQ(placement.static_end(), kSuperblockBytes);
}

TEST(Placement, StepsAreFoundInTheirBlocks) {
    PartBytes bytes;
    bytes.step_bytes = {100};
    const Placement placement(bytes, Storage{});
    const uint64_t pitch = placement.step_pitch();
    EXPECT_EQ(pitch, 104u);
    const std::vector<StepBlock> blocks{{0, 2, 4096}, {2, 8, 10000}};
    EXPECT_EQ(step_address(placement, blocks, 1), 4096 + pitch);
    EXPECT_EQ(step_address(placement, blocks, 2), 10000u);
    EXPECT_EQ(step_address(placement, blocks, 9), 10000 + 7 * pitch);
    EXPECT_EQ(error_of([&] { step_address(placement, blocks, 10); }).status(), Status::INTERNAL);
}

}  // namespace
}  // namespace tailrace
