// The list of sources of a virtual dataset, read back by HDF5.
#include "part/source_list.hpp"

#include <gtest/gtest.h>

#include "../error_of.hpp"
#include "base/file.hpp"
#include "part/hdf5.hpp"
#include "part_files.hpp"

namespace tailrace {
namespace {

Box selected(hid_t space) {
    hsize_t first[4], last[4];
    hdf5::check(H5Sget_select_bounds(space, first, last), "H5Sget_select_bounds", "a source");
    EXPECT_EQ(H5Sget_select_hyper_nblocks(space), 1);
    Box box;
    for (int d = 0; d < H5Sget_simple_extent_ndims(space); ++d) {
        box.offset.push_back(first[d]);
        box.count.push_back(last[d] - first[d] + 1);
    }
    return box;
}

std::vector<Source> stored_sources(hid_t file, const std::string& array) {
    const hdf5::Dataset opened(hdf5::check(H5Dopen2(file, array.c_str(), H5P_DEFAULT), "H5Dopen2", array));
    const hdf5::Properties creation(H5Dget_create_plist(opened));
    size_t count = 0;
    hdf5::check(H5Pget_virtual_count(creation, &count), "H5Pget_virtual_count", array);
    std::vector<Source> sources;
    for (size_t i = 0; i < count; ++i) {
        std::string file_name(static_cast<size_t>(H5Pget_virtual_filename(creation, i, nullptr, 0)) + 1, '\0');
        H5Pget_virtual_filename(creation, i, file_name.data(), file_name.size());
        std::string name(static_cast<size_t>(H5Pget_virtual_dsetname(creation, i, nullptr, 0)) + 1, '\0');
        H5Pget_virtual_dsetname(creation, i, name.data(), name.size());
        file_name.pop_back(), name.pop_back();
        const hdf5::Space from(H5Pget_virtual_srcspace(creation, i)), to(H5Pget_virtual_vspace(creation, i));
        EXPECT_TRUE(name.starts_with(as_pattern(array))) << name;
        sources.push_back({file_name, name.substr(as_pattern(array).size()), selected(from), selected(to)});
    }
    return sources;
}

void expect_equal(const std::vector<Source>& stored, const std::vector<Source>& given) {
    ASSERT_EQ(stored.size(), given.size());
    for (size_t i = 0; i < given.size(); ++i) {
        EXPECT_EQ(stored[i].file, given[i].file) << i;
        EXPECT_EQ(stored[i].suffix, given[i].suffix) << i;
        EXPECT_EQ(stored[i].from, given[i].from) << i;
        EXPECT_EQ(stored[i].to, given[i].to) << i;
    }
}

// Rows of a variable, one from each file, in files whose names have different lengths.
std::vector<Source> rows(uint64_t count, uint64_t first = 0) {
    std::vector<Source> sources;
    for (uint64_t r = 0; r < count; ++r)
        sources.push_back({text("parts/", std::string(r % 7, 'p'), r, ".nc"),
                           r == 0 ? "" : text(".", r),
                           {{0, 0, 0}, {2, 1, 5}},
                           {{0, first + r, 0}, {2, 1, 5}}});
    return sources;
}

void write_index(const std::string& path, const Description& description) {
    const Placement placement(part_bytes(description, 0), Storage{});
    const StepBlock block{0, 2, placement.static_end()};
    const Image image = make_image(description, placement, {block}, 2, (block_end(placement, block) + 7) / 8 * 8);
    File file = File::create(path);
    file.write_at(0, image.superblock.data(), image.superblock.size());
    file.write_at(image.metadata_address, image.metadata.data(), image.metadata.size());
    file.set_size(image.file_bytes);
}

TEST(SourceList, hdf5_reads_what_was_given) {
    Description index = test::grid(3000, 5, false);
    const std::vector<uint64_t> counts = {1, 2, 3, 10, 300, 3000};
    for (const uint64_t count : counts) index.arrays.push_back({text("n", count), Type::F32, {0, 1}, true, {}, {}, rows(count)});
    write_index("sources.nc", index);
    const hdf5::FileId file = hdf5::open_file("sources.nc");
    for (const uint64_t count : counts) expect_equal(stored_sources(file, text("n", count)), rows(count));
}

TEST(SourceList, arrays_that_share_their_sources) {
    const Sources many = rows(1000), others = rows(10);
    const std::vector<std::pair<std::string, Sources>> arrays = {{"u", many},      {"v", many},    {"longer", many},
                                                                 {"same_l", many}, {"w", others},  {"x", many},
                                                                 {"a%b", many},    {"abcd", many}, {"c%", others}};
    Description index = test::grid(1000, 5, false);
    for (const auto& [name, sources] : arrays) index.arrays.push_back({name, Type::F32, {0, 1}, true, {}, {}, sources});
    write_index("shared.nc", index);
    const hdf5::FileId file = hdf5::open_file("shared.nc");
    for (const auto& [name, sources] : arrays) expect_equal(stored_sources(file, name), {sources.begin(), sources.end()});
}

TEST(SourceList, positions_beyond_4_gi) {
    const uint64_t far = uint64_t{1} << 33;
    Description index = test::grid(far + 10, 5, false);
    index.arrays.push_back({"far", Type::U8, {0, 1}, true, {}, {}, rows(3, far)});
    write_index("far.nc", index);
    const hdf5::FileId file = hdf5::open_file("far.nc");
    expect_equal(stored_sources(file, "far"), rows(3, far));
}

TEST(SourceList, names_with_percent_signs) {
    std::vector<Source> sources = rows(2);
    sources[0].file = "100%b.nc";
    sources[1].suffix = "%d%";
    Description index = test::grid(10, 5, false);
    index.arrays.push_back({"v", Type::U8, {0, 1}, true, {}, {}, sources});
    write_index("percent.nc", index);
    for (Source& source : sources) source.file = as_pattern(source.file), source.suffix = as_pattern(source.suffix);
    expect_equal(stored_sources(hdf5::open_file("percent.nc"), "v"), sources);
}

}  // namespace
}  // namespace tailrace
