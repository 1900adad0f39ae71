// Writes one file of every kind into the working directory, or into TAILRACE_READER_FILES, where tests/test_part.py opens them with
// plain tools. Here they are read with HDF5 itself.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "../error_of.hpp"
#include "base/paths.hpp"
#include "part/hdf5.hpp"
#include "part/netcdf.hpp"
#include "part_files.hpp"

namespace tailrace {
namespace {

using test::grid;
using test::PartFile;

std::string path_of(const std::string& name) {
    const char* directory = std::getenv("TAILRACE_READER_FILES");
    return std::string(directory == nullptr ? "." : directory) + "/" + name;
}

// Every array, every value, through HDF5.
void expect_values(const std::string& path, const PartFile& part) {
    const hdf5::FileId file = hdf5::open_file(path);
    const uint64_t steps = part.steps();
    for (size_t i = 0; i < part.description.arrays.size(); ++i) {
        const Array& array = part.description.arrays[i];
        std::vector<std::byte> expected;
        for (uint64_t s = 0; s < (array.varies ? steps : 1); ++s) {
            const auto step = part.values(i, s);
            expected.insert(expected.end(), step.begin(), step.end());
        }
        std::vector<std::byte> read(expected.size() + 1);
        const hdf5::Dataset dataset(hdf5::check(H5Dopen2(file, array.name.c_str(), H5P_DEFAULT), "H5Dopen2", array.name));
        hdf5::check(H5Dread(dataset, memory_type(array.type), H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()), "H5Dread", array.name);
        read.pop_back();
        EXPECT_EQ(read, expected) << path << " " << array.name;
    }
}

void expect_seals(const std::string& path, const PartFile& part) {
    const auto map = read_seal_map(path);
    ASSERT_TRUE(map.has_value());
    ASSERT_EQ(map->steps(), part.steps());
    const File file = File::open_read(path);
    for (uint64_t s = 0; s < part.steps(); ++s) {
        const Seal seal = read_seal(file, map->address(s, 0), map->slot_bytes);
        EXPECT_EQ(seal.step, s);
        EXPECT_FALSE(seal.records.empty());
        EXPECT_EQ(verify_records(file, seal.records), std::nullopt);
    }
    if (map->static_seal == 0) return;
    const Seal seal = read_seal(file, map->static_address(0), map->slot_bytes);
    EXPECT_EQ(seal.step, kSealOfStatic);
    EXPECT_EQ(verify_records(file, seal.records), std::nullopt);
}

void write_and_check(PartFile& part, const std::string& name, const std::vector<uint64_t>& blocks) {
    part.write(path_of(name), blocks);
    expect_values(path_of(name), part);
    expect_seals(path_of(name), part);
    const File file = File::open_read(path_of(name));
    EXPECT_EQ(file.size_bytes(), part.image.file_bytes);
}

Description climate(bool unlimited) {
    Description d = grid(6, 8, unlimited);
    d.dimensions.push_back({"layer", 3});
    const float missing = -999.0f;
    const double range[2] = {0.0, 100.0};
    std::vector<std::byte> fill(sizeof missing);
    std::memcpy(fill.data(), &missing, sizeof missing);
    d.arrays.push_back({"lat", Type::F64, {0}, false, {text_attribute("units", "degrees_north")}, {}, {}});
    d.arrays.push_back({"lon", Type::F64, {1}, false, {text_attribute("units", "degrees_east")}, {}, {}});
    d.arrays.push_back({"T",
                        Type::F32,
                        {0, 1},
                        true,
                        {text_attribute("units", "K"), text_attribute("long_name", "Temperatur der Luft, °C über Null"),
                         text_attribute("comment", ""), number_attribute("valid_range", Type::F64, 2, range)},
                        fill,
                        {}});
    d.arrays.push_back({"U", Type::F64, {2, 0, 1}, true, {}, {}, {}});
    d.arrays.push_back({"mask", Type::I8, {0, 1}, false, {}, {}, {}});
    d.arrays.push_back({"flux", Type::F64, {}, true, {}, {}, {}});
    d.arrays.push_back({"count", Type::I32, {}, false, {}, {}, {}});
    d.attributes.push_back(text_attribute("title", "größte Probe"));
    d.attributes.push_back(text_attribute("Conventions", "CF-1.8"));
    test::number_arrays(d);
    return d;
}

TEST(ReaderFiles, contiguous) {
    PartFile part{.description = climate(false)};
    write_and_check(part, "contiguous.nc", {1});
}

TEST(ReaderFiles, chunked) {
    PartFile part{.description = climate(true)};
    write_and_check(part, "chunked.nc", {5});
}

TEST(ReaderFiles, fixed) {
    PartFile part{.description = climate(false)};
    write_and_check(part, "fixed.nc", {5});
}

TEST(ReaderFiles, growing) {
    PartFile part{.description = climate(true)};
    write_and_check(part, "growing.nc", {3, 4, 1, 20});
}

// After each block, also between the writing of new metadata and the new superblock, the file is whole.
TEST(ReaderFiles, growing_is_whole_before_the_superblock) {
    PartFile part{.description = climate(true)};
    const std::string path = path_of("grown.nc");
    part.write(path, {2});
    const format::ByteVector old = part.image.superblock;
    PartFile before = part;
    HeldFile file(File::open_write(path), false);
    part.add_block(file, part.image.file_bytes, 3);
    file.write_at(0, old.data(), old.size());
    expect_values(path, before);
    file.write_at(0, part.image.superblock.data(), part.image.superblock.size());
    expect_values(path, part);
}

TEST(ReaderFiles, types) {
    PartFile part{.description = grid(4, 5, true)};
    std::vector<Type> types;
#define TAILRACE_TYPE(name, n, size, c, numpy, fortran) types.push_back(Type::name);
#include <tailrace/types.def>
#undef TAILRACE_TYPE
    for (const Type type : types) {
        const auto one = test::values_of(type, 0, 0, 33, 1);
        const auto attribute = test::values_of(type, 1, 2, 3, 3);
        part.description.arrays.push_back({std::string("step_") + type_code(type),
                                           type,
                                           {0, 1},
                                           true,
                                           {number_attribute("three", type, 3, attribute.data())},
                                           one,
                                           {}});
        part.description.arrays.push_back({std::string("static_") + type_code(type), type, {1}, false, {}, {}, {}});
    }
    test::number_arrays(part.description);
    write_and_check(part, "types.nc", {3});
}

TEST(ReaderFiles, odd_shapes) {
    PartFile part{.description = grid(4, 0, false)};
    auto& arrays = part.description.arrays;
    part.description.dimensions.push_back({"one", 1});
    arrays.push_back({"empty", Type::F32, {0, 1}, true, {}, {}, {}});
    arrays.push_back({"empty_static", Type::F32, {1}, false, {}, {}, {}});
    arrays.push_back({"lon", Type::F32, {1}, false, {}, {}, {}});
    arrays.push_back({"single", Type::I16, {2}, true, {}, {}, {}});
    arrays.push_back({"scalar", Type::I64, {}, false, {}, {}, {}});
    test::number_arrays(part.description);
    write_and_check(part, "odd.nc", {2});
}

TEST(ReaderFiles, without_time) {
    PartFile part{.description = {}};
    part.description.dimensions = {{"x", 12}};
    part.description.arrays.push_back({"field", Type::F32, {0}, false, {}, {}, {}});
    test::number_arrays(part.description);
    write_and_check(part, "timeless.nc", {});
}

TEST(ReaderFiles, large_and_many_attributes) {
    PartFile part{.description = grid(4, 5, true)};
    part.description.arrays.push_back({"T", Type::F32, {0, 1}, true, {}, {}, {}});
    std::vector<double> large(20000);  // more than an object header takes
    std::iota(large.begin(), large.end(), 0.0);
    for (auto* attributes : {&part.description.attributes, &part.description.arrays[1].attributes}) {
        attributes->push_back(number_attribute("large", Type::F64, large.size(), large.data()));
        for (int i = 0; i < 200; ++i) attributes->push_back(text_attribute(text("note_", i), text("the text of note ", i)));
        attributes->push_back(text_attribute("long_text", std::string(100000, 'x')));
    }
    test::number_arrays(part.description);
    write_and_check(part, "attributes.nc", {2});
}

TEST(ReaderFiles, tiny_arrays_stay_small) {
    PartFile part{.description = grid(2, 2, true)};
    for (int i = 0; i < 300; ++i) part.description.arrays.push_back({text("v", i), Type::F32, {0, 1}, true, {}, {}, {}});
    test::number_arrays(part.description);
    part.checksum = false;
    part.storage.alignment_bytes = 1 << 20;
    part.write(path_of("tiny.nc"), {4});
    expect_values(path_of("tiny.nc"), part);
    EXPECT_LT(part.image.file_bytes, 400'000u);
}

// A dimension that more arrays use than fit into a compact attribute: its list of uses is a large attribute.
TEST(ReaderFiles, five_thousand_arrays) {
    PartFile part{.description = grid(2, 2, true)};
    for (int i = 0; i < 5000; ++i) part.description.arrays.push_back({text("v", i), Type::F32, {0}, true, {}, {}, {}});
    part.checksum = false;
    part.write(path_of("many.nc"), {2});
    expect_values(path_of("many.nc"), part);
}

// Two parts of two steps each, split along lat, and the index over them.
TEST(ReaderFiles, index) {
    Description index = grid(6, 8, false);
    index.arrays.push_back({"lat", Type::F64, {0}, false, {}, {}, {}});
    index.arrays.push_back({"T", Type::F32, {0, 1}, true, {text_attribute("units", "K")}, {}, {}});
    test::number_arrays(index);
    make_directories(path_of("parts"));
    std::vector<Source> sources;
    uint64_t first = 0;
    for (const uint64_t rows : {4, 2}) {
        PartFile part{.description = grid(rows, 8, false), .first_index = first * 8};
        part.description.arrays.push_back({"other", Type::F32, {}, false, {}, {}, {}});
        part.description.arrays.push_back({"T", Type::F32, {0, 1}, true, {}, {}, {}});
        const std::string name = text("parts/T.", first, ".nc");
        part.write(path_of(name), {2});
        const Box from{{0, 0, 0}, {2, rows, 8}}, to{{0, first, 0}, {2, rows, 8}};
        sources.push_back({name, "", from, to});
        first += rows;
    }
    index.arrays[2].sources = sources;
    PartFile shown{.description = index};
    shown.write(path_of("index.nc"), {2});
    expect_values(path_of("index.nc"), shown);
}

}  // namespace
}  // namespace tailrace
