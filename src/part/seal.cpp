#include "part/seal.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/checksum.hpp"
#include "base/error.hpp"
#include "part/hdf5.hpp"

namespace tailrace {
namespace {

static_assert(std::endian::native == std::endian::little, "seals are stored as they are in memory: little endian");

constexpr char kMagic[8] = {'T', 'R', 'S', 'E', 'A', 'L', '0', '1'};
constexpr uint64_t kMapVersion = 1;
constexpr size_t kMapHead = 6, kMapBlock = 3;  // how many numbers the head and each block of the attribute have
constexpr uint64_t kReadBytes = 1u << 20;

struct Header {
    char magic[8];
    uint64_t step, writer, count, part_bytes;
    uint64_t sum;  // checksum of the fields before it and of the records
};
static_assert(sizeof(Header) == kSealHeadBytes && sizeof(SealRecord) == kSealRecordBytes);

uint64_t sum_of(const Header& header, std::span<const std::byte> records) {
    Checksum sum;
    sum.add(&header, offsetof(Header, sum));
    sum.add(records.data(), records.size());
    return sum.value();
}

bool fits(uint64_t address, uint64_t bytes, uint64_t end) { return address <= end && bytes <= end - address; }

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    fail(Status::CORRUPT, "the seal of ", path, " is damaged: ", why, "; the part was changed or cut short after it was written");
}

// a * b; on overflow the largest number, which is more bytes than any file has.
uint64_t times(uint64_t a, uint64_t b) {
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

}  // namespace

std::vector<std::byte> make_seal(uint64_t step, uint64_t writer, const std::vector<SealRecord>& records) {
    Header header{{}, step, writer, records.size(), 0, 0};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    for (const SealRecord& record : records) header.part_bytes += record.bytes;
    header.sum = sum_of(header, std::as_bytes(std::span(records)));
    std::vector<std::byte> bytes(seal_slot_bytes(records.size()));
    std::memcpy(bytes.data(), &header, sizeof header);
    if (!records.empty()) std::memcpy(bytes.data() + sizeof header, records.data(), records.size() * sizeof(SealRecord));
    return bytes;
}

Seal parse_seal(std::span<const std::byte> bytes, const std::string& path) {
    Header header;
    if (bytes.size() < sizeof header) refuse(path, text("it has ", bytes.size(), " bytes"));
    std::memcpy(&header, bytes.data(), sizeof header);
    if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) refuse(path, "its first bytes are not those of a seal");
    bytes = bytes.subspan(sizeof header);
    if (header.count > bytes.size() / sizeof(SealRecord)) refuse(path, text("it claims ", header.count, " records"));
    bytes = bytes.first(header.count * sizeof(SealRecord));
    if (header.sum != sum_of(header, bytes)) refuse(path, "its checksum does not match");

    Seal seal{header.step, header.writer, header.part_bytes, std::vector<SealRecord>(header.count)};
    if (header.count > 0) std::memcpy(seal.records.data(), bytes.data(), bytes.size());
    uint64_t end = 0, total = 0;
    for (const SealRecord& record : seal.records) {
        if (record.address < end || record.bytes > UINT64_MAX - record.address) refuse(path, "its records overlap");
        end = record.address + record.bytes;
        total += record.bytes;
    }
    if (total != header.part_bytes) refuse(path, text("its records have ", total, " bytes, not ", header.part_bytes));
    return seal;
}

std::optional<SealRecord> verify_records(const File& file, const std::vector<SealRecord>& records) {
    const uint64_t file_bytes = file.size_bytes();
    std::vector<std::byte> buffer(kReadBytes);
    Checksum sum;
    for (const SealRecord& record : records) {
        if (!fits(record.address, record.bytes, file_bytes)) return record;
        sum.reset();
        for (uint64_t done = 0; done < record.bytes;) {
            const uint64_t now = std::min(kReadBytes, record.bytes - done);
            file.read_at(record.address + done, buffer.data(), now);
            sum.add(buffer.data(), now);
            done += now;
        }
        if (sum.value() != record.sum) return record;
    }
    return std::nullopt;
}

uint64_t SealMap::steps() const { return blocks.empty() ? 0 : blocks.back().first_step + blocks.back().steps; }

uint64_t SealMap::address(uint64_t step, uint64_t writer) const {
    if (writer < writers)
        for (const StepBlock& block : blocks)
            if (step >= block.first_step && step - block.first_step < block.steps)
                return block.address + (step - block.first_step) * step_pitch + step_seal + writer * slot_bytes;
    fail(Status::BAD_ARGUMENT, "the part has no seal of step ", step, " by writer ", writer, ": it has ", steps(), " steps and ",
         writers, " writers");
}

