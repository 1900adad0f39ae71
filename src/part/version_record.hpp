// Records of the last versions of a part that grows, in the page of its superblock, where HDF5 stores nothing. A record is written
// before the ranks agree on a step. If a run is killed after the journal line and before the superblock of a step was written, the
// record shows the step later. And a part that another program has changed no longer matches its records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/file.hpp"
#include "part/growing_metadata.hpp"

namespace tailrace {

// The bytes of a version's record, and their address in the part. The record of 31 versions before is overwritten.
struct RecordBytes {
    uint64_t address = 0;
    std::vector<std::byte> bytes;
};
RecordBytes record_of(const PartVersion& version);
// The record of a part's last version, at the address for the version that would follow: the record of the version before is kept.
RecordBytes record_of_last(const PartVersion& version);
// The same record at the address of the version in force. It is written after the superblock, and kept until the next version is in
// force.
RecordBytes record_in_force(RecordBytes record);

enum class PartState {
    current,         // readers see the steps, or more of them
    outdated,        // readers see fewer steps; bring_up() repairs that
    changed,         // another program has written into the part
    without_record,  // it has no records: Tailrace before 0.2 has written it, or another program has written it anew
};
PartState state_of_part(const File& part, uint64_t steps);
// Makes an outdated part show the committed steps. True if it was outdated.
bool bring_up(File& part, uint64_t steps);

}  // namespace tailrace
