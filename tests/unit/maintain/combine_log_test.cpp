#include "maintain/combine_log.hpp"

#include <gtest/gtest.h>

#include "../error_of.hpp"
#include "../temporary_directory.hpp"
#include "base/journal.hpp"

namespace tailrace {
namespace {

// One compressed array of two chunks a step, ten steps.
CombinePlan example() {
    CombinePlan plan;
    plan.output.dimensions = {{"x", 1000}};
    Array array{"T", Type::F64, {0}, true, {}, {}, {}};
    array.packing = Packing{*ChunkGrid::of({1000}, {500}), {}};
    plan.output.arrays = {array};
    plan.steps = {0, 10, 4096};
    return plan;
}

ChunkPlaces chunks_of(uint64_t steps) {
    ChunkPlaces chunks(1);
    for (uint64_t c = 0; c < 2 * steps; ++c) chunks[0].push_back({5000 + 100 * c, 10 + c});
    return chunks;
}

class CombineLogTest : public testing::Test {
protected:
    std::optional<CombineProgress> read(const std::string& identity) { return CombineLog(output_).read(identity, plan_); }
    // Lines of another system, as a crash of the machine leaves them.
    void append(uint64_t from, uint64_t to, bool synced) {
        Json chunks = Json::array();
        for (uint64_t c = 2 * from; c < 2 * to; ++c) chunks.insert(chunks.end(), {5000 + 100 * c, 10 + c});
        Journal(output_ + ".combining.jsonl")
            .append({{"steps_done", to},
                     {"synced", synced},
                     {"boot", "before"},
                     {"end", 9000 + to},
                     {"from", from},
                     {"chunks", Json::array({chunks})}},
                    false);
    }
    void begin() {
        CombineLog log(output_);
        log.clear();
        log.begin("abc", "s", 10);
    }

    TemporaryDirectory directory_;
    std::string output_ = directory_ / "one.nc";
    CombinePlan plan_ = example();
};

TEST_F(CombineLogTest, ContinuesWhereItWas) {
    {
        CombineLog log(output_);
        log.clear();
        log.begin("abc", "s", 10);
        log.append(plan_, 2, 7000, chunks_of(2), false);
        log.append(plan_, 5, 8000, chunks_of(6), false);  // chunks of a step that is not done are there, too
    }
    const auto progress = read("abc");
    ASSERT_TRUE(progress);
    EXPECT_EQ(progress->steps, 5u);
    EXPECT_EQ(progress->end, 8000u);
    EXPECT_EQ(progress->chunks, chunks_of(5));
    EXPECT_FALSE(read("of another dataset"));
}

TEST_F(CombineLogTest, AfterACrashOnlySyncedStepsCount) {
    begin();
    append(0, 3, true);
    append(3, 4, false);
    EXPECT_EQ(read("abc")->steps, 3u);
    // The next call copied from step 3 on; the line in between is void.
    append(3, 6, true);
    const auto progress = read("abc");
    EXPECT_EQ(progress->steps, 6u);
    EXPECT_EQ(progress->chunks, chunks_of(6));
}

TEST_F(CombineLogTest, MissingLinesAreRefused) {
    begin();
    append(4, 5, true);
    const Error error = error_of([&] { read("abc"); });
    EXPECT_EQ(error.status(), Status::CORRUPT);
    EXPECT_NE(std::string(error.what()).find("run `rm "), std::string::npos) << error.what();
}

TEST_F(CombineLogTest, ABeginningWithoutStepsHasNoProgress) {
    begin();
    const auto progress = read("abc");
    ASSERT_TRUE(progress);
    EXPECT_EQ(progress->steps, 0u);
    EXPECT_TRUE(progress->chunks[0].empty());
}

}  // namespace
}  // namespace tailrace
