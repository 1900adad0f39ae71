// The image: where HDF5 says that the data is, what it refuses, and that time grows with the number of arrays and steps only.
#include "part/image.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "../error_of.hpp"
#include "../sanitized.hpp"
#include "part/hdf5.hpp"
#include "part_files.hpp"

namespace tailrace {
namespace {

using test::grid;
using test::PartFile;

Image image_of(const Description& description, uint64_t steps) {
    const Placement placement(part_bytes(description, 0), Storage{});
    const StepBlock block{0, steps, placement.static_end()};
    return make_image(description, placement, {block}, steps, (block_end(placement, block) + 7) / 8 * 8);
}

Description with_arrays(int count, bool unlimited) {
    Description d = grid(4, 4, unlimited);
    for (int i = 0; i < count; ++i) {
        d.arrays.push_back({text("v", i), Type::F64, {0, 1}, true, {text_attribute("units", "K")}, {}, {}});
        d.arrays.back().attributes.push_back(text_attribute("long_name", text("variable number ", i)));
    }
    return d;
}

double seconds_of(const Description& description, uint64_t steps) {
    double least = 1e9;
    for (int i = 0; i < 3; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        image_of(description, steps);
        least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return least;
}

// With an attribute that is too long for the encoder.
Description for_hdf5(int count) {
    Description d = with_arrays(count, true);
    d.attributes.push_back(text_attribute("long", std::string(66000, 'x')));
    return d;
}

TEST(Image, equal_arguments_give_equal_bytes) {
    const Description d = with_arrays(20, true);
    const Image a = image_of(d, 3), b = image_of(d, 3);
    EXPECT_EQ(a.metadata, b.metadata);
    EXPECT_EQ(a.superblock, b.superblock);
    EXPECT_LE(a.superblock.size(), 512u) << "one sector: it is replaced as a whole";
}

// HDF5's own answer for the address of every chunk is the placement's.
TEST(Image, chunks_are_where_the_placement_says) {
    for (const bool unlimited : {true, false}) {
        PartFile part{.description = with_arrays(3, unlimited)};
        part.write("chunks.nc", {2, 3});
        const hdf5::FileId file = hdf5::open_file("chunks.nc");
        for (size_t v = 0; v < part.description.arrays.size(); ++v) {
            const Array& array = part.description.arrays[v];
            const hdf5::Dataset dataset(hdf5::check(H5Dopen2(file, array.name.c_str(), H5P_DEFAULT), "H5Dopen2", array.name));
            const hsize_t offset[3] = {};
            for (hsize_t s = 0; s < 5; ++s) {
                hsize_t at[3] = {s, offset[1], offset[2]}, bytes = 0;
                haddr_t address = 0;
                unsigned filters = 0;
                hdf5::check(H5Dget_chunk_info_by_coord(dataset, at, &filters, &address, &bytes), "H5Dget_chunk_info_by_coord",
                            array.name);
                EXPECT_EQ(address, step_address(part.placement, part.blocks, s) + part.placement.step_offsets()[v]);
            }
        }
    }
}

TEST(Image, steps_of_four_gigabytes_are_split_into_equal_shares) {
    for (const bool unlimited : {true, false}) {
        Description d = grid(60000, 50000, unlimited);  // 12 GB a step of f4
        d.arrays.push_back({"T", Type::F32, {0, 1}, true, {}, {}, {}});
        const Image image = image_of(d, 3);
        EXPECT_GT(image.file_bytes, 36'000'000'000u);
        EXPECT_LT(image.metadata.size(), 20'000u);
    }
    Description d = grid(4294967311, 1, true);  // a prime number of elements
    d.arrays.push_back({"T", Type::F32, {0}, true, {}, {}, {}});
    EXPECT_EQ(error_of([&] { image_of(d, 3); }).status(), Status::UNSUPPORTED);
    d.time_unlimited = false;
    EXPECT_NO_THROW(image_of(d, 1)) << "contiguous data has no limit";
}

TEST(Image, refuses_what_netcdf_cannot_say) {
    const auto refused = [](Status status, const std::string& words, auto change) {
        Description d = with_arrays(1, true);
        change(d);
        const Error error = error_of([&] { image_of(d, 2); });
        EXPECT_EQ(error.status(), status) << error.what();
        EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    };
    for (const char* name : {"", "a/b", "a\tb", "ends ", "-begins", "\xff\xfe", "\xc3"})
        refused(Status::BAD_ARGUMENT, "NetCDF", [&](Description& d) { d.arrays[1].name = name; });
    refused(Status::BAD_ARGUMENT, "at most 256", [](Description& d) { d.arrays[1].name = std::string(257, 'x'); });
    refused(Status::BAD_ARGUMENT, "'/'", [](Description& d) { d.dimensions[0].name = "la/t"; });
    refused(Status::BAD_ARGUMENT, "two arrays", [](Description& d) { d.arrays.push_back(d.arrays[1]); });
    refused(Status::BAD_ARGUMENT, "two dimensions", [](Description& d) { d.dimensions[1].name = "time"; });
    refused(Status::BAD_SHAPE, "rename the array or the dimension", [](Description& d) { d.arrays[1].name = "lat"; });
    refused(Status::BAD_SHAPE, "rename the array or the dimension",
            [](Description& d) { d.arrays.push_back({"lat", Type::F64, {1}, false, {}, {}, {}}); });
    refused(Status::BAD_SHAPE, "time coordinate", [](Description& d) { d.arrays[0].type = Type::F32; });
    refused(Status::BAD_ATTRIBUTE, "reserved by", [](Description& d) { d.arrays[1].attributes[0].name = "DIMENSION_LIST"; });
    refused(Status::BAD_ATTRIBUTE, "f8", [](Description& d) {
        const float fill = 0;
        d.arrays[1].attributes.push_back(number_attribute("_FillValue", Type::F32, 1, &fill));
    });
    refused(Status::BAD_SHAPE, "cannot show",
            [](Description& d) { d.arrays[1].sources = {{"part.nc", "", {{0, 0, 0}, {1, 2, 4}}, {{0, 3, 0}, {1, 2, 4}}}}; });
    refused(Status::BAD_SHAPE, "there are 2 steps",
            [](Description& d) { d.arrays[1].sources = {{"part.nc", "", {{0, 0, 0}, {1, 2, 4}}, {{2, 0, 0}, {1, 2, 4}}}}; });
    refused(Status::BAD_ARGUMENT, "store it in the index",
            [](Description& d) { d.arrays.push_back({"count", Type::I32, {}, false, {}, {}, {{"part.nc", "", {}, {}}}}); });
}

TEST(Image, refuses_a_placement_of_other_arrays_and_metadata_in_the_data) {
    const Description d = with_arrays(2, true);
    const Placement other(part_bytes(with_arrays(1, true), 0), Storage{});
    EXPECT_EQ(error_of([&] { make_image(d, other, {{0, 1, 4096}}, 1, 1 << 20); }).status(), Status::INTERNAL);
    const Placement placement(part_bytes(d, 0), Storage{});
    EXPECT_EQ(error_of([&] { make_image(d, placement, {{0, 1, 8192}}, 1, 4096); }).status(), Status::INTERNAL);
    EXPECT_EQ(error_of([&] { make_image(d, placement, {{0, 1, 8192}}, 2, 1 << 20); }).status(), Status::INTERNAL);
}

TEST(Image, time_is_linear_in_arrays_and_steps) {
    if (kSanitized) GTEST_SKIP() << "time is not the program's own under the sanitizers";
    // The first are encoded here, of the others HDF5 makes the image.
    const double hundred = seconds_of(with_arrays(125, true), 1), thousands = seconds_of(with_arrays(2000, true), 1);
    const double few = seconds_of(for_hdf5(3000), 1), many = seconds_of(for_hdf5(12000), 1);
    const double short_run = seconds_of(with_arrays(5, true), 2000), long_run = seconds_of(with_arrays(5, true), 32000);
    std::printf(
        "arrays: 125 in %.4f s, 2,000 in %.4f s; 3,000 in %.4f s, 12,000 in %.4f s; 5 arrays of 2,000 steps: %.4f s, of "
        "32,000: %.4f s\n",
        hundred, thousands, few, many, short_run, long_run);
    EXPECT_LT(thousands, hundred * 16 * 4);
    EXPECT_LT(many, few * 4 * 4);
    EXPECT_LT(long_run, short_run * 16 * 4);
}

}  // namespace
}  // namespace tailrace
