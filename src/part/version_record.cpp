#include "part/version_record.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/checksum.hpp"
#include "layout/placement.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kMark = 0x31535245564c4954;        // "TILVERS1"
constexpr uint64_t kRecordsAt = 1024, kRecords = 31;  // address and number; one more record is for the version in force
constexpr size_t kSuperblock = 48;

struct Record {
    uint64_t mark = kMark, steps = 0;
    std::array<std::byte, kSuperblock> superblock{};
    uint64_t head_address = 0, head_bytes = 0, head_sum = 0;
    uint64_t sum = 0;  // checksum of the fields before it
};
static_assert(sizeof(Record) == 96 && kRecordsAt + (kRecords + 1) * sizeof(Record) <= kSuperblockBytes);

uint64_t sum_of(const Record& record) { return Checksum::of(&record, offsetof(Record, sum)); }

using Page = std::array<std::byte, kSuperblockBytes>;

std::optional<Page> page_of(const File& part) {
    Page page;
    if (part.size_bytes() < page.size()) return std::nullopt;
    part.read_at(0, page.data(), page.size());
    return page;
}

std::vector<Record> records_in(const Page& page) {
    std::vector<Record> records;
    for (uint64_t k = 0; k <= kRecords; ++k) {
        Record record;
        std::memcpy(&record, page.data() + kRecordsAt + k * sizeof record, sizeof record);
        const bool is_in_place = k == kRecords || record.steps % kRecords == k || (record.steps + 1) % kRecords == k;
        if (record.mark == kMark && record.sum == sum_of(record) && is_in_place) records.push_back(record);
    }
    return records;
}

bool is_in_force(const Record& record, const Page& page) {
    return std::ranges::equal(record.superblock, std::span(page).first(kSuperblock));
}

bool has_its_head(const Record& record, const File& part) {
    const uint64_t size = part.size_bytes();
    if (record.head_bytes > size || record.head_address > size - record.head_bytes) return false;
    std::vector<std::byte> head(record.head_bytes);
    part.read_at(record.head_address, head.data(), head.size());
    return Checksum::of(head.data(), head.size()) == record.head_sum;
}

// A record of a version that shows `steps` steps and whose head is whole. After a power loss, the head of the last version may be
// missing.
const Record* record_for(const std::vector<Record>& records, uint64_t steps, const File& part) {
    const auto is_whole = [&](const Record& record) { return record.steps == steps && has_its_head(record, part); };
    const auto found = std::ranges::find_if(records, is_whole);
    return found == records.end() ? nullptr : &*found;
}

PartState state_of(const File& part, const Page& page, const std::vector<Record>& records, uint64_t steps) {
    if (records.empty()) return PartState::without_record;
    const auto shown = std::ranges::find_if(records, [&](const Record& record) { return is_in_force(record, page); });
    if (shown == records.end() || !has_its_head(*shown, part)) return PartState::changed;
    if (shown->steps >= steps) return PartState::current;
    return record_for(records, steps, part) != nullptr ? PartState::outdated : PartState::changed;
}

RecordBytes record_at(const PartVersion& version, uint64_t place) {
    Record record;
    record.steps = version.steps;
    std::ranges::copy(std::span(version.superblock).first(kSuperblock), record.superblock.begin());
    const PartVersion::Write& head = version.writes.back();
    record.head_address = head.address;
    record.head_bytes = head.bytes.size();
    record.head_sum = Checksum::of(head.bytes.data(), head.bytes.size());
    record.sum = sum_of(record);
    const auto* bytes = reinterpret_cast<const std::byte*>(&record);
    return {kRecordsAt + place % kRecords * sizeof record, {bytes, bytes + sizeof record}};
}

}  // namespace

RecordBytes record_of(const PartVersion& version) { return record_at(version, version.steps); }

RecordBytes record_of_last(const PartVersion& version) { return record_at(version, version.steps + 1); }

RecordBytes record_in_force(RecordBytes record) {
    record.address = kRecordsAt + kRecords * sizeof(Record);
    return record;
}

PartState state_of_part(const File& part, uint64_t steps) {
    const auto page = page_of(part);
    return page ? state_of(part, *page, records_in(*page), steps) : PartState::without_record;
}

bool bring_up(File& part, uint64_t steps) {
    const auto page = page_of(part);
    if (!page) return false;
    const std::vector<Record> records = records_in(*page);
    if (state_of(part, *page, records, steps) != PartState::outdated) return false;
    part.write_at(0, record_for(records, steps, part)->superblock.data(), kSuperblock);
    return true;
}

}  // namespace tailrace
