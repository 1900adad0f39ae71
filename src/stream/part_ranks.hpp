// The communicator of the ranks whose data is in the same part as this rank's. It serves the next stream that has the same parts,
// since making it takes several collective calls (docs/decisions/0013).
#pragma once

#include <cstdint>
#include <memory>

#include "gather/communicator.hpp"
#include "layout/keys.hpp"
#include "layout/parts.hpp"

namespace tailrace {

class PartRanks {
public:
    // Collective.
    PartRanks(const Communicator& ranks, const StreamConfig& config, const PartMap& map);
    ~PartRanks();
    PartRanks(const PartRanks&) = delete;
    PartRanks& operator=(const PartRanks&) = delete;

    // Null where the part is the only file, or one rank's.
    const Communicator* of_several_parts() const { return members_; }
    // Null where the part is one rank's.
    const Communicator* of_part() const { return one_part_ ? &ranks_ : members_; }
    // Whether it is a communicator of its own, which has its own shared memory.
    bool is_own() const { return own_ != nullptr; }

private:
    // Streams over the same ranks have the same parts if this is the same.
    uint64_t parts_number() const { return map_.parts() * 4 + static_cast<uint64_t>(files_); }

    const Communicator& ranks_;
    const PartMap map_;
    const Files::Kind files_;
    const bool one_part_;
    std::unique_ptr<Communicator> own_;
    const Communicator* members_ = nullptr;
};

}  // namespace tailrace
