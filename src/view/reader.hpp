// A stream as it is read back: any hyperslab, on any number of ranks, whatever layout it was written under.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gather/communicator.hpp"
#include "part/part_reader.hpp"
#include "record/definitions.hpp"
#include "record/history.hpp"

namespace tailrace {

class Reader {
public:
    // Collective. Selects the last committed step. Throws NOT_FOUND where there is none.
    Reader(MPI_Comm comm, const std::string& directory, const std::string& name);
    Reader(const Reader&) = delete;

    const Definitions& definitions() const { return definitions_; }
    // Of the committed steps, as they were when the stream was opened for reading.
    const std::vector<uint64_t>& steps() const { return steps_; }
    const std::vector<double>& times() const { return times_; }
    uint64_t selected() const { return selected_; }

    // Collective. The step that is read from now on; -1 is the last, -2 the one before.
    void select(int64_t step);
    // Local. The elements of `box`, to `data` with `stride` bytes between elements (empty: dense). Elements that no rank has
    // written are fill values; an error where the variable has none.
    void get(const std::string& variable, const Box& box, void* data, const std::vector<int64_t>& stride) const;
    // Collective. The whole variable, dense, on every rank; read from storage once a node.
    void get_shared(const std::string& variable, void* data) const;
    // Collective.
    void close();
    bool has_others() const { return ranks_ && ranks_->size() > 1; }  // that wait for this rank in collective calls

    std::string describe() const;  // JSON as documented at tailrace_inquire

private:
    // The parts that hold a step, and where in them the blocks are.
    struct Place {
        bool known = false;
        Layout layout;
        uint64_t start = 0, in_group = 0, parts = 1;
        std::vector<std::vector<PartBox>> boxes;  // [variable]; several parts
    };

    void learn_all();  // collective
    void tell_stream(std::vector<uint64_t>& told) const;
    void learn_stream(const std::vector<uint64_t>& told, size_t& at);
    void tell_places(size_t which, std::vector<uint64_t>& told) const;
    void tell_place(const GroupEntry* group, uint64_t in_group, std::vector<uint64_t>& told) const;
    void learn_places(size_t which, const std::vector<uint64_t>& told, size_t& at);
    Place learn_place(const std::vector<uint64_t>& told, size_t& at) const;
    void scan_parts(Place& place) const;
    PartReader& part(const Place& place, uint64_t number) const;
    uint64_t read_distributed(size_t variable, const Box& box, const BlockView& memory) const;
    uint64_t read_box(size_t variable, const Place& place, const PartBox& stored, const Box& box, const BlockView& memory) const;
    void read_replicated(size_t variable, const Box& box, const BlockView& memory) const;
    std::string path_of(const std::string& relative) const { return directory_ + "/" + relative; }

    std::string directory_, name_;
    std::shared_ptr<Communicator> ranks_;
    std::unique_ptr<History> history_;  // on rank 0
    Layout layout_;                     // of the last run
    Definitions definitions_;
    std::vector<uint64_t> steps_;
    std::vector<double> times_;
    std::vector<std::vector<uint64_t>> ragged_;               // of each step: the lengths of the ragged dimensions
    std::map<uint64_t, std::vector<std::byte>> coordinates_;  // whole; by variable
    uint64_t selected_ = 0;
    Place place_, static_place_;
    mutable OpenParts open_;
};

}  // namespace tailrace
