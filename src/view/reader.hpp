// A stream as it is read back: any hyperslab, on any number of ranks, whatever layout it was written under.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gather/communicator.hpp"
#include "part/part_reader.hpp"
#include "record/definitions.hpp"
#include "view/read_check.hpp"
#include "view/step_location.hpp"

namespace tailrace {

class Reader {
public:
    // Collective. Selects the last committed step. Throws NOT_FOUND where there is none.
    Reader(MPI_Comm comm, const std::string& directory, const std::string& name);
    Reader(const Reader&) = delete;

    const Communicator& ranks() const { return *ranks_; }
    const Definitions& definitions() const { return stream_.definitions; }
    // The numbers of the steps that were committed when the stream was opened for reading; below, their times.
    const std::vector<uint64_t>& steps() const { return stream_.steps; }
    const std::vector<double>& times() const { return stream_.times; }
    uint64_t selected() const { return selected_; }

    // Collective. Selects the step that is read from now on, by its number; -1 is the last step, -2 the one before.
    void select(int64_t step);
    // Local. Reads the elements of `box` into `data`; `stride`: bytes from one element to the next along each dimension (empty:
    // dense). Elements that no rank has written get the fill value; throws CORRUPT if the variable has none.
    void get(const std::string& variable, const Box& box, void* data, const std::vector<int64_t>& stride) const;
    // Local. From now on get() compares what it reads with the checksums of the parts; CORRUPT, or UNSUPPORTED where there are
    // none.
    void verify_reads(bool on) { verifies_ = on; }
    // Collective. Gives every rank the whole variable, dense; one rank of each node reads it from storage.
    void get_shared(const std::string& variable, void* data) const;
    // Collective.
    void close();
    bool has_others() const { return ranks_ && ranks_->size() > 1; }  // ranks that wait for this one in collective calls

    std::string describe() const;  // JSON as documented at tailrace_inquire

private:
    void open();  // collective
    size_t index_of_step(int64_t step) const;
    void put_locations(size_t index, std::vector<uint64_t>& words) const;
    void take_locations(size_t index, const std::vector<uint64_t>& words, size_t& at);
    std::optional<StepLocation> take_location(const std::vector<uint64_t>& words, size_t& at) const;
    void scan_parts(StepLocation& location) const;
    PartReader& open_part(const StepLocation& location, uint64_t part) const;
    void check_box(size_t variable, const Box& box) const;
    uint64_t read_distributed(size_t variable, const Box& box, const BlockView& memory) const;
    uint64_t read_common(size_t variable, const StepLocation& location, const PartBox& stored, const Box& box,
                         const BlockView& memory) const;
    void read_stored(size_t variable, const StepLocation& location, const PartBox& stored, const Box& common,
                     const BlockView& memory) const;
    static bool shows_too_few(const std::string& path, const StepLocation& location);
    void read_replicated(size_t variable, const Box& box, const BlockView& memory) const;
    std::string path_of(const std::string& relative) const { return directory_ + "/" + relative; }
    std::string part_path_of(const StepLocation& location, uint64_t part) const;

    std::string directory_, name_;
    std::shared_ptr<Communicator> ranks_;
    std::unique_ptr<History> history_;  // on rank 0
    StreamSummary stream_;
    uint64_t selected_ = 0;
    std::optional<StepLocation> location_, static_location_;  // of the selected step
    mutable OpenParts open_;
    bool verifies_ = false;
    mutable ReadCheck check_;
};

}  // namespace tailrace
