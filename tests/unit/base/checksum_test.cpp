#include "base/checksum.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tailrace {
namespace {

#if defined(__x86_64__)
constexpr unsigned kUpperHalves = 1u << 2;

// The state components that are in use: what clear_upper_halves() is about.
__attribute__((target("xsave"))) unsigned in_use() { return static_cast<unsigned>(__builtin_ia32_xgetbv(1)); }

TEST(Checksum, LeavesNoVectorStateThatSlowsTheCallerDown) {
    if (!__builtin_cpu_supports("avx") || !__builtin_cpu_supports("xsavec"))
        GTEST_SKIP() << "this processor has no wide vectors, or does not tell whether they are in use";
    __asm__ volatile("vpcmpeqd %%ymm0, %%ymm0, %%ymm0" ::: "xmm0");
    ASSERT_TRUE(in_use() & kUpperHalves) << "the processor does not tell that they are in use";
    const std::vector<std::byte> bytes(1u << 20, std::byte{7});
    Checksum sum;
    for (size_t size = 1; size <= bytes.size(); size *= 3) {
        sum.add(bytes.data(), size);
        EXPECT_FALSE(in_use() & kUpperHalves) << "after adding " << size << " bytes";
        Checksum::of(bytes.data(), size);
        EXPECT_FALSE(in_use() & kUpperHalves) << "after the sum of " << size << " bytes";
    }
}
#endif

}  // namespace
}  // namespace tailrace
