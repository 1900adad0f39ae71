#include "view/subindexes.hpp"

#include <gtest/gtest.h>

#include <tailrace/tailrace.h>

#include <algorithm>
#include <set>

namespace tailrace {
namespace {

// Groups of so many steps with so many parts each.
History history_of(const std::vector<std::pair<uint64_t, uint64_t>>& groups) {
    History history;
    history.runs.emplace_back();
    for (const auto& [steps, parts] : groups) {
        GroupEntry group;
        group.start = history.steps.size();
        group.steps = steps;
        group.parts = parts;
        for (uint64_t k = 0; k < steps; ++k) history.steps.push_back({history.steps.size(), 0, history.groups.size(), parts, 0});
        history.add_group(group);
    }
    return history;
}

History same_groups(uint64_t groups, uint64_t steps, uint64_t parts) {
    return history_of(std::vector<std::pair<uint64_t, uint64_t>>(groups, {steps, parts}));
}

// Checks for any groups: each part of each step is in exactly one subindex, within its length, and no subindex has too many parts.
void check(const History& history) {
    const auto subindexes = subindexes_of(history, "s");
    std::set<std::string> paths;
    for (const Subindex& subindex : subindexes) {
        EXPECT_TRUE(paths.insert(subindex.path).second) << subindex.path;
        uint64_t parts = 0;
        for (size_t i = subindex.from; i < subindex.to; ++i) {
            EXPECT_GE(history.steps[i].step, subindex.start);
            EXPECT_LT(history.steps[i].step - subindex.start, subindex.length);
            if (i > subindex.from && history.steps[i].group == history.steps[i - 1].group) continue;
            for (uint64_t part = 0; part < history.groups[history.steps[i].group].parts; ++part) parts += subindex.shows(part);
        }
        EXPECT_GT(parts, 0u);
        EXPECT_LE(parts, kMaxIndexParts);
    }
    for (size_t i = 0; i < history.steps.size(); ++i)
        for (uint64_t part = 0; part < history.groups[history.steps[i].group].parts; ++part) {
            const auto shows = [&](const Subindex& subindex) {
                return subindex.from <= i && i < subindex.to && subindex.shows(part);
            };
            ASSERT_EQ(std::count_if(subindexes.begin(), subindexes.end(), shows), 1) << "step " << i << ", part " << part;
        }
}

TEST(Subindexes, NoneWhereThePartsAreFew) {
    EXPECT_TRUE(subindexes_of(same_groups(kMaxIndexParts / 4, 3, 4), "history").empty());
    EXPECT_TRUE(subindexes_of(same_groups(1, 1, kMaxIndexParts), "history").empty());
    EXPECT_TRUE(subindexes_of(same_groups(kMaxIndexParts + 1, 1, 1), "history", kMaxIndexParts).empty());
    EXPECT_TRUE(subindexes_of(History(), "history").empty());
}

TEST(Subindexes, OfManyGroups) {
    const History history = same_groups(kMaxIndexParts / 4 + 1, 3, 4);
    check(history);
    const auto subindexes = subindexes_of(history, "history");
    ASSERT_EQ(subindexes.size(), 2u);
    EXPECT_EQ(subindexes[0].path, "history.parts/index/history.index.000000.000000.nc");
    EXPECT_EQ(subindexes[1].path, "history.parts/index/history.index.000192.000000.nc");
    EXPECT_EQ(subindexes[1].length, 3u);
}

TEST(Subindexes, OfManyPartsAStep) {
    const History history = same_groups(2, 3, 2 * kMaxIndexParts + 1);
    check(history);
    const auto subindexes = subindexes_of(history, "h");
    ASSERT_EQ(subindexes.size(), 6u);
    EXPECT_EQ(subindexes[5].path, "h.parts/index/h.index.000003.000512.nc");
    EXPECT_EQ(subindexes[5].first_part, 512u);
    EXPECT_EQ(subindexes[5].last_part, 513u);
}

TEST(Subindexes, OfUnevenGroups) {
    check(history_of({{1, 200}, {5, 100}, {1, 156}, {2, 1}, {1, kMaxIndexParts}, {1, 1}, {2, 3 * kMaxIndexParts}, {1, 7}}));
    check(same_groups(5 * kMaxIndexParts, 1, 1));
}

// A reader may have an older NAME.nc open: the subindex of a name has the same step at the same position.
TEST(Subindexes, KeepPositionsWhenStepsLeave) {
    History history = same_groups(4 * kMaxIndexParts, 1, 1);
    const auto before = subindexes_of(history, "h");
    history.drop(0, kMaxIndexParts + 9, false);
    history.drop(700, 702, true);
    const auto after = subindexes_of(history, "h");
    ASSERT_EQ(before.size(), 4u);
    ASSERT_EQ(after.size(), 3u);
    EXPECT_EQ(after[0].path, before[1].path);
    EXPECT_EQ(history.steps[after[0].from].step, kMaxIndexParts + 10);
    EXPECT_EQ(after[0].start, before[1].start);
    check(history);
}

// As a run with retention does it: the groups whose files are gone are forgotten, and others follow.
TEST(Subindexes, KeepPositionsWhenGroupsAreForgotten) {
    History history = same_groups(3 * kMaxIndexParts, 1, 1);
    for (uint64_t step = history.next_step(); step < 6 * kMaxIndexParts; ++step) {
        history.drop(0, step - 2 * kMaxIndexParts, false);
        std::vector<size_t> gone;
        for (size_t g = 0; g < history.groups.size(); ++g)
            if (history.groups[g].steps == 0) gone.push_back(g);
        history.forget_groups(gone);
        history.steps.push_back({step, 0, history.groups.size(), 1, 0});
        GroupEntry group;
        group.start = step, group.steps = 1;
        history.add_group(group);
        check(history);
        for (const Subindex& subindex : subindexes_of(history, "h")) ASSERT_EQ(subindex.start % kMaxIndexParts, 0u);
    }
}

TEST(Subindexes, OfStaticArrays) {
    History history = same_groups(3, 1, kMaxIndexParts + 1);
    Definitions& definitions = history.runs.back().definitions;
    definitions.define_dimension("x", 1000);
    const char* const dims[] = {"x"};
    definitions.define_variable("mask", static_cast<int>(Type::F64), 1, dims, TAILRACE_STATIC);
    history.groups[0].has_static = true;
    const auto subindexes = subindexes_of(history, "h");
    ASSERT_EQ(subindexes.size(), 8u);
    EXPECT_EQ(subindexes[6].path, "h.parts/index/h.static.000000.000000.nc");
    EXPECT_EQ(subindexes[7].path, "h.parts/index/h.static.000000.000256.nc");
    EXPECT_EQ(shown_parts(history), 3 * (kMaxIndexParts + 1));
}

}  // namespace
}  // namespace tailrace
