#include "base/journal.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "../error_of.hpp"
#include "../temporary_directory.hpp"
#include "base/file.hpp"
#include "base/paths.hpp"

namespace tailrace {
namespace {

class Journals : public testing::Test {
protected:
    std::string write(const std::string& content) {
        const std::string path = directory_ / "journal.jsonl";
        File file = File::create(path);
        file.write_at(0, content.data(), content.size());
        file.close();
        return path;
    }
    TemporaryDirectory directory_;
};

Json line(int step) { return {{"step", step}, {"path", "s.parts/\"ä\"/00.nc"}, {"time", step * 0.1}}; }

TEST_F(Journals, IsReadAsItWasAppended) {
    const std::string path = directory_ / "journal.jsonl";
    EXPECT_TRUE(read_journal(path).lines.empty()) << "an absent journal is empty";
    for (int step = 0; step < 5; ++step) Journal(path).append(line(step), step % 2 == 0);
    const JournalContent content = read_journal(path);
    ASSERT_EQ(content.lines.size(), 5u);
    for (int step = 0; step < 5; ++step) EXPECT_EQ(content.lines[static_cast<size_t>(step)], line(step));
    EXPECT_EQ(content.torn_bytes, 0u);
    EXPECT_EQ(content.intact_bytes, File::open_read(path).size_bytes());
}

TEST_F(Journals, OfTwoThreadsHasTheLinesOfBoth) {
    const std::string path = directory_ / "journal.jsonl";
    Journal journal(path);
    constexpr int kLines = 30;
    const std::string much(1 << 19, 'x');  // a line takes a while to be written
    std::thread other([&] {
        for (int k = 0; k < kLines; ++k) journal.append({{"of", "the other"}, {"much", much}}, false);
    });
    for (int k = 0; k < kLines; ++k) journal.append(line(k), false);
    other.join();
    EXPECT_EQ(read_journal(path).lines.size(), 2u * kLines);
}

TEST_F(Journals, LineIsTheObjectWithItsChecksum) {
    const std::string text = journal_line({{"a", 1}});
    EXPECT_TRUE(text.starts_with(R"({"a":1,"sum":")")) << text;
    EXPECT_TRUE(text.ends_with("\"}\n")) << text;
    EXPECT_EQ(Json::parse(text)["sum"].get<std::string>().size(), 16u) << "a line is plain JSON";
    for (const Json& bad : {Json::object(), Json::array({1}), Json(3), Json{{"sum", 1}}})
        EXPECT_EQ(error_of([&] { journal_line(bad); }).status(), Status::BAD_ARGUMENT) << bad;
}

TEST_F(Journals, TornTailIsLeftOutAtEveryByteAndCutByTheNextAppend) {
    const std::string intact = journal_line(line(0)) + journal_line(line(1)), last = journal_line(line(2));
    for (size_t bytes = 1; bytes < last.size(); ++bytes) {
        const std::string path = write(intact + last.substr(0, bytes));
        const JournalContent torn = read_journal(path);
        ASSERT_EQ(torn.lines.size(), 2u) << bytes;
        ASSERT_EQ(torn.intact_bytes, intact.size());
        ASSERT_EQ(torn.torn_bytes, bytes);
        Journal(path).append(line(7), false);
        const JournalContent mended = read_journal(path);
        ASSERT_EQ(mended.lines.size(), 3u) << bytes;
        ASSERT_EQ(mended.lines[2], line(7));
        ASSERT_EQ(mended.torn_bytes, 0u);
    }
}

// A crash may also leave a tail of the right length that ends in a newline: blocks that were never written read as zeros.
TEST_F(Journals, DamagedLastLineIsTornAndCutByTheNextAppend) {
    const std::string intact = journal_line(line(0));
    for (const std::string& tail : {std::string("\n"), std::string(40, '\0') + "\n", std::string("{\"step\":1}\n")}) {
        const std::string path = write(intact + tail);
        EXPECT_EQ(read_journal(path).torn_bytes, tail.size());
        Journal(path).append(line(1), false);
        const JournalContent mended = read_journal(path);
        ASSERT_EQ(mended.lines.size(), 2u);
        EXPECT_EQ(mended.lines[1], line(1));
    }
}

TEST_F(Journals, DamageBeforeIntactLinesIsFoundAtEveryByte) {
    const std::string first = journal_line(line(0)), middle = journal_line(line(1)), last = journal_line(line(2));
    for (size_t at = 0; at < middle.size(); ++at) {
        std::string damaged = middle;
        damaged[at] ^= 1;
        const std::string path = write(first + damaged + last);
        const Error error = error_of([&] { read_journal(path); });
        ASSERT_EQ(error.status(), Status::CORRUPT) << "byte " << at;
        ASSERT_EQ(error.what(),
                  path + ": the line at byte " + std::to_string(first.size()) +
                      " is damaged, and intact lines follow it; `tailrace repair` of a stream keeps what stands before it");
    }
}

TEST_F(Journals, LongLinesAreAppendedTo) {
    const std::string path = directory_ / "journal.jsonl";
    for (const size_t length : {4000, 4096, 9000, 100'000}) Journal(path).append({{"text", std::string(length, 'x')}}, false);
    Journal(path).append(line(1), false);
    EXPECT_EQ(read_journal(path).lines.size(), 5u);
}

TEST_F(Journals, GoesOnBehindWhatOthersHaveDone) {
    const std::string path = directory_ / "journal.jsonl";
    Journal mine(path);
    mine.append(line(0), false);
    mine.append(line(1), true);
    Journal(path).append(line(2), false);
    mine.append(line(3), false);
    File torn = File::open_append(path);
    torn.append("{\"torn", 6);
    mine.append(line(4), false);
    const JournalContent content = read_journal(path);
    ASSERT_EQ(content.lines.size(), 5u);
    EXPECT_EQ(content.lines[4], line(4));
    EXPECT_EQ(content.torn_bytes, 0u);
}

TEST_F(Journals, OneThatHasVanishedIsNotBegunAnew) {
    const std::string path = directory_ / "journal.jsonl";
    EXPECT_EQ(error_of([&] { Journal(path, true).append(line(0), false); }).status(), Status::NOT_FOUND);
    Journal journal(path);
    journal.append(line(0), false);
    remove_file(path);
    EXPECT_EQ(error_of([&] { journal.append(line(1), false); }).status(), Status::NOT_FOUND);
    EXPECT_FALSE(path_exists(path));
}

TEST_F(Journals, LineIsNotThereWhereItCouldNotBeFoundOutWhetherItCounts) {
    const std::string path = directory_ / "journal.jsonl";
    int failures = 0;
    Journal journal(path, false, [&] {
        if (failures-- > 0) throw std::bad_alloc();
    });
    journal.append(line(0), false);
    failures = 1;
    EXPECT_THROW(journal.append(line(1), false), std::bad_alloc);
    EXPECT_EQ(read_journal(path).lines.size(), 1u) << "the line whose check failed was cut off";
    journal.append(line(1), false);
    failures = 2;
    EXPECT_THROW(journal.append(line(2), false), std::bad_alloc);
    EXPECT_EQ(read_journal(path).lines.size(), 3u) << "another run may have read it";
}

TEST_F(Journals, AppendRefusesToCutIntactLines) {
    std::string damaged = journal_line(line(0));
    damaged[3] ^= 1;
    const std::string content = damaged + journal_line(line(1)) + "{\"torn";
    const std::string path = write(content);
    EXPECT_EQ(error_of([&] { Journal(path).append(line(2), false); }).status(), Status::CORRUPT);
    EXPECT_EQ(File::open_read(path).read_all(), content) << "nothing was changed";
}

}  // namespace
}  // namespace tailrace
