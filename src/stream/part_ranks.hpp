// The communicator of the ranks whose data is in the same part as this rank's. The next stream that has the same parts uses it
// again, since making it takes several collective calls (docs/decisions/0013).
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

    // The part's ranks if there are several parts; null if the part is the only file, or belongs to this rank alone.
    const Communicator* of_several_parts() const { return members_; }
    // The part's ranks; null if the part belongs to this rank alone.
    const Communicator* of_part() const { return one_part_ ? &ranks_ : members_; }
    // Whether the part's ranks have a communicator of their own, which has its own shared memory.
    bool is_own() const { return own_ != nullptr; }

private:
    // A number that is equal for two streams over the same ranks if they have the same parts.
    uint64_t parts_number() const { return map_.parts() * 4 + static_cast<uint64_t>(files_); }

    const Communicator& ranks_;
    const PartMap map_;
    const Files::Kind files_;
    const bool one_part_;
    std::unique_ptr<Communicator> own_;
    const Communicator* members_ = nullptr;
};

}  // namespace tailrace
