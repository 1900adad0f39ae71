// The writer: what lands in the file, in how few calls, and what its records say.
#include "part/part_file.hpp"

#include <gtest/gtest.h>

#include "../error_of.hpp"
#include "part/seal.hpp"
#include "part_files.hpp"

namespace tailrace {
namespace {

using test::pattern;

std::string bytes_at(const HeldFile& file, uint64_t address, uint64_t bytes) {
    std::string found(bytes, '\0');
    file.read_at(address, found.data(), bytes);
    return found;
}

std::string as_text(const std::vector<std::byte>& data) { return {reinterpret_cast<const char*>(data.data()), data.size()}; }

TEST(PartWriter, every_byte_is_at_its_address) {
    const std::vector<size_t> sizes = {1, 4095, 4096, 4097, 70'000, 1'300'001, 8, 9'000'000, 17};
    for (const bool checksum : {false, true})
        for (const auto gaps : {PartWriter::Gaps::mine, PartWriter::Gaps::not_mine})
            for (const uint64_t gap : {0, 24, 65'535, 65'536, 200'000}) {
                HeldFile file(File::create("extents"), false);
                PartWriter writer(file, checksum, gaps);
                std::vector<std::vector<std::byte>> data;
                for (size_t i = 0; i < sizes.size(); ++i) data.push_back(pattern(sizes[i], i));
                uint64_t address = 4096;
                for (const auto& piece : data) {
                    writer.add(address, piece.data(), piece.size());
                    address += piece.size() + gap;
                }
                writer.flush();
                address = 4096;
                for (const auto& piece : data) {
                    ASSERT_EQ(bytes_at(file, address, piece.size()), as_text(piece)) << gap;
                    address += piece.size() + gap;
                }
                const bool joined = gap == 0 || (gap < 65'536 && gaps == PartWriter::Gaps::mine);
                EXPECT_EQ(writer.records().size(), !checksum ? 0 : joined ? 1 : sizes.size());
                EXPECT_EQ(verify_records(File::open_read(file.path()), writer.records()), std::nullopt);
            }
}

TEST(PartWriter, many_small_extents_are_few_calls) {
    HeldFile file(File::create("small"), false);
    PartWriter writer(file, false, PartWriter::Gaps::mine);
    const auto data = pattern(100, 1);
    for (uint64_t i = 0; i < 5000; ++i) writer.add(4096 + i * 104, data.data(), data.size());
    writer.flush();
    EXPECT_EQ(writer.write_calls(), 1u);
    EXPECT_EQ(writer.bytes(), 5000 * 104 - 4);
    for (uint64_t i = 0; i < 5000; ++i) ASSERT_EQ(bytes_at(file, 4096 + i * 104, 100), as_text(data));
}

TEST(PartWriter, does_not_touch_what_is_not_its_own) {
    HeldFile file(File::create("shared"), false);
    const std::string others(1000, 'o');
    file.write_at(0, others.data(), others.size());
    PartWriter writer(file, true);
    writer.add(100, "abc", 3);
    writer.add(110, "def", 3);
    writer.zeros(200, 5);
    writer.flush();
    std::string expected = others;
    expected.replace(100, 3, "abc").replace(110, 3, "def").replace(200, 5, std::string(5, '\0'));
    EXPECT_EQ(bytes_at(file, 0, 1000), expected);
    EXPECT_EQ(writer.records().size(), 3u);
    EXPECT_EQ(writer.records()[2].bytes, 5u);
}

// Several blocks of an array may come in any order: nothing that was written before is filled with zeros.
TEST(PartWriter, goes_back) {
    for (const auto gaps : {PartWriter::Gaps::mine, PartWriter::Gaps::not_mine}) {
        HeldFile file(File::create("back"), false);
        PartWriter writer(file, true, gaps);
        writer.add(200, "ghi", 3);
        writer.add(100, "abc", 3);
        writer.add(103, "def", 3);
        writer.add(300, "jkl", 3);
        writer.flush();
        EXPECT_EQ(bytes_at(file, 100, 6), "abcdef");
        EXPECT_EQ(bytes_at(file, 200, 3), "ghi");
        EXPECT_EQ(bytes_at(file, 300, 3), "jkl");
        EXPECT_EQ(writer.records().size(), 3u);
        EXPECT_EQ(verify_records(File::open_read(file.path()), writer.records()), std::nullopt);
    }
}

TEST(PartWriter, refuses_to_write_into_a_bridge) {
    HeldFile file(File::create("bridge"), false);
    PartWriter writer(file, true, PartWriter::Gaps::mine);
    writer.add(100, "abc", 3);
    writer.add(200, "def", 3);
    EXPECT_EQ(error_of([&] { writer.add(150, "x", 1); }).status(), Status::INTERNAL);
}

// Boxes of a 3-D array from memory with halos, reversed and interleaved dimensions, cut at any file position.
TEST(PartWriter, strided_blocks) {
    const Shape shape = {5, 7, 6};
    const std::vector<Box> boxes = {{{0, 0, 0}, {5, 7, 6}}, {{1, 2, 3}, {3, 4, 2}}, {{2, 0, 0}, {2, 7, 6}},
                                    {{0, 3, 0}, {5, 2, 6}}, {{4, 6, 5}, {1, 1, 1}}, {{0, 0, 1}, {5, 7, 4}}};
    for (const uint64_t element_bytes : {1, 2, 4, 8})
        for (const Box& box : boxes)
            for (int kind = 0; kind < 4; ++kind) {
                // Strides in elements: dense, with a halo, transposed, every other element.
                const auto n = [&](int d) { return static_cast<int64_t>(box.count[d]); };
                const std::vector<std::vector<int64_t>> kinds = {{n(1) * n(2), n(2), 1},
                                                                 {(n(1) + 2) * (n(2) + 2), n(2) + 2, 1},
                                                                 {1, n(0), n(0) * n(1)},
                                                                 {n(1) * n(2) * 2, n(2) * 2, 2}};
                const auto memory = pattern(4000 * element_bytes, 5);
                std::vector<int64_t> stride_bytes;
                for (const int64_t stride : kinds[kind]) stride_bytes.push_back(stride * static_cast<int64_t>(element_bytes));
                if (kind == 0) stride_bytes.clear();
                const BlockView block(memory.data(), element_bytes, box.count, stride_bytes);
                const Spans spans(shape, box);
                for (const auto& [lo, hi] : {std::pair<uint64_t, uint64_t>{0, 210}, {50, 133}, {97, 98}, {3, 3}}) {
                    const uint64_t base = 64;
                    std::string expected(base + 210 * element_bytes, '.');
                    for (uint64_t i = 0; i < box.count[0]; ++i)
                        for (uint64_t j = 0; j < box.count[1]; ++j)
                            for (uint64_t k = 0; k < box.count[2]; ++k) {
                                const uint64_t at = ((box.offset[0] + i) * 7 + box.offset[1] + j) * 6 + box.offset[2] + k;
                                if (at < lo || at >= hi) continue;
                                const auto& strides = kinds[kind];
                                const uint64_t from = i * strides[0] + j * strides[1] + k * strides[2];
                                for (uint64_t b = 0; b < element_bytes; ++b)
                                    expected[base + at * element_bytes + b] = static_cast<char>(memory[from * element_bytes + b]);
                            }
                    HeldFile file(File::create("strided"), false);
                    const std::string before(expected.size(), '.');
                    file.write_at(0, before.data(), before.size());
                    PartWriter writer(file, true);
                    writer.add_strided(base, spans, block, lo, hi);
                    writer.flush();
                    ASSERT_EQ(bytes_at(file, 0, expected.size()), expected) << describe(box) << " kind " << kind;
                    EXPECT_EQ(verify_records(File::open_read(file.path()), writer.records()), std::nullopt);
                }
            }
}

}  // namespace
}  // namespace tailrace
