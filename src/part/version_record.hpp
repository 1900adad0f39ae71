// Records of the last versions of a part that grows, in the page of its superblock, where HDF5 stores nothing. A record is written
// before the ranks agree on a step. So a run that was killed after the journal had the step, and before its superblock was written,
// has left all that shows the step. And a part that another program has changed no longer matches its records.
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
// The same for a part's last version, at the address of the version that would follow: the record of the version before stays.
RecordBytes record_of_last(const PartVersion& version);
// The same, at the address for the version in force. It is written behind the superblock, and stays until the next one is in force.
RecordBytes record_in_force(RecordBytes record);

enum class PartState {
    current,         // readers see the steps, or more of them
    outdated,        // readers see fewer steps; bring_up() mends it
    changed,         // another program has written into the part
    without_record,  // it has no records: Tailrace before 0.2 has written it, or another program has written it anew
};
PartState state_of_part(const File& part, uint64_t steps);
// Shows the committed steps where the part is behind. True if it was.
bool bring_up(File& part, uint64_t steps);

}  // namespace tailrace
