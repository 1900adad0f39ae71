#include "record/history_reader.hpp"

#include <gtest/gtest.h>
#include <tailrace/tailrace.h>

#include "../error_of.hpp"
#include "../temporary_directory.hpp"
#include "base/file.hpp"
#include "base/paths.hpp"

namespace tailrace {
namespace {

RunEntry ranked_run_of(const char* options, uint64_t ranks = 2) {
    RunEntry run;
    run.config = resolve({parse_options(options, "test")});
    run.requested = Json::object();
    run.definitions.define_dimension("y", 4);
    run.definitions.define_dimension("x", 6);
    run.definitions.define_dimension("cell", TAILRACE_RAGGED);
    const char* const dims[] = {"y", "x"};
    const char* const cell[] = {"cell"};
    run.definitions.define_variable("T", TAILRACE_F64, 2, dims, 0);
    run.definitions.define_variable("mass", TAILRACE_F64, 1, cell, 0);
    run.definitions.define_variable("x", TAILRACE_F32, 1, dims + 1, TAILRACE_STATIC | TAILRACE_REPLICATED);
    run.ranks = ranks;
    run.nodes = 1;
    return run;
}

Json step_of(uint64_t step, uint64_t files = 2, uint64_t cells = 5) {
    GroupEntry group;
    group.start = step;
    group.plan = 1;
    group.digest = hex_digest(step);
    return parse_json(step_text({step, 0.5, 0, files, 100, {cells}}, group));
}

Json plan_of(const std::vector<std::vector<uint64_t>>& boxes, uint64_t number = 1) {
    return parse_json(Json{{"kind", "plan"}, {"plan", number}, {"boxes", boxes}}.dump());
}

// Why the last line is refused; "": it is not.
std::string refusal(const std::vector<Json>& lines) {
    HistoryReader reader;
    for (size_t k = 0; k + 1 < lines.size(); ++k)
        if (const auto why = reader.add(lines[k])) ADD_FAILURE() << k << ": " << why->what();
    const auto why = reader.add(lines.back());
    if (!why) return "";
    EXPECT_EQ(why->status(), Status::CORRUPT);
    return why->what();
}

void expect_refused(const std::vector<Json>& lines, const std::string& says) {
    const std::string why = refusal(lines);
    EXPECT_NE(why.find(says), std::string::npos) << lines.back() << ": " << why;
}

const Json kRun = run_line(ranked_run_of("layout = 'fpp'"));

TEST(HistoryReaderTest, BoxesAreComparedWithTheirVariables) {
    EXPECT_EQ(refusal({kRun, plan_of({{0, 0, 0, 0, 0, 2, 6}, {0, 1, 0, 2, 0, 2, 6}, {1, 0, 0, 0, 3}})}), "");
    expect_refused({plan_of({})}, "before the first run line");
    expect_refused({kRun, plan_of({{3, 0, 0, 0, 0, 2, 6}})}, "of variable or list 3 of 3");
    expect_refused({kRun, plan_of({{UINT64_MAX, 0, 0, 0, 0, 2, 6}})}, "of variable or list 18446744073709551615");
    Json negative = plan_of({{0, 0, 0, 0, 0, 2, 6}});
    negative["boxes"][0][0] = -1;
    expect_refused({kRun, negative}, "a box of a plan is -1, not an integer of at least 0");
    expect_refused({kRun, plan_of({{0, 0, 0, 0, 2}})}, "has 1 dimensions, and the variable has 2");
    expect_refused({kRun, plan_of({{0, 0, 0, 3, 0, 2, 6}})}, "leaves its dimension of length 4");
    expect_refused({kRun, plan_of({{0, 0, 0, UINT64_MAX, 0, 2, 6}})}, "leaves its dimension");
    expect_refused({kRun, plan_of({{1, 0, 0, uint64_t{1} << 63, 1}})}, "leaves its dimension");
    expect_refused({kRun, plan_of({{0, uint64_t{1} << 40, 0, 0, 0, 2, 6}})}, "is in part");
    expect_refused({kRun, plan_of({}), plan_of({})}, "two plans with number 1");
    const Json lists = {{"kind", "boxes"}, {"plan", 1}, {"variables", {{0, 0}}}, {"boxes", {{0, 0, 0, 0, 0, 1, 1}}}};
    expect_refused({kRun, lists}, "two lists of boxes of variable 0");
}

TEST(HistoryReaderTest, StepsAreComparedWithTheirRunAndPlan) {
    const Json plan = plan_of({{0, 1, 0, 0, 0, 2, 6}, {1, 0, 0, 2, 3}});
    EXPECT_EQ(refusal({kRun, plan, step_of(0), step_of(1)}), "");
    for (const uint64_t files : {uint64_t{0}, uint64_t{3}, uint64_t{1'000'000'000'000}})
        expect_refused({kRun, step_of(0, files)}, text("has ", files, " files, and its run has 2 ranks"));
    expect_refused({run_line(ranked_run_of("")), step_of(0, 2)}, "files = one");
    expect_refused({kRun, plan, step_of(0, 1)}, "a box of its plan is in part 1");
    expect_refused({kRun, plan, step_of(0, 2, 4)}, "a box of its plan ends at 5");
    expect_refused({kRun, step_of(0, 2, uint64_t{1} << 62)}, "more than files can have");
    expect_refused({kRun, step_of(3)}, "where step 0 must follow");
    Json other = step_of(1);
    other["group"] = 2;
    expect_refused({kRun, step_of(0), other}, "in the files that begin with step 2");
    other["group"] = 0;
    other["segment"] = 4;
    expect_refused({kRun, step_of(0), other}, "in the files that begin with step 0");
    Json timeless = step_of(0);
    timeless["time"] = nullptr;
    expect_refused({kRun, timeless}, "the key 'time'");
    timeless = step_of(0);
    timeless["ragged"] = {1, 2};
    expect_refused({kRun, timeless}, "the lengths of 2 ragged dimensions, and there are 1");
    expect_refused({kRun, step_of(0), drop_line(0, 1, kDropOld)}, "drops steps 0 to 1");
    expect_refused({kRun, step_of(0), drop_line(1, 0, kDropOld)}, "drops steps 1 to 0");
}

TEST(HistoryReaderTest, RunsCoordinatesAndBlocks) {
    EXPECT_EQ(refusal({kRun, coordinate_line(2, std::vector<std::byte>(24))}), "");
    expect_refused({kRun, coordinate_line(2, std::vector<std::byte>(1))}, "has 24 bytes, and the line has 1");
    expect_refused({kRun, coordinate_line(0, std::vector<std::byte>(192))}, "variable 'T'");
    expect_refused({kRun, coordinate_line(3, {})}, "variable number 3, which does not exist");
    expect_refused({run_line(ranked_run_of("", 0))}, "a run has 0 ranks");
    expect_refused({run_line(ranked_run_of("", uint64_t{1} << 40))}, "a run has 1099511627776 ranks");
    Json run = kRun;
    run["layout"]["tree"] = "5";
    expect_refused({run}, "tree = '5'");
    run = kRun;
    run["definitions"]["variables"][0]["type"] = "f4";
    expect_refused({kRun, run}, "other definitions than the one before");
    run["definitions"]["dimensions"][0]["length"] = -3;
    expect_refused({run}, "the key 'length' is -3");
    EXPECT_EQ(refusal({kRun, blocks_line({0, 2, 512, {{0, 8, 4096}, {8, 16, 65536}}})}), "");
    expect_refused({kRun, blocks_line({0, 2, 512, {{0, 8, 4096}, {9, 16, 65536}}})}, "follows 8 steps");
    expect_refused({kRun, blocks_line({0, 2, 512, {{0, 8, UINT64_MAX}}})}, "at byte 18446744073709551615");
}

class WholeLinesTest : public testing::Test {
protected:
    void append(const Json& line) { Journal(path_).append(line, false); }
    uint64_t bytes() const { return File::open_read(path_).size_bytes(); }