SealMap seal_map(const Placement& placement, const std::vector<StepBlock>& blocks, uint64_t writers, uint64_t slot_bytes) {
    if (writers * slot_bytes > placement.bytes().seal_bytes)
        fail(Status::INTERNAL, "the checksum records of ", writers, " writers, ", slot_bytes, " bytes each, do not fit in the ",
             placement.bytes().seal_bytes, " bytes laid out for them");
    const uint64_t static_seal = placement.bytes().static_bytes.empty() ? 0 : placement.static_seal();
    return {writers, slot_bytes, static_seal, placement.step_seal(), placement.step_pitch(), blocks};
}

Attribute seal_attribute(const SealMap& map) {
    std::vector<uint64_t> values = {kMapVersion, map.writers, map.slot_bytes, map.static_seal, map.step_seal, map.step_pitch};
    for (const StepBlock& block : map.blocks) values.insert(values.end(), {block.first_step, block.steps, block.address});
    return number_attribute(kSealsAttribute, Type::U64, values.size(), values.data());
}

SealMap parse_seal_map(std::span<const uint64_t> values, uint64_t file_bytes, const std::string& path) {
    const auto damaged = [&](const std::string& why) {
        fail(Status::CORRUPT, "attribute ", kSealsAttribute, " of ", path, " is damaged: ", why,
             "; the part was changed after it was written");
    };
    if (values.size() < kMapHead || (values.size() - kMapHead) % kMapBlock != 0)
        damaged(text("it has ", values.size(), " numbers"));
    if (values[0] != kMapVersion)
        fail(Status::UNSUPPORTED, path, " has seals of version ", values[0], ", not ", kMapVersion, "; use a newer Tailrace");
    SealMap map{values[1], values[2], values[3], values[4], values[5], {}};
    const uint64_t seals_bytes = times(map.writers, map.slot_bytes);
    if (map.writers == 0 || map.slot_bytes < sizeof(Header) || seals_bytes > file_bytes)
        damaged(text(map.writers, " writers with seals of ", map.slot_bytes, " bytes"));
    if (map.static_seal != 0 && !fits(map.static_seal, seals_bytes, file_bytes)) damaged("the static seal is outside of the file");
    if (!fits(map.step_seal, seals_bytes, map.step_pitch)) damaged("a step's seal is outside of the step");
    for (size_t i = kMapHead; i < values.size(); i += kMapBlock) {
        const StepBlock block{values[i], values[i + 1], values[i + 2]};
        if (block.first_step != map.steps() || block.steps == 0) damaged("its blocks of steps do not follow each other");
        if (!fits(block.address, times(block.steps, map.step_pitch), file_bytes))
            damaged("a block of steps is outside of the file");
        map.blocks.push_back(block);
    }
    return map;
}

std::optional<SealMap> read_seal_map(const std::string& path) {
    const uint64_t file_bytes = File::open_read(path).size_bytes();
    const hdf5::Quiet quiet;
    const hdf5::FileId file = hdf5::open_file(path);
    if (!hdf5::has_attribute(file, kSealsAttribute)) return std::nullopt;
    const hdf5::AttributeId attribute = hdf5::open_attribute(file, kSealsAttribute);
    const uint64_t count = hdf5::attribute_elements(attribute, kSealsAttribute);
    if (!hdf5::attribute_holds_integers(attribute, kSealsAttribute) || count > file_bytes / sizeof(uint64_t))
        fail(Status::CORRUPT, "attribute ", kSealsAttribute, " of ", path, " is not a list of numbers; the part was changed");
    std::vector<uint64_t> values(count);
    if (count > 0) hdf5::read_attribute(attribute, H5T_NATIVE_UINT64, values.data(), kSealsAttribute);
    return parse_seal_map(values, file_bytes, path);
}

Seal read_seal(const File& file, uint64_t address, uint64_t slot_bytes) {
    const uint64_t file_bytes = file.size_bytes();
    if (slot_bytes < sizeof(Header) || !fits(address, slot_bytes, file_bytes))
        refuse(file.path(), "its place is outside of the file");
    Header header;
    file.read_at(address, &header, sizeof header);
    if (header.count > (slot_bytes - sizeof header) / sizeof(SealRecord))
        refuse(file.path(), text("it claims ", header.count, " records"));
    std::vector<std::byte> bytes(seal_slot_bytes(header.count));
    file.read_at(address, bytes.data(), bytes.size());
    return parse_seal(bytes, file.path());
}

}  // namespace tailrace
