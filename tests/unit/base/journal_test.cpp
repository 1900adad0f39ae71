#include "base/journal.hpp"

#include <gtest/gtest.h>

#include "../error_of.hpp"
#include "../temporary_directory.hpp"
#include "base/system.hpp"

namespace tailrace {
namespace {

class Journal : public testing::Test {
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

TEST_F(Journal, IsReadAsItWasAppended) {
    const std::string path = directory_ / "journal.jsonl";
    EXPECT_TRUE(read_journal(path).lines.empty()) << "an absent journal is empty";
    for (int step = 0; step < 5; ++step) append_journal(path, line(step), step % 2 == 0);
    const JournalContent content = read_journal(path);
    ASSERT_EQ(content.lines.size(), 5u);
    for (int step = 0; step < 5; ++step) EXPECT_EQ(content.lines[static_cast<size_t>(step)], line(step));
    EXPECT_EQ(content.torn_bytes, 0u);
    EXPECT_EQ(content.intact_bytes, File::open_read(path).size_bytes());
}

TEST_F(Journal, LineIsTheObjectWithItsChecksum) {
    const std::string text = journal_line({{"a", 1}});
    EXPECT_TRUE(text.starts_with(R"({"a":1,"sum":")")) << text;
    EXPECT_TRUE(text.ends_with("\"}\n")) << text;
    EXPECT_EQ(Json::parse(text)["sum"].get<std::string>().size(), 16u) << "a line is plain JSON";
    for (const Json& bad : {Json::object(), Json::array({1}), Json(3), Json{{"sum", 1}}})
        EXPECT_EQ(error_of([&] { journal_line(bad); }).status(), Status::BAD_ARGUMENT) << bad;
}

TEST_F(Journal, TornTailIsLeftOutAtEveryByteAndCutByTheNextAppend) {
    const std::string intact = journal_line(line(0)) + journal_line(line(1)), last = journal_line(line(2));
    for (size_t bytes = 1; bytes < last.size(); ++bytes) {
        const std::string path = write(intact + last.substr(0, bytes));
        const JournalContent torn = read_journal(path);
        ASSERT_EQ(torn.lines.size(), 2u) << bytes;
        ASSERT_EQ(torn.intact_bytes, intact.size());
        ASSERT_EQ(torn.torn_bytes, bytes);
        append_journal(path, line(7), false);
        const JournalContent mended = read_journal(path);
        ASSERT_EQ(mended.lines.size(), 3u) << bytes;
        ASSERT_EQ(mended.lines[2], line(7));
        ASSERT_EQ(mended.torn_bytes, 0u);
    }
}

// A crash may also leave a tail of the right length that ends in a newline: blocks that were never written read as zeros.
TEST_F(Journal, DamagedLastLineIsTornAndCutByTheNextAppend) {
    const std::string intact = journal_line(line(0));
    for (const std::string& tail : {std::string("\n"), std::string(40, '\0') + "\n", std::string("{\"step\":1}\n")}) {
        const std::string path = write(intact + tail);
        EXPECT_EQ(read_journal(path).torn_bytes, tail.size());
        append_journal(path, line(1), false);
        const JournalContent mended = read_journal(path);
        ASSERT_EQ(mended.lines.size(), 2u);
        EXPECT_EQ(mended.lines[1], line(1));
    }
}

TEST_F(Journal, DamageBeforeIntactLinesIsFoundAtEveryByte) {
    const std::string first = journal_line(line(0)), middle = journal_line(line(1)), last = journal_line(line(2));
    for (size_t at = 0; at < middle.size(); ++at) {
        std::string damaged = middle;
        damaged[at] ^= 1;
        const std::string path = write(first + damaged + last);
        const Error error = error_of([&] { read_journal(path); });
        ASSERT_EQ(error.status(), Status::CORRUPT) << "byte " << at;
        ASSERT_EQ(error.what(), path + ": the line at byte " + std::to_string(first.size()) +
                                    " is damaged, and intact lines follow it; see 'tailrace verify'");
    }
}

TEST_F(Journal, LongLinesAreAppendedTo) {
    const std::string path = directory_ / "journal.jsonl";
    for (const size_t length : {4000, 4096, 9000, 100'000}) append_journal(path, {{"text", std::string(length, 'x')}}, false);
    append_journal(path, line(1), false);
    EXPECT_EQ(read_journal(path).lines.size(), 5u);
}

TEST_F(Journal, AppendRefusesToCutIntactLines) {
    std::string damaged = journal_line(line(0));
    damaged[3] ^= 1;
    const std::string content = damaged + journal_line(line(1)) + "{\"torn";
    const std::string path = write(content);
    EXPECT_EQ(error_of([&] { append_journal(path, line(2), false); }).status(), Status::CORRUPT);
    EXPECT_EQ(File::open_read(path).read_all(), content) << "nothing was changed";
}

}  // namespace
}  // namespace tailrace
