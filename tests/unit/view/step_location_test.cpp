#include "view/step_location.hpp"

#include <gtest/gtest.h>
#include <tailrace/tailrace.h>

namespace tailrace {
namespace {

RunEntry run_of(const char* options) {
    RunEntry run;
    run.config = resolve({parse_options(options, "test")});
    run.requested = Json::object();
    run.definitions.define_dimension("x", 4);
    const char* const dims[] = {"x"};
    run.definitions.define_variable("x", TAILRACE_F64, 1, dims, TAILRACE_STATIC | TAILRACE_REPLICATED);
    run.definitions.define_variable("T", TAILRACE_F32, 1, dims, 0);
    return run;
}

GroupEntry group_of(const History& history, uint64_t start, uint64_t parts, uint64_t run, uint64_t plan) {
    GroupEntry group;
    group.start = start;
    group.layout = history.runs[run].config.layout;
    group.parts = parts;
    group.run = run;
    group.plan = plan;
    group.steps = 1;
    return group;
}

// A step of two parts by the first run, a step of one part by the last.
History example() {
    History history;
    history.runs = {run_of("layout = 'fpp'\nsteps = 1"), run_of("layout = 'single'\nsteps = 1")};
    history.plans[1] = {{}, {{0, 0, {{0}, {1}}}, {1, 0, {{1}, {3}}}}};
    history.coordinates[0] = {std::byte{1}, std::byte{0xFF}};
    history.groups = {group_of(history, 0, 2, 0, 1), group_of(history, 7, 1, 1, 2)};
    history.steps = {{0, 0.5, 0, 2, 10}, {7, 1.5, 1, 1, 10}};
    return history;
}

TEST(StepLocation, TheSummaryComesBack) {
    std::vector<uint64_t> words = {99};
    put_summary(words, example());
    size_t at = 1;
    const StreamSummary stream = take_summary(words, at);
    EXPECT_EQ(at, words.size());
    EXPECT_TRUE(stream.layout.part_is_dataset() == example().runs[1].config.layout.part_is_dataset());
    EXPECT_EQ(stream.definitions.variables(), example().runs[1].definitions.variables());
    EXPECT_EQ(stream.steps, (std::vector<uint64_t>{0, 7}));
    EXPECT_EQ(stream.times, (std::vector<double>{0.5, 1.5}));
    EXPECT_EQ(stream.coordinates, example().coordinates);
    EXPECT_EQ(stream.ragged, (std::vector<std::vector<uint64_t>>(2)));
}

class LocationTest : public testing::Test {
protected:
    std::optional<StepLocation> passed_on(const GroupEntry* group, uint64_t in_group) {
        std::vector<uint64_t> words;
        put_summary(words, history_);
        put_location(words, history_, group, in_group);
        size_t at = 0;
        const StreamSummary stream = take_summary(words, at);
        auto location = take_location(words, at, stream);
        EXPECT_EQ(at, words.size());
        return location;
    }
    History history_ = example();
};

TEST_F(LocationTest, OfSeveralPartsHasTheBoxesOfThePlanAndTheLayoutOfItsRun) {
    const auto location = passed_on(&history_.groups[0], 0);
    ASSERT_TRUE(location);
    EXPECT_EQ(location->start, 0u);
    EXPECT_EQ(location->parts, 2u);
    EXPECT_TRUE(location->in_journal);
    EXPECT_EQ(location->layout.files.kind, Files::Kind::per_rank);
    ASSERT_EQ(location->boxes.size(), 2u);
    EXPECT_TRUE(location->boxes[0].empty());
    EXPECT_EQ(location->boxes[1], history_.plans[1][1]);
}

TEST_F(LocationTest, OfOnePartHasWholeVariables) {
    const auto location = passed_on(&history_.groups[1], 3);
    ASSERT_TRUE(location);
    EXPECT_EQ(location->start, 7u);
    EXPECT_EQ(location->in_group, 3u);
    EXPECT_TRUE(location->in_journal);
    EXPECT_EQ(location->boxes[1], (std::vector<PartBox>{{0, 0, {{0}, {4}}}}));
}

TEST_F(LocationTest, OfMorePartsThanAnIndexHasIsOnlyInTheParts) {
    history_.plans.clear();
    const auto location = passed_on(&history_.groups[0], 0);
    ASSERT_TRUE(location);
    EXPECT_FALSE(location->in_journal);
    EXPECT_TRUE(location->boxes[1].empty());
}

TEST_F(LocationTest, WithoutAGroupThereIsNone) { EXPECT_FALSE(passed_on(nullptr, 0)); }

}  // namespace
}  // namespace tailrace
