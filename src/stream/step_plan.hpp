// How the blocks of a step reach the writers: made once for each decomposition, used until a rank's blocks change.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "gather/agree.hpp"
#include "gather/communicator.hpp"
#include "gather/exchange.hpp"
#include "layout/chunks.hpp"
#include "layout/keys.hpp"
#include "layout/parts.hpp"
#include "layout/slabs.hpp"
#include "record/definitions.hpp"
#include "record/part_box.hpp"
#include "stream/step_data.hpp"

namespace tailrace {

// Of one variable: this rank's blocks, as planned.
struct VariablePlan {
    bool planned = false;
    std::vector<Box> boxes;
    bool has_gaps = false;  // some elements belong to no rank
};

// A box of a variable that is one array in this rank's part: the whole variable where there is one part; the boxes that the blocks
// of the part's ranks are joined to.
struct Slab {
    size_t variable = 0;
    uint64_t number = 0;                           // among the slabs of the variable in the part
    Box box;                                       // in the variable
    std::vector<size_t> mine;                      // this rank's blocks that lie in it
    bool written = true;                           // false: a static variable that is stored already
    bool exchanged = false;                        // goes through the exchange; otherwise its owners write it where it lies
    bool has_gaps = false;                         // of one part: the writer fills them
    std::optional<ChunkGrid> grid = std::nullopt;  // it is compressed, in these chunks
};

class StepPlan {
public:
    // Collective. `seal_records`: for which a part that goes on has room; 0: no part does.
    StepPlan(const Communicator& ranks, const StreamConfig& config, uint64_t seal_records);

    ~StepPlan();

    // What of this rank's blocks is not as planned. `with_static`: static distributed variables are written too.
    enum class Change : uint64_t { none, statics_are_stored, blocks };
    Change change(const Definitions& definitions, const StepData& data, bool with_static) const;
    // Collective. The same, of all ranks.
    Change agreed_change(const Definitions& definitions, const StepData& data, bool with_static) const {
        return static_cast<Change>(largest(ranks_, static_cast<uint64_t>(change(definitions, data, with_static))));
    }
    // Collective. Checks that the blocks of all ranks make up every variable, and plans; then rank 0 does `first_does`, if there is
    // something. Throws the same on all ranks. `ready` and `error`: what they have to agree on before.
    void make(const Definitions& definitions, const StepData& data, bool with_static, const Ballot& ready,
              const std::optional<Error>& error, const FirstDoes& first_does);

    // The slabs of this rank's part, by variable and number.
    const std::vector<Slab>& slabs() const { return slabs_; }
    // Which of them are exchanged, in order; and the exchange (none when nothing is exchanged).
    const std::vector<size_t>& exchanged() const { return exchanged_; }
    Exchange* exchange() const { return exchange_.get(); }
    // Which of them are compressed, in order; and how their chunks come to the ranks of the part (none where it has only this one).
    const std::vector<size_t>& packed() const { return packed_; }
    Exchange* packed_exchange() const { return packed_exchange_.get(); }
    // The writers of this rank's part.
    PartWriters writers() const { return {map_, part_, has_one_part(config_.layout) ? 0 : map_.first_rank(part_)}; }
    // Whether this rank has at most one block in each slab, so that what it writes by itself ascends in the part.
    bool single_blocks() const {
        return std::all_of(slabs_.begin(), slabs_.end(), [](const Slab& slab) { return slab.mine.size() <= 1; });
    }
    // The ranks of this rank's part; null where it has only this one.
    const Communicator* part_ranks() const { return has_one_part(config_.layout) ? &ranks_ : members_; }
    // An upper bound of the checksum records of any writer of this rank's part in a step.
    uint64_t seal_records() const { return seal_records_; }
    uint64_t version() const { return version_; }                                        // counts the times that it was made
    const std::vector<std::vector<PartBox>>& part_boxes() const { return part_boxes_; }  // [variable], on rank 0

private:
    std::vector<size_t> written_now(const Definitions& definitions, bool with_static) const;
    void lay_slabs(const Definitions& definitions, const std::vector<size_t>& now);
    void lay_slabs_of_members();
    void choose_ways(const Definitions& definitions);
    void sort_slabs();
    uint64_t prepare_exchange(const Definitions& definitions, std::optional<Error> error, uint64_t words,
                              const FirstDoes& first_does);
    std::vector<SlabRuns> runs_in_slabs(const Definitions& definitions) const;
    void make_exchanges(const Definitions& definitions);
    std::unique_ptr<Exchange> make_exchange(const Definitions& definitions, const std::vector<size_t>& slabs,
                                            const PartWriters& writers) const;
    bool tells_part_boxes() const { return !has_one_part(config_.layout) && map_.parts() <= kMaxIndexParts; }
    std::vector<uint64_t> part_box_words() const;
    void collect_part_boxes(const std::vector<uint64_t>& mine, uint64_t most);
    // Streams over the same ranks have the same parts when this is the same.
    uint64_t parts_number() const { return map_.parts() * 4 + static_cast<uint64_t>(config_.layout.files.kind); }

    const Communicator& ranks_;
    const StreamConfig& config_;
    const PartMap map_;
    const uint64_t part_;
    std::unique_ptr<Communicator> own_members_;  // where there are several parts: kept for the next stream over these ranks
    const Communicator* members_ = nullptr;      // the ranks of this part, where a part is neither the only file nor one rank's
    std::vector<VariablePlan> variables_;
    std::vector<Slab> slabs_;
    std::vector<size_t> exchanged_, packed_;
    std::unique_ptr<Exchange> exchange_, packed_exchange_;
    std::vector<std::vector<PartBox>> part_boxes_;
    uint64_t seal_records_, version_ = 0;
    bool made_ = false;  // not where making it failed half-way
};

}  // namespace tailrace
