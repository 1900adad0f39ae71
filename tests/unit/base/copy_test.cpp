// Every length and alignment around a cache line, and nothing beside it.
#include "base/copy.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tailrace {
namespace {

TEST(CopyPastCaches, is_as_memcpy) {
    constexpr size_t kBefore = 128, kMost = 70'000;
    std::vector<std::byte> from(kMost + 2 * kBefore), to, expected;
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>((i * 7 + (i >> 8)) % 251);
    for (const size_t bytes : {0, 1, 63, 64, 16'383, 16'384, 16'385, 16'447, 16'448, 20'000, 33'000, 69'999, 70'000})
        for (const size_t from_at : {0, 1, 8, 63})
            for (const size_t to_at : {0, 1, 15, 16, 63, 64}) {
                to.assign(from.size(), std::byte{0xee});
                expected = to;
                std::memcpy(expected.data() + kBefore + to_at, from.data() + from_at, bytes);
                copy_past_caches(to.data() + kBefore + to_at, from.data() + from_at, bytes);
                ASSERT_EQ(to, expected) << bytes << " bytes from " << from_at << " to " << to_at;
            }
}

}  // namespace
}  // namespace tailrace
