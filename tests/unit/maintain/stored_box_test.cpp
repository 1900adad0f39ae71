#include "maintain/stored_box.hpp"

#include <gtest/gtest.h>

#include "../error_of.hpp"

namespace tailrace {
namespace {

// Rows of a 1-D array, [first, last) each.
Array array_of(const std::vector<std::pair<uint64_t, uint64_t>>& rows) {
    std::vector<Source> sources;
    for (const auto& [first, last] : rows) sources.push_back({"part.nc", "", {{0}, {last - first}}, {{first}, {last - first}}});
    Array array{"T", Type::F64, {0}, false, {}, {}, {}};
    array.sources = sources;
    return array;
}

std::vector<std::pair<uint64_t, uint64_t>> equal_rows(uint64_t count, uint64_t length) {
    std::vector<std::pair<uint64_t, uint64_t>> rows;
    for (uint64_t i = 0; i < count; ++i) rows.emplace_back(i * length, (i + 1) * length);
    return rows;
}

// Pieces follow each other in sources and in rows, and every source lies within the rows of its piece.
void check(const Array& array, uint64_t rows, size_t expected_pieces) {
    const auto pieces = pieces_of_sources(array, {rows});
    ASSERT_EQ(pieces.size(), expected_pieces);
    EXPECT_EQ(pieces.front().first, 0u);
    EXPECT_EQ(pieces.front().begin_row, 0u);
    EXPECT_EQ(pieces.back().last, array.sources.size());
    EXPECT_GE(pieces.back().end_row, rows);
    for (size_t i = 0; i < pieces.size(); ++i) {
        if (i > 0) {
            EXPECT_EQ(pieces[i].first, pieces[i - 1].last);
            EXPECT_EQ(pieces[i].begin_row, pieces[i - 1].end_row);
        }
        for (size_t s = pieces[i].first; s < pieces[i].last; ++s) {
            const Box& to = array.sources.begin()[s].to;
            EXPECT_GE(to.offset[0], pieces[i].begin_row);
            EXPECT_LE(to.offset[0] + to.count[0], pieces[i].end_row);
        }
    }
}

TEST(PiecesOfSources, FewAreOnePiece) {
    check(array_of(equal_rows(1, 5)), 5, 1);
    check(array_of(equal_rows(16, 5)), 80, 1);
}

TEST(PiecesOfSources, ManyAreSeveralPieces) {
    check(array_of(equal_rows(17, 5)), 85, 2);
    check(array_of(equal_rows(100, 1)), 100, 7);
}

TEST(PiecesOfSources, ArrayMayHaveRowsThatNoSourceHas) {
    auto rows = equal_rows(40, 2);
    rows.erase(rows.begin() + 20, rows.begin() + 25);
    check(array_of(rows), 90, 3);
}

TEST(PiecesOfSources, SourcesOfTheSameRowsStayTogether) {
    std::vector<std::pair<uint64_t, uint64_t>> rows(50, {0, 10});
    check(array_of(rows), 10, 1);
    for (uint64_t i = 0; i < 20; ++i) rows.emplace_back(10, 20);
    check(array_of(rows), 20, 2);
}

TEST(ReadStored, FillsWhatNoPartHas) {
    Array array = array_of({});
    const double fill = -7;
    const auto* bytes = reinterpret_cast<const std::byte*>(&fill);
    array.fill = {bytes, bytes + sizeof fill};
    std::vector<double> values(3, 0);
    read_stored(array, {}, {{0}, {3}}, std::as_writable_bytes(std::span(values)), "stream 's' in d");
    EXPECT_EQ(values, std::vector<double>(3, -7));
}

TEST(ReadStored, WithoutAFillValueNamesTheVariableAndTheBox) {
    std::vector<double> values(3, 0);
    const Error error =
        error_of([&] { read_stored(array_of({}), {}, {{0}, {3}}, std::as_writable_bytes(std::span(values)), "stream 's' in d"); });
    EXPECT_EQ(error.status(), Status::CORRUPT);
    EXPECT_STREQ(error.what(), "variable 'T' of stream 's' in d: 3 elements of [0:3] are in no part");
}

}  // namespace
}  // namespace tailrace
