#include "format/chunk_tree.hpp"

#include <gtest/gtest.h>

#include <random>

#include "../error_of.hpp"
#include "../temporary_directory.hpp"
#include "format/growing_tree.hpp"
#include "format/messages.hpp"
#include "format/object_header.hpp"

namespace tailrace::format {
namespace {

constexpr uint64_t kChunksAStep = 3, kBase = 64;

std::vector<uint64_t> position(uint64_t number) { return {number / kChunksAStep, number % kChunksAStep * 10}; }

// An object header at address 64 with the layout of a dataset in two dimensions, and the tree of its chunks.
struct Dataset {
    Bytes bytes;
    uint64_t header = 0, tree = 0;

    Dataset(uint64_t chunks, uint64_t most_children) {
        bytes.put_zeros(kBase);
        GrowingTree growing(2, most_children);
        const auto chunk = [](uint64_t n) -> ChunkEntry { return {{4096 + 100 * n, 50 + n % 7}, position(n)}; };
        tree = bytes.size();
        growing.put_full_nodes(bytes, 0, chunks, chunk);
        const uint64_t root = growing.put_open_nodes(bytes, 0, chunks, chunk);
        bytes.put_zeros(growing.node_bytes());
        ObjectHeader object(bytes);
        object.add(Message::datatype, Bytes());
        object.add(Message::layout, chunk_tree_layout(std::vector<uint64_t>{1, 10}, 8, root));
        header = object.begin();
        object.end();
    }

    std::shared_ptr<const File> written(const std::string& path) const {
        File file = File::create(path);
        file.write_at(0, bytes.all().data(), bytes.size());
        file.close();
        return std::make_shared<const File>(File::open_read(path));
    }
};

TEST(ChunkTree, finds_each_chunk_in_any_order) {
    const TemporaryDirectory directory;
    for (const uint64_t most_children : {2, 8, 64})
        for (const uint64_t chunks : {1, 3, 63, 64, 65, 1000}) {
            const Dataset dataset(chunks, most_children);
            auto tree = ChunkTree::of(dataset.written(directory / "dataset"), dataset.header);
            ASSERT_TRUE(tree);
            for (uint64_t k = 0; k < chunks; ++k) {
                const uint64_t n = k * 37 % chunks;
                const auto found = tree->find(position(n));
                ASSERT_TRUE(found) << n << " of " << chunks;
                EXPECT_EQ(found->place.address, 4096 + 100 * n);
                EXPECT_EQ(found->place.bytes, 50 + n % 7);
                EXPECT_EQ(found->skipped_filters, 0u);
            }
            EXPECT_FALSE(tree->find(position(chunks)));
            EXPECT_FALSE(tree->find(std::vector<uint64_t>{0, 5}));
            EXPECT_FALSE(tree->find(std::vector<uint64_t>{0}));
        }
}

TEST(ChunkTree, a_dataset_without_chunks_has_none) {
    const TemporaryDirectory directory;
    const Dataset dataset(0, 8);
    auto tree = ChunkTree::of(dataset.written(directory / "dataset"), dataset.header);
    ASSERT_TRUE(tree);
    EXPECT_FALSE(tree->find(position(0)));
}

TEST(ChunkTree, other_headers_are_left_to_hdf5) {
    const TemporaryDirectory directory;
    const Dataset dataset(10, 8);
    const auto file = dataset.written(directory / "dataset");
    EXPECT_FALSE(ChunkTree::of(file, dataset.tree));
    EXPECT_EQ(error_of([&] { ChunkTree::of(file, 1u << 20); }).status(), Status::CORRUPT);
}

TEST(ChunkTree, damaged_bytes_give_an_error_or_an_answer) {
    const TemporaryDirectory directory;
    std::mt19937 random(20261126);
    const Dataset dataset(200, 4);
    uint64_t errors = 0;
    for (int k = 0; k < 3000; ++k) {
        Dataset damaged = dataset;
        for (int n = 0; n < 1 + k % 4; ++n)
            damaged.bytes.set(kBase + random() % (damaged.bytes.size() - kBase), static_cast<uint8_t>(random()));
        try {
            auto tree = ChunkTree::of(damaged.written(directory / "dataset"), damaged.header);
            for (uint64_t n = 0; tree && n < 200; n += 13) tree->find(position(n));
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::CORRUPT);
            EXPECT_NE(std::string(error.what()).find(directory.path()), std::string::npos);
            ++errors;
        }
    }
    EXPECT_GT(errors, 0u);
}

}  // namespace
}  // namespace tailrace::format
