#include "format/global_heap.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tailrace::format {
namespace {

uint64_t number_at(const Bytes& bytes, uint64_t at) {
    uint64_t number = 0;
    std::memcpy(&number, bytes.all().data() + at, sizeof number);
    return number;
}

TEST(GlobalHeap, pieces_share_collections_until_those_are_full) {
    Bytes all;
    all.put_zeros(80);
    GlobalHeap heap(all, 4096);
    const std::vector<std::byte> piece(1000, std::byte{1}), large(10000, std::byte{2});
    std::vector<GlobalHeap::Place> places;
    for (int k = 0; k < 5; ++k) places.push_back(heap.add(piece));
    const GlobalHeap::Place alone = heap.add(large), last = heap.add(piece);
    heap.end();
    EXPECT_EQ(places[3].collection, 80u) << "16 + 4 * 1016 bytes";
    EXPECT_EQ(places[3].number, 4u);
    EXPECT_EQ(places[4].number, 1u);
    EXPECT_EQ(alone.number, 1u);
    uint64_t at = 80;
    for (const uint64_t collection : {places[3].collection, places[4].collection, alone.collection, last.collection}) {
        EXPECT_EQ(collection, at);
        const uint64_t bytes = number_at(all, at + 8);
        EXPECT_GE(bytes, 4096u);
        EXPECT_EQ(bytes % 8, 0u);
        at += bytes;
    }
    EXPECT_EQ(at, all.size());
    EXPECT_EQ(all.all()[alone.at], std::byte{2});
    EXPECT_EQ(all.all()[last.at], std::byte{1});
}

TEST(GlobalHeap, nothing_is_no_collection) {
    Bytes all;
    GlobalHeap(all, 4096).end();
    EXPECT_EQ(all.size(), 0u);
}

}  // namespace
}  // namespace tailrace::format
