// What is encoded here and what HDF5 makes of the same description: h5dump shows the same of both.
#include "part/encoded_image.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "part/hdf5_image.hpp"
#include "part_files.hpp"

namespace tailrace {
namespace {

std::string output_of(const std::string& command) {
    std::string output;
    FILE* pipe = popen(command.c_str(), "r");
    std::array<char, 65536> buffer;
    while (const size_t bytes = fread(buffer.data(), 1, buffer.size(), pipe)) output.append(buffer.data(), bytes);
    EXPECT_EQ(pclose(pipe), 0) << command << "\n" << output;
    return output;
}

void write(const std::string& path, const Image& image) {
    File file = File::create(path);
    put_in_force(file, image);
    file.close();
}

// Attributes, types, spaces, fill values, filters, links and what they lead to, and the address of contiguous data. Left out are
// the addresses of objects and the names of filters, which are a plugin's where there is one.
std::string shown(const std::string& path) {
    const std::string unlike = R"(s/DATASET [0-9]+ "/DATASET "/g; /COMMENT/d)";
    const std::string output = output_of("h5dump -w 0 -p -A " + path + " 2>&1 | sed -E '" + unlike + "'");
    return output.substr(output.find('\n'));  // without the file's name
}

struct Plan {
    Description description;
    uint64_t steps = 1;
    ChunkPlaces chunks = {};
    Placement placement = {};

    ImagePlan made() {
        placement = Placement(part_bytes(description, 0), Storage{});
        const StepBlock block{0, steps, placement.static_end()};
        std::vector<uint64_t> addresses;
        for (uint64_t s = 0; s < steps; ++s) addresses.push_back(block.address + s * placement.step_pitch());
        const uint64_t end = (block_end(placement, block) + 7) / 8 * 8;
        return {description, steps, end, end, addresses, places_of(description, placement), chunks};
    }
};

void expect_same(Plan& plan) {
    const ImagePlan made = plan.made();
    const std::optional<Image> encoded = encoded_image(made);
    ASSERT_TRUE(encoded.has_value());
    write("encoded.nc", *encoded);
    write("hdf5.nc", hdf5_image(made));
    EXPECT_EQ(shown("encoded.nc"), shown("hdf5.nc"));
    // netCDF's view: order of variables and dimensions, too.
    const auto header = [](const char* path) {
        return output_of(text("ncdump -hs ", path, " | tail -n +2 | grep -v _ChunkSizes"));
    };
    EXPECT_EQ(header("encoded.nc"), header("hdf5.nc"));
}

std::vector<Attribute> all_kinds_of_attributes() {
    const double numbers[] = {1.5, -2.5, 1e300};
    const int8_t byte = -7;
    std::vector<Attribute> attributes = {
        text_attribute("long_name", "ä text"), text_attribute("nothing", ""), number_attribute("numbers", Type::F64, 3, numbers),
        number_attribute("byte", Type::I8, 1, &byte), number_attribute("none", Type::I32, 0, &byte)};
    return attributes;
}

Description every_type(bool unlimited) {
    Description d = test::grid(6, 5, unlimited);
    d.attributes = all_kinds_of_attributes();
#define TAILRACE_TYPE(name, number, bytes, c, numpy, fortran)                                           \
    d.arrays.push_back({"varies_" #name, Type::name, {0, 1}, true, all_kinds_of_attributes(), {}, {}}); \
    d.arrays.push_back({"static_" #name, Type::name, {1}, false, {}, std::vector<std::byte>(bytes, std::byte{3}), {}});
#include <tailrace/types.def>
#undef TAILRACE_TYPE
    d.arrays.push_back({"lat", Type::F32, {0}, false, {text_attribute("units", "degrees_north")}, {}, {}});
    d.arrays.push_back({"a scalar", Type::I32, {}, true, {}, {}, {}});
    d.arrays.push_back({"a constant", Type::I32, {}, false, {}, {}, {}});
    d.arrays.push_back({std::string(256, 'n'), Type::U16, {1, 0}, true, {}, {}, {}});
    return d;
}

TEST(EncodedImage, every_type_of_array_and_attribute) {
    for (const uint64_t steps : {1, 3})
        for (const bool unlimited : {false, true}) {
            Plan plan{every_type(unlimited), steps};
            expect_same(plan);
        }
}

TEST(EncodedImage, as_many_chunks_as_need_pages_and_levels) {
    for (const uint64_t steps : {63, 64, 65, 1024, 1025, 5000})
        for (const bool unlimited : {false, true}) {
            Plan plan{test::grid(3, 2, unlimited), steps};
            plan.description.arrays.push_back({"v", Type::F32, {0, 1}, true, {}, {}, {}});
            expect_same(plan);
        }
}

TEST(EncodedImage, compressed_chunks) {
    for (const auto kind : {Compression::Kind::deflate, Compression::Kind::zstd})
        for (const bool unlimited : {false, true}) {
            Plan plan{test::grid(60, 50, unlimited), 4};
            const ChunkGrid grid({60, 50}, 8, 2048);
            plan.description.arrays.push_back({"v", Type::F64, {0, 1}, true, {}, {}, {}, Packing{grid, {{kind, 3}, 8}}});
            plan.chunks.resize(2);
            uint64_t at = 1 << 20;
            for (uint64_t k = 0; k < 3 * grid.count(); ++k) plan.chunks[1].push_back({at += 1000, 100 + k});
            expect_same(plan);
        }
}

TEST(EncodedImage, virtual_arrays) {
    Plan plan{test::grid(40, 5, false), 6};
    for (const uint64_t count : {1, 2, 40}) {
        std::vector<Source> sources;
        for (uint64_t r = 0; r < count; ++r)
            sources.push_back({text("parts/", r, ".nc"), text(".", r), {{0, 0, 0}, {6, 1, 5}}, {{0, r, 0}, {6, 1, 5}}});
        plan.description.arrays.push_back({text("n", count), Type::F32, {0, 1}, true, {}, {}, sources});
    }
    plan.description.arrays.push_back(
        {"empty", Type::F32, {0, 1}, true, {}, {}, {{"p.nc", "", {{0, 0, 0}, {0, 1, 5}}, {{0, 0, 0}, {0, 1, 5}}}}});
    expect_same(plan);
}

TEST(EncodedImage, leaves_to_hdf5_what_needs_heaps) {
    const auto encodes = [](auto change) {
        Plan plan{test::grid(4, 4, false)};
        plan.description.arrays.push_back({"v", Type::F32, {0, 1}, true, {}, {}, {}});
        change(plan.description);
        return encoded_image(plan.made()).has_value();
    };
    EXPECT_TRUE(encodes([](Description&) {}));
    EXPECT_TRUE(encodes([](Description& d) { d.attributes.push_back(text_attribute("long", std::string(65000, 'x'))); }));
    EXPECT_FALSE(encodes([](Description& d) { d.attributes.push_back(text_attribute("long", std::string(66000, 'x'))); }));
    EXPECT_FALSE(encodes([](Description& d) {
        for (int k = 0; k < 65; ++k) d.arrays[1].attributes.push_back(text_attribute(text("a", k), "x"));
    }));
    EXPECT_FALSE(encodes([](Description& d) {
        for (int k = 0; k < 17000; ++k) d.arrays.push_back({text("v", k), Type::F32, {0}, true, {}, {}, {}});
    }));
}

}  // namespace
}  // namespace tailrace
