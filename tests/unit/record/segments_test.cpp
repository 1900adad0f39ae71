#include "record/segments.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "../error_of.hpp"
#include "../temporary_directory.hpp"
#include "base/file.hpp"
#include "base/paths.hpp"

namespace tailrace {
namespace {

class Segments : public testing::Test {
protected:
    std::unique_ptr<OwnSegment> begin(uint64_t process = 1) { return begin_behind(find_segments(path_), process); }
    std::unique_ptr<OwnSegment> begin_behind(const SegmentChain& seen, uint64_t process) {
        auto segment = std::make_unique<OwnSegment>(path_, seen.next_number, writer_of(process), false, OwnSegment::Follows::last);
        segment->begin();
        return segment;
    }
    static SegmentHead head_of(uint64_t number, std::optional<uint64_t> follows, uint64_t bytes) {
        SegmentHead head;
        head.number = number;
        head.follows = follows;
        head.bytes = bytes;
        return head;
    }
    static Writer writer_of(uint64_t process) {
        Writer writer;
        writer.host = "node12";
        writer.process = process;
        writer.job = "4711";
        return writer;
    }
    static std::string step(int number) { return journal_line({{"kind", "step"}, {"step", number}}); }
    std::vector<int> steps() const {
        std::vector<int> all;
        for (const Json& line : read_segments(find_segments(path_)).lines)
            if (line.at("kind") == "step") all.push_back(line.at("step"));
        return all;
    }
    void write(const std::string& path, const std::string& content) const { replace_file(path, content, false); }

    TemporaryDirectory directory_;
    std::string path_ = directory_ / "journal.jsonl";
};

TEST_F(Segments, NamesFollowEachOther) {
    EXPECT_EQ(segment_path("a.b/journal.jsonl", 0), "a.b/journal.jsonl");
    EXPECT_EQ(segment_path("a.b/journal.jsonl", 12), "a.b/journal.000012.jsonl");
    EXPECT_TRUE(find_segments(path_).empty());
    EXPECT_TRUE(read_segments(find_segments(path_)).lines.empty());
}

TEST_F(Segments, EachRunAppendsToItsOwn) {
    const auto first = begin();
    first->append_line(step(0), false);
    first->append_line(journal_line({{"kind", "end"}}), false);
    EXPECT_TRUE(read_segments(find_segments(path_)).has_ended);
    const auto second = begin();
    second->append_line(step(1), false);
    EXPECT_EQ(second->path(), directory_ / "journal.000001.jsonl");
    EXPECT_EQ(steps(), (std::vector<int>{0, 1}));
    EXPECT_FALSE(read_segments(find_segments(path_)).has_ended);
}

TEST_F(Segments, WhatAnOvertakenRunAppendsDoesNotCount) {
    const auto first = begin(1);
    first->append_line(step(0), false);
    const auto second = begin(2);
    const Error error = error_of([&] { first->append_line(step(1), false); });
    EXPECT_EQ(error.status(), Status::OVERTAKEN);
    EXPECT_NE(std::string(error.what()).find("job 4711 on node12 (process 2"), std::string::npos) << error.what();
    EXPECT_TRUE(first->was_overtaken());
    second->append_line(step(1), false);
    second->append_line(step(2), false);
    EXPECT_EQ(steps(), (std::vector<int>{0, 1, 2}));
}

TEST_F(Segments, OneOfTwoRunsBeginsASegment) {
    const SegmentChain seen = find_segments(path_);
    const auto first = begin_behind(seen, 1);
    const Error error = error_of([&] { begin_behind(seen, 2); });
    EXPECT_EQ(error.status(), Status::OVERTAKEN);
    EXPECT_NE(std::string(error.what()).find("process 1"), std::string::npos) << error.what();
}

TEST_F(Segments, ASegmentWithoutItsFirstLineCountsForNothing) {
    const auto first = begin();
    first->append_line(step(0), false);
    const std::string torn = head_of(1, 0, 1).json().dump();
    for (size_t bytes = 0; bytes < torn.size(); bytes += 7) {
        write(directory_ / "journal.000001.jsonl", torn.substr(0, bytes));
        EXPECT_EQ(steps(), std::vector<int>{0});
        EXPECT_EQ(find_segments(path_).next_number, 2u) << "its number is taken";
    }
    const auto third = begin();
    EXPECT_EQ(third->number(), 2u);
    third->append_line(step(1), false);
    EXPECT_EQ(steps(), (std::vector<int>{0, 1}));
    EXPECT_EQ(error_of([&] { first->append_line(step(5), false); }).status(), Status::OVERTAKEN);
}

TEST_F(Segments, ATornEndOfAnEarlierSegmentIsNoDamage) {
    begin()->append_line(step(0), false);
    const std::string whole = File::open_read(path_).read_all();
    write(path_, whole + step(1).substr(0, 9));
    EXPECT_EQ(read_segments(find_segments(path_)).torn_bytes, 9u);
    const auto second = begin();
    EXPECT_EQ(second->head().bytes, whole.size());
    second->append_line(step(1), false);
    EXPECT_EQ(steps(), (std::vector<int>{0, 1}));
    EXPECT_EQ(read_segments(find_segments(path_)).torn_bytes, 0u);
}

TEST_F(Segments, DamageIsTold) {
    begin()->append_line(step(0), false);
    begin()->append_line(step(1), false);
    const std::string whole = File::open_read(path_).read_all();
    write(path_, "x" + whole.substr(1));
    EXPECT_EQ(error_of([&] { find_segments(path_); }).status(), Status::CORRUPT) << "an intact line follows the damaged one";
    write(path_, whole.substr(0, 10));
    EXPECT_EQ(error_of([&] { find_segments(path_); }).status(), Status::CORRUPT) << "another segment follows it";
}

TEST_F(Segments, ARunThatHasCreatedItsSegmentAndNothingElseIsNotForgotten) {
    const SegmentChain seen = find_segments(path_);
    const auto first = begin_behind(seen, 1);
    first->append_line(step(0), false);
    SegmentChain late = seen;  // read before the first run wrote its first line
    late.next_number = 1;
    const auto second = begin_behind(late, 2);
    second->append_line(step(1), false);
    EXPECT_EQ(steps(), (std::vector<int>{0, 1}));
}

// A stream of a version that knew of no segments.
TEST_F(Segments, AnEarlierVersionHasSegmentZeroAlone) {
    write(path_, journal_line({{"kind", "run"}, {"format", 1}}) + step(0));
    EXPECT_TRUE(read_segments(find_segments(path_)).has_ended) << "it does not write how a run ends";
    EXPECT_EQ(steps(), std::vector<int>{0});
    const auto second = begin();
    second->append_line(step(1), false);
    EXPECT_EQ(steps(), (std::vector<int>{0, 1}));
    EXPECT_EQ(read_journal(path_).lines.back().at("format"), kFormatWithoutStages) << "the earlier version refuses to append to it";
}

TEST_F(Segments, LaterVersions) {
    Json head = head_of(0, std::nullopt, 0).json();
    head["format"] = kJournalFormat + 1;
    head["colour"] = "red";
    head["writer"]["colour"] = "red";
    write(path_, journal_line(head) + step(0));
    EXPECT_EQ(steps(), std::vector<int>{0});
    EXPECT_EQ(find_segments(path_).segments.back().head.format, kJournalFormat + 1);
    head["least_reader"] = kJournalFormat + 1;
    write(path_, journal_line(head));
    EXPECT_EQ(error_of([&] { find_segments(path_); }).status(), Status::UNSUPPORTED);
}

}  // namespace
}  // namespace tailrace
