// A part whose metadata is that of a part which HDF5 has read is read without HDF5; any other is not.
#include "part/known_metadata.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "../temporary_directory.hpp"
#include "part/part_reader.hpp"
#include "part_files.hpp"

namespace tailrace {
namespace {

using test::grid;
using test::PartFile;

// A part of one step with arrays of 4 x 6.
void write_part(const std::string& path, const std::vector<std::string>& names = {"a", "b"}) {
    PartFile part;
    part.description = grid(4, 6, false);
    for (const std::string& name : names) part.description.arrays.push_back({name, Type::F64, {0, 1}, true, {}, {}, {}});
    part.write(path, {1});
}

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void set_bytes(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

PartReader::Wanted wanted(const std::string& name) { return {name, Type::F64, {4, 6}, true}; }

// Of the array with this number among the part's arrays, of which the first is the time.
void expect_values(const StoredArray& stored, uint64_t number) {
    std::vector<double> values(24);
    read_box(stored, whole_box({4, 6}), BlockView(values.data(), sizeof(double), {4, 6}, {}));
    for (uint64_t at = 0; at < 24; ++at) EXPECT_EQ(values[at], test::value_at(number, 0, at));
}

TEST(KnownMetadata, serves_the_next_part_with_the_same_metadata) {
    const TemporaryDirectory directory;
    write_part(directory / "0.nc");
    write_part(directory / "1.nc");
    const auto known = std::make_shared<KnownParts>();
    const PartReader first(directory / "0.nc", 0, known);
    EXPECT_FALSE(first.is_known());
    expect_values(first.find(wanted("a"), 0), 1);
    const PartReader second(directory / "1.nc", 0, known);
    EXPECT_TRUE(second.is_known());
    expect_values(second.find(wanted("a"), 0), 1);
    EXPECT_TRUE(second.is_known());
    expect_values(second.find(wanted("b"), 0), 2);  // HDF5 opens it: nobody has looked for "b"
    EXPECT_FALSE(second.is_known());
    const PartReader third(directory / "0.nc", 0, known);
    expect_values(third.find(wanted("b"), 0), 2);
    expect_values(third.find(wanted("a"), 0), 1);
    EXPECT_TRUE(third.is_known());
    EXPECT_FALSE(PartReader(directory / "0.nc", 1, known).is_known());  // another part of the step
}

TEST(KnownMetadata, refuses_what_hdf5_refuses) {
    const TemporaryDirectory directory;
    write_part(directory / "0.nc");
    write_part(directory / "1.nc");
    const auto known = std::make_shared<KnownParts>();
    (void)PartReader(directory / "0.nc", 0, known).find(wanted("a"), 0);
    const PartReader part(directory / "1.nc", 0, known);
    EXPECT_TRUE(part.is_known());
    EXPECT_THROW((void)part.find(wanted("a"), 1), Error);                      // no such step
    EXPECT_THROW((void)part.find({"a", Type::F32, {4, 6}, true}, 0), Error);   // another type
    EXPECT_THROW((void)part.find({"a", Type::F64, {6, 4}, true}, 0), Error);   // another shape
    EXPECT_THROW((void)part.find({"a", Type::F64, {4, 6}, false}, 0), Error);  // without time
    EXPECT_THROW((void)part.find(wanted("absent"), 0), Error);
    EXPECT_THROW(PartReader(directory / "absent.nc", 0, known), Error);
}

// Whichever byte differs: the values are those that a reader finds without what is known, or it is the same error.
TEST(KnownMetadata, each_byte_that_hdf5_has_read_is_compared) {
    const TemporaryDirectory directory;
    const std::string model = directory / "0.nc", changed = directory / "1.nc";
    write_part(model);
    const std::string bytes = bytes_of(model);
    const auto known = std::make_shared<KnownParts>();
    (void)PartReader(model, 0, known).find(wanted("a"), 0);
    const auto address_in = [&](auto&&... how) -> std::string {
        try {
            return text(PartReader(changed, how...).find(wanted("a"), 0).address);
        } catch (const Error& error) {
            return text("status ", static_cast<int>(error.status()));
        }
    };
    int differing = 0;
    for (size_t at = 0; at < bytes.size(); at += at < 96 ? 1 : 19) {
        std::string other = bytes;
        other[at] = static_cast<char>(other[at] ^ 0x41);
        set_bytes(changed, other);
        const auto again = std::make_shared<KnownParts>();
        again->set(0, known->of(0));
        const std::string expected = address_in();
        EXPECT_EQ(address_in(uint64_t{0}, again), expected) << "byte " << at;
        differing += expected.starts_with("status");
    }
    EXPECT_GT(differing, 10);
    set_bytes(changed, bytes.substr(0, bytes.size() - 1));
    EXPECT_EQ(address_in(uint64_t{0}, known), address_in());
    set_bytes(changed, bytes + "x");
    EXPECT_EQ(address_in(uint64_t{0}, known), address_in());
    write_part(changed, {"b", "a"});
    EXPECT_EQ(address_in(uint64_t{0}, known), address_in());
    EXPECT_NE(address_in(), text(PartReader(model).find(wanted("a"), 0).address));
}

}  // namespace
}  // namespace tailrace
