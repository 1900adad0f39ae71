#include "forward/roles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace tailrace {
namespace {

std::vector<uint64_t> nodes(uint64_t ranks, uint64_t per_node) {
    std::vector<uint64_t> node_of;
    for (uint64_t r = 0; r < ranks; ++r) node_of.push_back(r / per_node);
    return node_of;
}

std::vector<uint64_t> writing(const Roles& roles) {
    std::vector<uint64_t> ranks;
    for (uint64_t r = 0; r < roles.writes.size(); ++r)
        if (roles.writes[r]) ranks.push_back(r);
    return ranks;
}

TEST(Roles, TheLastRanksOfEachNodeWriteForTheOthers) {
    const Roles roles = choose_roles(nodes(12, 4), 3);
    EXPECT_EQ(writing(roles), (std::vector<uint64_t>{3, 7, 11}));
    for (const uint64_t r : {0, 1, 2}) EXPECT_EQ(roles.writer[r], 0u);
    for (const uint64_t r : {8, 9, 10}) EXPECT_EQ(roles.writer[r], 2u);
}

TEST(Roles, FewWritersAreOnSomeNodes) {
    const Roles roles = choose_roles(nodes(16, 4), 2);
    EXPECT_EQ(writing(roles), (std::vector<uint64_t>{3, 11}));
    for (const uint64_t r : {0, 4, 7}) EXPECT_EQ(roles.writer[r], 0u);
    for (const uint64_t r : {8, 12, 15}) EXPECT_EQ(roles.writer[r], 1u);
}

TEST(Roles, EachWriterHasWorkAndTheOrderIsKept) {
    for (uint64_t ranks = 2; ranks <= 24; ++ranks)
        for (uint64_t per_node = 1; per_node <= ranks; ++per_node)
            for (uint64_t dedicated = 1; dedicated <= ranks / 2; ++dedicated) {
                const Roles roles = choose_roles(nodes(ranks, per_node), dedicated);
                ASSERT_EQ(writing(roles).size(), dedicated) << ranks << " ranks, " << per_node << " a node";
                std::vector<uint64_t> served(dedicated, 0);
                uint64_t before = 0;
                for (uint64_t r = 0; r < ranks; ++r) {
                    if (roles.writes[r]) continue;
                    ASSERT_LT(roles.writer[r], dedicated);
                    EXPECT_GE(roles.writer[r], before);
                    before = roles.writer[r];
                    ++served[before];
                }
                EXPECT_EQ(std::count(served.begin(), served.end(), 0), 0)
                    << ranks << " ranks, " << per_node << " a node, " << dedicated << " set aside";
            }
}

}  // namespace
}  // namespace tailrace
