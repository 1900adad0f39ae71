// Writes the versions of a part that grows into its file.
#pragma once

#include <cstdint>

#include "part/growing_metadata.hpp"
#include "part/held_file.hpp"
#include "part/version_record.hpp"

namespace tailrace {

// What shows a version to readers, once write_version() has written it: its superblock, and its record.
struct ShownBy {
    uint64_t steps = 0;
    format::ByteVector superblock;
    RecordBytes record;
};
ShownBy shown_by(const PartVersion& version);

// Everything but what shows it. The file is then long enough for its superblock.
void write_version(HeldFile& file, const PartVersion& version);
// The same for the last version, after which the file is cut to its length. It may show as many steps as the one before, whose
// record stays.
void write_last_version(HeldFile& file, const PartVersion& version);
// Readers see the version from here on. `sync`: its superblock is on the device before its record in force is written. Needed where
// the record of the version before, which shows as many steps, was overwritten.
void put_in_force(HeldFile& file, const ShownBy& by, bool sync = false);

}  // namespace tailrace
