// What several readers of parts share: HDF5, which only one thread at a time may use, and the contents of the root group.
#include "part/part_reader.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "../temporary_directory.hpp"
#include "part_files.hpp"

namespace tailrace {
namespace {

using test::grid;
using test::PartFile;

PartFile part_of(int arrays) {
    PartFile part;
    part.description = grid(4, 6, true);
    for (int i = 0; i < arrays; ++i) part.description.arrays.push_back({text("v", i), Type::F64, {0, 1}, true, {}, {}, {}});
    part.description.attributes.push_back(text_attribute("title", "of a part"));
    return part;
}

void expect_all(const PartFile& part, const std::string& path) {
    const PartReader reader(path);
    for (size_t i = 1; i < part.description.arrays.size(); ++i) {
        const StoredArray stored = reader.find({part.description.arrays[i].name, Type::F64, {4, 6}, true}, 1);
        std::vector<double> values(24);
        read_box(stored, whole_box({4, 6}), BlockView(values.data(), sizeof(double), {4, 6}, {}));
        for (uint64_t at = 0; at < 24; ++at) EXPECT_EQ(values[at], test::value_at(i, 1, at));
    }
    EXPECT_EQ(root_text(path, "title"), "of a part");
}

TEST(PartReader, streams_of_several_threads_share_hdf5) {
    const TemporaryDirectory directory;
    std::vector<std::thread> threads;
    std::atomic<int> done = 0;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int round = 0; round < 20; ++round) {
                PartFile part = part_of(3 + t);
                const std::string path = directory / text("part-", t, ".nc");
                part.write(path, {2});
                expect_all(part, path);
            }
            ++done;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(done, 4);
}

TEST(RootText, is_there_or_is_not) {
    const TemporaryDirectory directory;
    PartFile part = part_of(1);
    const int32_t number = 7;
    part.description.attributes.push_back(number_attribute("number", Type::I32, 1, &number));
    part.write(directory / "part.nc", {1});
    EXPECT_EQ(root_text(directory / "part.nc", "title"), "of a part");
    EXPECT_EQ(root_text(directory / "part.nc", "number"), "");
    EXPECT_EQ(root_text(directory / "part.nc", "absent"), std::nullopt);
    File::create(directory / "text.nc").close();
    EXPECT_EQ(root_text(directory / "text.nc", "title"), std::nullopt);
}

}  // namespace
}  // namespace tailrace
