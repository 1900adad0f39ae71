// Writes the versions of a part that grows into its file.
#pragma once

#include <cstdint>

#include "part/growing_metadata.hpp"
#include "part/held_file.hpp"
#include "part/version_record.hpp"

namespace tailrace {

// The bytes that show a version to readers, once write_version() has written the rest: its superblock, and its record.
struct ShownBy {
    uint64_t steps = 0;
    format::ByteVector superblock;
    RecordBytes record;
};
ShownBy shown_by(const PartVersion& version);

// Writes a version except for its superblock and the record of the version in force. The file is then long enough for the
// superblock.
void write_version(HeldFile& file, const PartVersion& version);
// write_version() for the last version, after which the file is cut to its length. It may show as many steps as the version before,
// whose record is kept.
void write_last_version(HeldFile& file, const PartVersion& version);
// Writes the superblock and the record in force: readers then see the version. `sync`: the superblock is on the device before the
// record is written. That is needed if the record of the version before, which shows as many steps, was overwritten.
void put_in_force(HeldFile& file, const ShownBy& by, bool sync = false);

}  // namespace tailrace
