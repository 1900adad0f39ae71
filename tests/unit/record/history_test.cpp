#include "record/history.hpp"

#include <gtest/gtest.h>
#include <tailrace/tailrace.h>

#include "../error_of.hpp"
#include "../temporary_directory.hpp"
#include "base/file.hpp"
#include "base/paths.hpp"

namespace tailrace {
namespace {

RunEntry run_of(const char* options) {
    RunEntry run;
    run.config = resolve({parse_options(options, "test")});
    run.requested = Json::object();
    run.definitions.define_dimension("x", 4);
    const char* const dims[] = {"x"};
    run.definitions.define_variable("T", TAILRACE_F32, 1, dims, 0);
    run.definitions.define_dimension("y", 2);
    const char* const of_y[] = {"y"};
    run.definitions.define_variable("y", TAILRACE_U8, 1, of_y, TAILRACE_STATIC | TAILRACE_REPLICATED);
    run.ranks = 2;
    run.nodes = 1;
    return run;
}

class HistoryTest : public testing::Test {
protected:
    void append(const Json& line) { Journal(path_).append(line, false); }
    void append_step(uint64_t step, uint64_t group, uint64_t bytes = 100, uint64_t files = 2) {
        GroupEntry entry;
        entry.start = group;
        entry.plan = 1;
        entry.has_static = group == 0;
        entry.digest = hex_digest(step);
        append(Json::parse(step_text({step, 0.1 * static_cast<double>(step), 0, files, bytes}, entry)));
    }
    static GroupEntry group_of(uint64_t start, uint64_t segment) {
        GroupEntry group;
        group.start = start;
        group.digest = hex_digest(start);
        group.segment = segment;
        return group;
    }
    void damage(const std::string& what, const std::string& by) {
        std::string content = File::open_read(path_).read_all();
        const size_t at = content.find(what);
        ASSERT_NE(at, std::string::npos);
        content.replace(at, what.size(), by);
        replace_file(path_, content, false);
    }

