#include "part/version_file.hpp"

#include <algorithm>
#include <vector>

namespace tailrace {
namespace {

// A reader takes the file's size before it reads the superblock. So the file is longer than any superblock says, by as much as it
// has, up to this: then the size was set long before.
constexpr uint64_t kMostLeadBytes = 16u << 20;

void write_record(HeldFile& file, const PartVersion& version) {
    const RecordBytes record = record_of(version);
    file.write_at(record.address, record.bytes.data(), record.bytes.size());
}

void write_all(HeldFile& file, const std::vector<PartVersion::Write>& writes) {
    for (const PartVersion::Write& write : writes) file.write_at(write.address, write.bytes.data(), write.bytes.size());
}

}  // namespace

ShownBy shown_by(const PartVersion& version) { return {version.steps, version.superblock, record_of(version)}; }

void write_version(HeldFile& file, const PartVersion& version) {
    write_all(file, version.writes);
    if (file.size_bytes() < version.file_bytes) file.extend_to(version.file_bytes + std::min(version.file_bytes, kMostLeadBytes));
    write_record(file, version);
}

void write_last_version(HeldFile& file, const PartVersion& version) {
    write_all(file, version.writes);
    if (!version.writes.empty()) write_record(file, version);
}

void put_in_force(HeldFile& file, const ShownBy& by) {
    file.write_at(0, by.superblock.data(), by.superblock.size());
    const RecordBytes record = record_in_force(by.record);
    file.write_at(record.address, record.bytes.data(), record.bytes.size());
}

}  // namespace tailrace