    TemporaryDirectory directory_;
    std::string path_ = directory_ / "journal.jsonl";
};

TEST_F(WholeLinesTest, EndAtTheFirstContradiction) {
    append(kRun);
    append(step_of(0));
    append(step_of(1));
    EXPECT_FALSE(read_whole_lines(path_).cut);
    const uint64_t whole = bytes();
    append(step_of(2, 7));
    append(step_of(3));
    const WholeLines found = read_whole_lines(path_);
    ASSERT_TRUE(found.cut);
    EXPECT_EQ(found.cut->at, whole);
    EXPECT_EQ(found.cut->steps, (std::vector<uint64_t>{2, 3}));
    EXPECT_EQ(found.lines.lines.size(), 3u);
    EXPECT_EQ(found.lines.bytes, whole);
    EXPECT_EQ(found.chain.segments.back().end_bytes, whole);
    EXPECT_EQ(history_of(found.lines, path_).steps.size(), 2u);
}

TEST_F(WholeLinesTest, EndAtTheFirstDamage) {
    append(kRun);
    append(step_of(0));
    const uint64_t whole = bytes();
    append(step_of(1));
    append(step_of(2));
    std::string content = File::open_read(path_).read_all();
    content[whole + 20] ^= 1;
    replace_file(path_, content, false);
    const WholeLines found = read_whole_lines(path_);
    ASSERT_TRUE(found.cut);
    EXPECT_EQ(found.cut->at, whole);
    EXPECT_EQ(found.cut->steps, (std::vector<uint64_t>{2}));
    EXPECT_EQ(found.lines.lines.size(), 2u);
    content[20] ^= 1;
    replace_file(path_, content, false);
    EXPECT_EQ(error_of([&] { read_whole_lines(path_); }).status(), Status::CORRUPT) << "nothing is whole";
}

}  // namespace
}  // namespace tailrace
