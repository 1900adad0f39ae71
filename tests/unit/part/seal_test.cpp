// The seal (checksum records of a step): every damage is detected, and no contents make the reader access memory out of bounds.
#include "part/seal.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "../error_of.hpp"

namespace tailrace {
namespace {

const std::vector<SealRecord> kRecords = {{4096, 100, 7}, {5000, 8, 8}, {5008, 0, 9}};

TEST(Seal, comes_back_as_it_was) {
    const auto bytes = make_seal(3, 2, kRecords);
    EXPECT_EQ(bytes.size(), seal_slot_bytes(3));
    const Seal expected{3, 2, 108, kRecords};
    EXPECT_EQ(parse_seal(bytes, "part"), expected);
    auto in_slot = bytes;
    in_slot.resize(1000);
    EXPECT_EQ(parse_seal(in_slot, "part"), expected);
    EXPECT_TRUE(parse_seal(make_seal(kSealOfStatic, 0, {}), "part").records.empty());
}

TEST(Seal, every_changed_bit_and_every_cut_is_noticed) {
    const auto bytes = make_seal(3, 2, kRecords);
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        auto damaged = bytes;
        damaged[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        EXPECT_EQ(error_of([&] { parse_seal(damaged, "part"); }).status(), Status::CORRUPT) << bit;
    }
    for (size_t size = 0; size < bytes.size(); ++size)
        EXPECT_EQ(error_of([&] { parse_seal(std::span(bytes).first(size), "part"); }).status(), Status::CORRUPT) << size;
}

TEST(Seal, overlapping_records_are_refused_even_with_a_right_checksum) {
    for (const std::vector<SealRecord>& records :
         {std::vector<SealRecord>{{4096, 100, 7}, {4100, 8, 8}}, std::vector<SealRecord>{{UINT64_MAX - 4, 100, 7}}}) {
        const Error error = error_of([&] { parse_seal(make_seal(0, 0, records), "some/part.nc"); });
        EXPECT_EQ(error.status(), Status::CORRUPT);
        EXPECT_NE(std::string(error.what()).find("some/part.nc"), std::string::npos);
    }
}

TEST(Seal, names_the_first_record_that_does_not_match) {
    File file = File::create("sealed");
    const std::string content(3'000'000, 'x');
    file.write_at(0, content.data(), content.size());
    const std::vector<SealRecord> records = {{0, 2'000'000, Checksum::of(content.data(), 2'000'000)},
                                             {2'500'000, 500'000, Checksum::of(content.data(), 500'000)}};
    EXPECT_EQ(verify_records(file, records), std::nullopt);
    file.write_at(2'999'999, "y", 1);
    EXPECT_EQ(verify_records(file, records), records[1]);
    file.set_size(2'600'000);
    EXPECT_EQ(verify_records(file, records), records[1]) << "cut short";
    EXPECT_EQ(verify_records(file, {{UINT64_MAX, 2, 0}}).value().bytes, 2u);
    EXPECT_EQ(error_of([&] { read_seal(file, 2'599'990, 48); }).status(), Status::CORRUPT);
    EXPECT_EQ(error_of([&] { read_seal(file, UINT64_MAX - 10, 48); }).status(), Status::CORRUPT);
    EXPECT_EQ(error_of([&] { read_seal(file, 0, 10); }).status(), Status::CORRUPT);
    EXPECT_EQ(error_of([&] { read_seal(file, 0, 1000); }).status(), Status::CORRUPT);
}

TEST(SealMap, comes_back_from_its_attribute) {
    const SealMap map{4, 100, 5000, 2000, 2400, {{0, 3, 8192}, {3, 2, 20000}}};
    const Attribute attribute = seal_attribute(map);
    std::vector<uint64_t> values(attribute.count);
    std::memcpy(values.data(), attribute.values.data(), attribute.values.size());
    const SealMap read = parse_seal_map(values, 30000, "part");
    EXPECT_EQ(read.steps(), 5u);
    EXPECT_EQ(read.address(4, 3), 20000 + 2400 + 2000 + 300);
    EXPECT_EQ(read.static_address(1), 5100u);
    EXPECT_EQ(error_of([&] { read.address(5, 0); }).status(), Status::BAD_ARGUMENT);
    EXPECT_EQ(error_of([&] { read.address(0, 4); }).status(), Status::BAD_ARGUMENT);

    // Any number replaced by a huge one, and any cut.
    for (size_t i = 0; i < values.size(); ++i)
        for (const uint64_t huge : {UINT64_MAX, UINT64_MAX / 2, uint64_t{1} << 40}) {
            auto damaged = values;
            damaged[i] = huge;
            const Status status = error_of([&] { parse_seal_map(damaged, 30000, "part"); }).status();
            EXPECT_EQ(status, i == 0 ? Status::UNSUPPORTED : Status::CORRUPT) << i;
        }
    for (size_t n = 0; n < values.size(); ++n) {
        if (n == 6 || n == 9) continue;  // fewer blocks are a map too
        EXPECT_EQ(error_of([&] { parse_seal_map(std::span(values).first(n), 30000, "part"); }).status(), Status::CORRUPT) << n;
    }
    EXPECT_EQ(error_of([&] { parse_seal_map(values, 20000, "part"); }).status(), Status::CORRUPT) << "the file is shorter";
}

TEST(SealMap, a_file_that_is_no_part_is_refused) {
    File file = File::create("no_part.nc");
    const std::string content(5000, 'x');
    file.write_at(0, content.data(), content.size());
    EXPECT_EQ(error_of([] { read_seal_map("no_part.nc"); }).status(), Status::CORRUPT);
    EXPECT_EQ(error_of([] { read_seal_map("absent.nc"); }).status(), Status::NOT_FOUND);
}

}  // namespace
}  // namespace tailrace
