// Whole parts for tests: every value by a formula of (array's number, step, global index).
#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "part/image.hpp"
#include "part/part_file.hpp"
#include "part/seal.hpp"

namespace tailrace::test {

// Bytes that tell their place and whose they are.
inline std::vector<std::byte> pattern(size_t bytes, size_t seed) {
    std::vector<std::byte> data(bytes);
    for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>((i * 31 + seed * 97 + (i >> 8)) % 251);
    return data;
}

// Small enough for every type, different for each array and step.
inline int value_at(uint64_t number, uint64_t step, uint64_t index) {
    return static_cast<int>((number * 7 + step * 13 + index * 3) % 101);
}

template <class Element>
void append_values(std::vector<std::byte>& bytes, uint64_t number, uint64_t step, uint64_t first, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
        const auto value = static_cast<Element>(value_at(number, step, first + i));
        const auto* from = reinterpret_cast<const std::byte*>(&value);
        bytes.insert(bytes.end(), from, from + sizeof value);
    }
}

// `count` elements from global index `first` on.
inline std::vector<std::byte> values_of(Type type, uint64_t number, uint64_t step, uint64_t first, uint64_t count) {
    std::vector<std::byte> bytes;
    switch (type) {
#define TAILRACE_TYPE(name, n, size, c, numpy, fortran) \
    case Type::name: append_values<c>(bytes, number, step, first, count); break;
#include <tailrace/types.def>
#undef TAILRACE_TYPE
    }
    return bytes;
}

// What the readers' test checks against: the array's number, and where this file's piece begins in the global array.
inline void number_arrays(Description& description, uint64_t first_index = 0) {
    for (size_t i = 0; i < description.arrays.size(); ++i) {
        const int32_t numbers[2] = {static_cast<int32_t>(i), static_cast<int32_t>(first_index)};
        description.arrays[i].attributes.push_back(number_attribute("number_and_first", Type::I32, 2, numbers));
    }
}

// A description with dimensions lat and lon, without arrays.
inline Description grid(uint64_t lat, uint64_t lon, bool unlimited) {
    Description description{};
    description.dimensions = {{"lat", lat}, {"lon", lon}};
    description.time_name = "time";
    description.time_unlimited = unlimited;
    description.arrays.push_back(
        {"time", Type::F64, {}, true, {text_attribute("units", "hours since 2000-01-01 00:00:00")}, {}, {}});
    return description;
}

// Writes a part of several blocks of steps the way it grows: data, then metadata, then the superblock, block by block.
struct PartFile {
    Description description{};
    Storage storage{};
    uint64_t first_step = 0;   // of the stream, for the values
    uint64_t first_index = 0;  // of the array piece in this file
    bool checksum = true;
    Placement placement{};
    std::vector<StepBlock> blocks{};
    Image image{};

    static constexpr uint64_t kSlotBytes = 48 + 24 * 64;
    uint64_t steps() const { return blocks.empty() ? 0 : blocks.back().first_step + blocks.back().steps; }

    std::vector<std::byte> values(size_t array, uint64_t step) const {
        const Array& of = description.arrays[array];
        const uint64_t elements = bytes_of(description, of) / type_bytes(of.type);
        return values_of(of.type, array, of.varies ? first_step + step : 0, elements > 1 ? first_index : 0, elements);
    }

    void write_arrays(PartWriter& writer, bool varying, uint64_t step, uint64_t address) const {
        size_t place = 0;
        std::vector<std::vector<std::byte>> kept;
        for (size_t i = 0; i < description.arrays.size(); ++i) {
            const Array& array = description.arrays[i];
            if (array.is_virtual() || array.varies != varying) continue;
            kept.push_back(values(i, step));
            const uint64_t at = varying ? address + placement.step_offsets()[place] : placement.static_addresses()[place];
            writer.add(at, kept.back().data(), kept.back().size());
            ++place;
        }
        writer.flush();
    }

    void write(const std::string& path, const std::vector<uint64_t>& steps_of_blocks) {
        placement = Placement(part_bytes(description, checksum ? kSlotBytes : 0), storage);
        HeldFile file(File::create(path), false);
        if (!placement.bytes().static_bytes.empty()) {
            PartWriter writer(file, checksum, PartWriter::Gaps::mine);
            write_arrays(writer, false, 0, 0);
            write_seal(file, kSealOfStatic, placement.static_seal(), writer);
        }
        uint64_t end = placement.static_end();
        for (const uint64_t count : steps_of_blocks) end = add_block(file, end, count);
        if (steps_of_blocks.empty()) finish(file, end);
        file.close();
    }

    uint64_t add_block(HeldFile& file, uint64_t end, uint64_t count) {
        const StepBlock block{steps(), count, placement.align(end, placement.step_pitch())};
        blocks.push_back(block);
        for (uint64_t s = 0; s < count; ++s) {
            PartWriter writer(file, checksum, PartWriter::Gaps::mine);
            const uint64_t address = block.address + s * placement.step_pitch();
            write_arrays(writer, true, block.first_step + s, address);
            write_seal(file, block.first_step + s, address + placement.step_seal(), writer);
        }
        return finish(file, block_end(placement, block));
    }

    void write_seal(HeldFile& file, uint64_t step, uint64_t address, const PartWriter& writer) const {
        if (!checksum) return;
        const auto seal = make_seal(step, 0, writer.records());
        file.write_at(address, seal.data(), seal.size());
    }

    uint64_t finish(HeldFile& file, uint64_t end) {
        Description shown = description;
        if (checksum) shown.attributes.push_back(seal_attribute(seal_map(placement, blocks, 1, kSlotBytes)));
        image = make_image(shown, placement, blocks, steps(), (end + 7) / 8 * 8);
        file.set_size(image.file_bytes);
        file.write_at(image.metadata_address, image.metadata.data(), image.metadata.size());
        file.write_at(0, image.superblock.data(), image.superblock.size());
        return image.file_bytes;
    }
};

}  // namespace tailrace::test
