#include "part/version_file.hpp"

#include <vector>

namespace tailrace {
namespace {

void write_record(HeldFile& file, const RecordBytes& record) {
    file.write_at(record.address, record.bytes.data(), record.bytes.size());
}

void write_all(HeldFile& file, const std::vector<PartVersion::Write>& writes) {
    for (const PartVersion::Write& write : writes) file.write_at(write.address, write.bytes.data(), write.bytes.size());
}

}  // namespace

ShownBy shown_by(const PartVersion& version) { return {version.steps, version.superblock, record_of(version)}; }

void write_version(HeldFile& file, const PartVersion& version) {
    write_all(file, version.writes);
    if (file.size_bytes() < version.sized_ahead) file.extend_to(version.sized_ahead);
    write_record(file, record_of(version));
}

void write_last_version(HeldFile& file, const PartVersion& version) {
    write_all(file, version.writes);
    if (!version.writes.empty()) write_record(file, record_of_last(version));
}

void put_in_force(HeldFile& file, const ShownBy& by, bool sync) {
    file.write_at(0, by.superblock.data(), by.superblock.size());
    if (sync) file.sync();
    write_record(file, record_in_force(by.record));
}

}  // namespace tailrace