    TemporaryDirectory directory_;
    std::string path_ = directory_ / "journal.jsonl";
};

TEST_F(HistoryTest, StagedStepsDoNotCountUntilTheirLine) {
    append(run_line(run_of("layout = 'scratch'")));
    GroupEntry group = group_of(0, 0);
    group.plan = 1;
    const auto staged = [&](uint64_t step) {
        group.start = step;
        return Json::parse(step_text({step, 0.5 * static_cast<double>(step), 0, 2, 100}, group, "staged"));
    };
    append(scratch_line({"ab12", {{0, "n1", "/scratch"}, {1, "n2", "/tmp"}}}));
    for (const uint64_t step : {0, 1, 1, 2}) append(staged(step));  // step 1 was written again
    History history = read_history(path_);
    EXPECT_TRUE(history.empty());
    EXPECT_EQ(history.next_step(), 0u);
    ASSERT_EQ(history.staged.size(), 3u);
    EXPECT_EQ(history.staged[2].time, 1.0);
    EXPECT_EQ(history.scratch.folder(1, "h"), "/tmp/tailrace-ab12-000001/h.parts");
    EXPECT_EQ(history.scratch.node(7), "n2");
    append(step_line(history.staged.front()));
    history = read_history(path_);
    EXPECT_EQ(history.steps.size(), 1u);
    ASSERT_EQ(history.staged.size(), 2u);
    EXPECT_EQ(history.staged.front().step, 1u);
    append(unstaged_line(2));
    EXPECT_EQ(read_history(path_).staged.size(), 1u);
    append(drop_line(0, 0, kDropRewind));
    EXPECT_TRUE(read_history(path_).staged.empty()) << "step 1 would follow a hole";
}

TEST_F(HistoryTest, AStagedStepThatCannotBeCommittedIsRefused) {
    append(run_line(run_of("layout = 'scratch'")));
    append(Json::parse(step_text({3, 0, 0, 2, 100}, group_of(3, 0), "staged")));
    EXPECT_EQ(error_of([&] { read_history(path_); }).status(), Status::CORRUPT) << "steps 0 to 2 are not there";
    remove_file(path_);
    append(run_line(run_of("layout = 'scratch'")));
    append(Json::parse(step_text({0, 0, 0, 7, 100}, group_of(0, 0), "staged")));
    EXPECT_EQ(error_of([&] { read_history(path_); }).status(), Status::CORRUPT) << "7 files of 2 ranks";
}

TEST_F(HistoryTest, BoxesOfManyPartsAreSharedByVariables) {
    std::vector<PartBox> rows;
    for (uint64_t part = 0; part <= kMaxIndexParts; ++part) rows.push_back({part, 0, {{2 * part}, {2}}});
    const std::vector<PartBox> one = {{kMaxIndexParts, 1, {{0, 3}, {4, 5}}}};
    const std::vector<std::vector<PartBox>> boxes = {rows, one, {}, rows};
    const std::string text = plan_text(7, boxes);
    EXPECT_NE(text.find(R"("kind":"boxes","plan":7,"variables":[[0,3],[1]])"), std::string::npos) << text.substr(0, 100);
    History history;
    history.apply(Json::parse(text));
    EXPECT_EQ(history.plans.at(7), boxes);
}

TEST_F(HistoryTest, ComesBackFromItsLines) {
    append(run_line(run_of("layout = 'fpp'\nsteps = 2")));
    const std::vector<std::vector<PartBox>> boxes = {{{0, 0, {{0}, {2}}}, {1, 0, {{2}, {2}}}}};
    append(Json::parse(plan_text(1, boxes)));
    append(coordinate_line(1, {std::byte{1}, std::byte{0xFF}}));
    append(blocks_line({0, 2, 512, {{0, 8, 4096}, {8, 16, 65536}}}));
    for (const uint64_t step : {0, 1, 2}) append_step(step, step / 2 * 2, 100 + step);
    append(run_line(run_of("layout = 'single'")));
    append_step(3, 3, 100, 1);

    const History history = read_history(path_);
    ASSERT_EQ(history.runs.size(), 2u);
    EXPECT_EQ(history.runs[0].config.layout.steps, 2u);
    EXPECT_EQ(history.runs[0].definitions.fingerprint(), run_of("").definitions.fingerprint());
    ASSERT_EQ(history.steps.size(), 4u);
    for (uint64_t k = 0; k < 4; ++k) EXPECT_EQ(history.steps[k].time, 0.1 * static_cast<double>(k)) << "to the last bit";
    ASSERT_EQ(history.groups.size(), 3u);
    EXPECT_EQ(history.groups[0].steps, 2u);
    EXPECT_EQ(history.groups[0].files_bytes, 101u);
    EXPECT_TRUE(history.groups[0].has_static);
    EXPECT_EQ(history.groups[1].start, 2u);
    EXPECT_EQ(history.groups[1].steps, 1u);
    EXPECT_FALSE(history.groups[1].has_static);
    EXPECT_EQ(history.groups[2].run, 1u);
    EXPECT_EQ(history.steps[3].group, 2u);
    ASSERT_TRUE(history.plans.contains(1));
    ASSERT_EQ(history.plans.at(1).size(), 1u);
    EXPECT_EQ(history.plans.at(1)[0][1].part, 1u);
    EXPECT_EQ(history.plans.at(1)[0][1].box, (Box{{2}, {2}}));
    EXPECT_EQ(history.coordinates.at(1), (std::vector<std::byte>{std::byte{1}, std::byte{0xFF}}));
    ASSERT_EQ(history.growth.blocks.size(), 2u);
    EXPECT_EQ(history.growth.blocks[1].first_step, 8u);
    EXPECT_EQ(history.growth.blocks[1].address, 65536u);
    EXPECT_EQ(history.growth.slot_bytes, 512u);
    EXPECT_EQ(history.torn_bytes, 0u);
}

TEST_F(HistoryTest, AbsentJournalIsAnEmptyHistory) { EXPECT_TRUE(read_history(path_).empty()); }

TEST_F(HistoryTest, TornEndIsCountedAndItsStepIsNotThere) {
    append(run_line(run_of("layout = 'fpp'")));
    append_step(0, 0);
    append_step(1, 1);
    const std::string whole = File::open_read(path_).read_all();
    const size_t last = whole.rfind('\n', whole.size() - 2) + 1;
    for (size_t cut = last; cut < whole.size(); ++cut) {
        replace_file(path_, whole.substr(0, cut), false);
        const History history = read_history(path_);
        ASSERT_EQ(history.steps.size(), 1u) << "cut at " << cut;
        ASSERT_EQ(history.torn_bytes, cut - last);
    }
}

TEST_F(HistoryTest, StepWrittenAgainReplacesTheOneBefore) {
    append(run_line(run_of("layout = 'fpp'")));
    append_step(0, 0);
    append_step(1, 1, 500);
    append_step(1, 1, 700);
    const History history = read_history(path_);
    ASSERT_EQ(history.steps.size(), 2u);
    EXPECT_EQ(history.steps[1].bytes, 700u);
    EXPECT_EQ(history.groups.size(), 2u);
    EXPECT_EQ(history.groups[1].steps, 1u);
}

TEST_F(HistoryTest, GroupsThatAreGoneAreForgotten) {
    append(run_line(run_of("layout = 'fpp'")));
    for (uint64_t step = 0; step < 6; ++step) append_step(step, step, 100 + step);
    History history = read_history(path_);
    history.groups[1].has_static = true;  // the steps after it have their static arrays there
    history.drop(0, 3, false);
    EXPECT_EQ(history.needed_groups(), (std::vector<size_t>{1, 4, 5}));
    history.forget_groups({0, 2, 3});
    ASSERT_EQ(history.groups.size(), 3u);
    EXPECT_EQ(history.groups[0].start, 1u);
    EXPECT_EQ(history.needed_groups(), (std::vector<size_t>{0, 1, 2}));
    for (const StepEntry& step : history.steps) EXPECT_EQ(history.groups[step.group].start, step.step);
    EXPECT_EQ(history.static_group(history.steps.back().group), &history.groups[0]);
    EXPECT_EQ(history.next_step(), 6u);
    history.forget_groups({});
    EXPECT_EQ(history.groups.size(), 3u);
}

TEST_F(HistoryTest, DamageBeforeIntactLinesIsToldWithThePath) {
    append(run_line(run_of("layout = 'fpp'")));
    append_step(0, 0);
    append_step(1, 1);
    damage("\"step\":0", "\"step\":7");
    const Error error = error_of([&] { read_history(path_); });
    EXPECT_EQ(error.status(), Status::CORRUPT);
    EXPECT_NE(std::string(error.what()).find(path_), std::string::npos) << error.what();
}

TEST_F(HistoryTest, LinesThatDoNotFitTogetherAreDamage) {
    const auto refused = [&](const std::string& says) {
        const Error error = error_of([&] { read_history(path_); });
        EXPECT_EQ(error.status(), Status::CORRUPT);
        EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
        EXPECT_TRUE(std::string(error.what()).starts_with(path_)) << error.what();
        remove_file(path_);
    };
    append_step(0, 0);
    refused("a step line comes before the first run line");
    append(run_line(run_of("")));
    append_step(1, 1);
    refused("it has step 1 where step 0 must follow");
    append(run_line(run_of("")));
    append({{"kind", "step"}});
    refused("a line is not a line of a stream's journal");
    append({{"no", "kind"}});
    refused("a line is not a line of a stream's journal");
    append(run_line(run_of("")));
    append({{"kind", "plan"}, {"plan", 1}, {"boxes", {{0, 0, 0, 1}}}});
    refused("a box of a plan has 4 numbers");
}

TEST_F(HistoryTest, LaterVersions) {
    append(run_line(run_of("layout = 'fpp'")));
    append({{"kind", "remark"}, {"text", "of a version to come"}});
    append_step(0, 0);
    EXPECT_EQ(read_history(path_).steps.size(), 1u) << "kinds that are not known are passed over";
    Json run = run_line(run_of("layout = 'fpp'"));
    run["format"] = kJournalFormat + 1;
    run["colour"] = "red";
    run["layout"]["of_a_later_version"] = "7";
    append(run);
    Json step = Json::parse(step_text({1, 0.1, 0, 2, 100}, group_of(1, 0)));
    step["colour"] = "red";
    append(step);
    EXPECT_EQ(read_history(path_).steps.size(), 2u) << "what is not known is passed over, and the format is no obstacle to readers";
}

TEST_F(HistoryTest, GroupsOfAContestedStreamHaveANumber) {
    append(run_line(run_of("")));
    append_step(0, 0, 100, 1);
    append(copy_line(group_of(0, 3)));
    append(Json::parse(step_text({1, 0.1, 0, 1, 100}, group_of(0, 3))));
    append(Json::parse(step_text({2, 0.2, 0, 1, 100}, group_of(2, 4))));
    const History history = read_history(path_);
    ASSERT_EQ(history.groups.size(), 2u);
    EXPECT_EQ(history.groups[0].segment, 3u);
    EXPECT_EQ(history.groups[0].steps, 2u);
    EXPECT_EQ(history.groups[1].segment, 4u);
}

}  // namespace
}  // namespace tailrace
