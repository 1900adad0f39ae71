// The driver by itself: filtered chunks that are recorded and placed afterwards, and what it refuses.
#include "part/placement_driver.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "../error_of.hpp"
#include "base/file.hpp"
#include "layout/placement.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kChunk = 64;  // elements

hdf5::Properties deflated() {
    hdf5::Properties creation = hdf5::create_properties(H5P_DATASET_CREATE);
    hdf5::set_chunk(creation, {kChunk});
    hdf5::check(H5Pset_deflate(creation, 4), "H5Pset_deflate", "a dataset");
    return creation;
}

std::vector<double> values_of(uint64_t chunks) {
    std::vector<double> values(chunks * kChunk);
    for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<double>(i % 1009) * 0.5 + static_cast<double>(i / kChunk % 7);
    return values;
}

// The stored bytes of each chunk, as HDF5's own filters make them in a file in memory.
std::vector<std::vector<std::byte>> deflate(const std::vector<double>& values) {
    const hdf5::Properties access = hdf5::create_properties(H5P_FILE_ACCESS);
    hdf5::check(H5Pset_fapl_core(access, 1 << 20, false), "H5Pset_fapl_core", "memory");
    const hdf5::FileId file = hdf5::create_file("in_memory.h5", H5P_DEFAULT, access);
    const hdf5::Properties creation = deflated();
    const hdf5::Dataset dataset =
        hdf5::create_dataset(file, "x", H5T_IEEE_F64LE, hdf5::create_space({values.size()}), {H5P_DEFAULT, creation, H5P_DEFAULT});
    hdf5::check(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "H5Dwrite", "x");
    hdf5::check(H5Dflush(dataset), "H5Dflush", "x");
    std::vector<std::vector<std::byte>> chunks;
    for (hsize_t at = 0; at < values.size(); at += kChunk) {
        hsize_t bytes = 0;
        uint32_t filters = 0;
        hdf5::check(H5Dget_chunk_storage_size(dataset, &at, &bytes), "H5Dget_chunk_storage_size", "x");
        chunks.emplace_back(bytes);
        hdf5::check(H5Dread_chunk(dataset, H5P_DEFAULT, &at, &filters, chunks.back().data()), "H5Dread_chunk", "x");
    }
    return chunks;
}

std::vector<Extent> one_after_another(const std::vector<std::vector<std::byte>>& chunks) {
    std::vector<Extent> extents;
    uint64_t address = kSuperblockBytes;
    for (const auto& chunk : chunks) {
        extents.push_back({address, chunk.size()});
        address += chunk.size();
    }
    return extents;
}

// Lays the chunks out at `extents`; returns the seconds that it took.
double lay_out(Capture& capture, const std::vector<Extent>& extents) {
    const auto begin = std::chrono::steady_clock::now();
    PlacementDriver driver(capture);
    hdf5::FileId file = hdf5::create_file("deflated", H5P_DEFAULT, driver.access());
    {
        const hdf5::Properties creation = deflated();
        const hdf5::Dataset dataset = hdf5::create_dataset(file, "x", H5T_IEEE_F64LE, hdf5::create_space({extents.size() * kChunk}),
                                                           {H5P_DEFAULT, creation, H5P_DEFAULT});
        capture.place_next(extents);
        const std::byte nothing{};
        for (size_t k = 0; k < extents.size(); ++k) hdf5::write_chunk(dataset, {k * kChunk}, extents[k].bytes, &nothing);
        capture.end_placing("x");
    }
    hdf5::close_file(std::move(file), "deflated");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

uint64_t metadata_after(const std::vector<Extent>& extents) { return (extents.back().address + extents.back().bytes + 7) / 8 * 8; }

TEST(PlacementDriver, a_thousand_deflated_chunks_are_placed_afterwards) {
    const auto values = values_of(1000);
    const auto chunks = deflate(values);
    const auto extents = one_after_another(chunks);
    Capture capture(metadata_after(extents), 0);
    lay_out(capture, extents);
    EXPECT_EQ(capture.raw_writes(), extents);

    const char* directory = std::getenv("TAILRACE_READER_FILES");
    const std::string path = std::string(directory == nullptr ? "." : directory) + "/deflated.h5";
    File file = File::create(path);
    file.set_size(capture.file_bytes());
    for (size_t k = 0; k < chunks.size(); ++k) file.write_at(extents[k].address, chunks[k].data(), chunks[k].size());
    file.write_at(capture.metadata_address(), capture.metadata().data(), capture.metadata().size());
    file.write_at(0, capture.superblock().data(), capture.superblock().size());
    file.close();

    const hdf5::FileId opened = hdf5::open_file(path);
    const hdf5::Dataset dataset(hdf5::check(H5Dopen2(opened, "x", H5P_DEFAULT), "H5Dopen2", "x"));
    std::vector<double> read(values.size());
    hdf5::check(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()), "H5Dread", "x");
    EXPECT_EQ(read, values);
}

// 16 times as many chunks take about 16 times as long; with a quadratic step it would be 256.
TEST(PlacementDriver, time_is_linear_in_chunks) {
    const auto seconds_of = [](uint64_t chunks) {
        std::vector<Extent> extents;
        for (uint64_t k = 0; k < chunks; ++k) extents.push_back({kSuperblockBytes + k * 512, 300 + k % 200});
        double least = 1e9;
        for (int i = 0; i < 3; ++i) {
            Capture capture(metadata_after(extents), 0);
            least = std::min(least, lay_out(capture, extents));
        }
        return least;
    };
    seconds_of(1000);
    const double few = seconds_of(2000), many = seconds_of(32000);
    RecordProperty("microseconds_a_chunk", static_cast<int>(many / 32000 * 1e6));
    EXPECT_LT(many, few * 16 * 4) << few << " s for 2,000 chunks, " << many << " s for 32,000";
}

TEST(PlacementDriver, refuses_what_is_not_planned) {
    const hdf5::Quiet quiet;
    const auto place = [](std::vector<Extent> extents, hsize_t elements) {
        Capture capture(1 << 20, 0);
        PlacementDriver driver(capture);
        const hdf5::FileId file = hdf5::create_file("refused", H5P_DEFAULT, driver.access());
        const hdf5::Properties creation = hdf5::create_properties(H5P_DATASET_CREATE);
        hdf5::set_allocation(creation, H5D_ALLOC_TIME_EARLY);
        hdf5::never_write_fill(creation);
        capture.place_next(std::move(extents));
        hdf5::create_dataset(file, "x", H5T_IEEE_F64LE, hdf5::create_space({elements}), {H5P_DEFAULT, creation, H5P_DEFAULT});
        capture.end_placing("x");
    };
    EXPECT_NE(std::string(error_of([&] { place({}, 10); }).what()).find("has no planned address"), std::string::npos);
    EXPECT_NE(std::string(error_of([&] { place({{4096, 72}}, 10); }).what()).find("80 bytes where 72 are planned"),
              std::string::npos);
    const Error left = error_of([&] { place({{4096, 80}, {8192, 80}}, 10); });
    EXPECT_NE(std::string(left.what()).find("took 1 of 2 addresses"), std::string::npos);
    EXPECT_EQ(error_of([] { Capture(100, 0); }).status(), Status::INTERNAL);
    place({{4096, 80}}, 10);
}

}  // namespace
}  // namespace tailrace
