#include "layout/topology.hpp"

#include <gtest/gtest.h>

namespace tailrace {
namespace {

TEST(Split, AreContiguousNearlyEqualAndFound) {
    for (uint64_t total = 0; total < 40; ++total)
        for (uint64_t n = 1; n < 20; ++n) {
            EXPECT_EQ(split_begin(total, n, 0), 0u);
            EXPECT_EQ(split_begin(total, n, n), total);
            for (uint64_t k = 0; k < n; ++k) {
                const uint64_t lo = split_begin(total, n, k), hi = split_begin(total, n, k + 1);
                EXPECT_TRUE(hi - lo == total / n || hi - lo == total / n + 1) << total << " in " << n;
                for (uint64_t at = lo; at < hi; ++at)
                    EXPECT_EQ(split_index(total, n, at), k) << at << " of " << total << " in " << n;
            }
        }
}

TEST(Split, OfLargeTotalsDoNotOverflow) {
    const uint64_t total = UINT64_MAX / 2, n = 1'000'003;
    EXPECT_EQ(split_begin(total, n, n), total);
    for (const uint64_t k : {uint64_t{0}, uint64_t{1}, n / 2, n - 1}) {
        EXPECT_EQ(split_index(total, n, split_begin(total, n, k)), k);
        EXPECT_EQ(split_index(total, n, split_begin(total, n, k + 1) - 1), k);
    }
}

TEST(Topology, RanksOfANodeAreConsecutive) {
    for (uint64_t ranks = 1; ranks < 30; ++ranks)
        for (uint64_t nodes = 1; nodes <= ranks; ++nodes) {
            const Topology topology{ranks, nodes};
            EXPECT_EQ(topology.first_rank(0), 0u);
            EXPECT_EQ(topology.first_rank(nodes), ranks);
            for (uint64_t node = 0; node < nodes; ++node) {
                const uint64_t first = topology.first_rank(node), last = topology.first_rank(node + 1);
                EXPECT_TRUE(last - first == ranks / nodes || last - first == ranks / nodes + 1);
                for (uint64_t rank = first; rank < last; ++rank) EXPECT_EQ(topology.node_of(rank), node);
            }
        }
}

TEST(Topology, NodesMayHaveAnyNumberOfRanks) {
    for (const std::vector<uint64_t>& sizes : {std::vector<uint64_t>{4, 4, 1}, {3, 2}, {1, 5}, {2, 7, 1, 3}}) {
        const Topology topology = topology_of(sizes);
        ASSERT_EQ(topology.nodes, sizes.size());
        uint64_t rank = 0;
        for (uint64_t node = 0; node < sizes.size(); ++node) {
            EXPECT_EQ(topology.first_rank(node), rank);
            for (const uint64_t last = rank + sizes[node]; rank < last; ++rank) EXPECT_EQ(topology.node_of(rank), node);
        }
        EXPECT_EQ(topology.ranks, rank);
        EXPECT_EQ(topology.first_rank(sizes.size()), rank);
    }
}

}  // namespace
}  // namespace tailrace
