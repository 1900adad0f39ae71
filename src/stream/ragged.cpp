#include "stream/ragged.hpp"

#include <tailrace/tailrace.h>

#include <algorithm>
#include <optional>

#include "gather/agree.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kMaxElements = uint64_t{1} << 62;

// How many elements this rank has put along one dimension.
struct Put {
    uint64_t counted = 0;  // elements of a variable in blocks without an offset
    uint64_t end = 0;      // the largest offset + count of blocks with an offset
};

Put put_of(const Variable& variable, const std::vector<Box>& boxes) {
    Put put;
    for (const Box& box : boxes) {
        const bool counted = box.offset[0] == TAILRACE_RAGGED;
        if (box.count[0] > kMaxElements || (!counted && box.offset[0] > kMaxElements))
            fail(Status::BAD_SHAPE, "variable '", variable.name, "': block ", describe(box),
                 " has more than 2^62 elements or begins behind them; give its offset from 0, or TAILRACE_RAGGED");
        if (counted)
            put.counted += box.count[0];
        else
            put.end = std::max(put.end, box.offset[0] + box.count[0]);
    }
    return put;
}

// Elements with the same index belong together, so a rank puts equally many of all variables over the dimension.
Put put_along(const Definitions& definitions, int d, const StepData& data) {
    Put all;
    std::optional<size_t> first;
    for (size_t v = 0; v < definitions.variables().size(); ++v) {
        const Variable& variable = definitions.variables()[v];
        if (!definitions.is_ragged(variable) || variable.dims[0] != d) continue;
        if (data.boxes[v].empty() && !variable.fill.empty()) continue;
        const bool is_empty = std::find(variable.shape.begin() + 1, variable.shape.end(), 0) != variable.shape.end();
        if (is_empty) continue;  // another dimension has length 0, so the blocks have no elements
        const Put put = put_of(variable, data.boxes[v]);
        if (first && put.counted != all.counted)
            fail(Status::BAD_SHAPE, "variable '", variable.name, "': ", put.counted, " elements along the ragged dimension '",
                 definitions.dimension(d).name, "', but ", all.counted, " of '", definitions.variables()[*first].name,
                 "' on the same rank; put equally many of each variable, or give the blocks offsets");
        if (!first) first = v;
        all.counted = put.counted;
        all.end = std::max(all.end, put.end);
    }
    return all;
}

void place(const Definitions& definitions, int d, uint64_t before, StepData& data) {
    for (size_t v = 0; v < definitions.variables().size(); ++v) {
        const Variable& variable = definitions.variables()[v];
        if (!definitions.is_ragged(variable) || variable.dims[0] != d) continue;
        uint64_t at = before;
        for (Box& box : data.boxes[v])
            if (box.offset[0] == TAILRACE_RAGGED) {
                box.offset[0] = at;
                at += box.count[0];
            }
    }
}

std::unique_ptr<Communicator> in_user_order(const Communicator& ranks) {
    MPI_Comm ordered = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split(ranks.all(), 0, static_cast<int>(ranks.user_rank()), &ordered), "MPI_Comm_split");
    auto result = std::make_unique<Communicator>(ordered);
    MPI_Comm_free(&ordered);
    return result;
}

}  // namespace

void check_length(const Layout& layout, const std::string& dimension, uint64_t length) {
    if (length == TAILRACE_RAGGED && layout.steps != 1)
        fail(Status::UNSUPPORTED, "dimension '", dimension,
             "' is ragged: its length changes with each step, but all steps of a file have one length; set steps = 1 (the index "
             "shows "
             "all steps as one dataset)");
}

void RaggedLengths::agree_lengths(Definitions& definitions, StepData& data) {
    const std::vector<int>& ragged = definitions.ragged();
    std::vector<uint64_t> counted, ends;
    const auto error = attempt([&] {
        for (const int d : ragged) {
            const Put put = put_along(definitions, d, data);
            counted.push_back(put.counted);
            ends.push_back(put.end);
        }
    });
    agree(ranks_, PlanVote{}, error);
    if (!by_user_rank_) by_user_rank_ = in_user_order(ranks_);
    const auto n = static_cast<int>(ragged.size());
    std::vector<uint64_t> before(ragged.size(), 0), mine, most(2 * ragged.size());
    check_mpi(MPI_Exscan(counted.data(), before.data(), n, MPI_UINT64_T, MPI_SUM, by_user_rank_->all()), "MPI_Exscan");
    if (by_user_rank_->rank() == 0) std::fill(before.begin(), before.end(), 0);
    for (size_t k = 0; k < ragged.size(); ++k) mine.push_back(before[k] + counted[k]);
    mine.insert(mine.end(), ends.begin(), ends.end());
    check_mpi(MPI_Allreduce(mine.data(), most.data(), 2 * n, MPI_UINT64_T, MPI_MAX, by_user_rank_->all()), "MPI_Allreduce");
    std::vector<uint64_t> lengths;
    for (size_t k = 0; k < ragged.size(); ++k) {
        const uint64_t total = most[k], end = most[ragged.size() + k];
        if (total > 0 && end > 0)
            fail(Status::BAD_SHAPE, "ragged dimension '", definitions.dimension(ragged[k]).name,
                 "': some blocks have offsets along it, others TAILRACE_RAGGED; in a step use only one of the two, on all ranks");
        place(definitions, ragged[k], before[k], data);
        lengths.push_back(total + end);
    }
    definitions.set_ragged_lengths(lengths);
}

}  // namespace tailrace
