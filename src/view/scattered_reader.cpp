#include "view/scattered_reader.hpp"

#include <algorithm>
#include <memory>

#include "base/checksum.hpp"
#include "gather/agree.hpp"
#include "gather/disagreement.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kBufferBytes = 8u << 20;

// A slab of the variable for this rank: whole along all dimensions but one, and in one piece of memory if possible.
Box share_of(const Shape& shape, size_t dim, const Communicator& ranks) {
    Box share = whole_box(shape);
    const size_t divided = shape[0] >= ranks.size() ? 0 : dim;
    share.offset[divided] = split_begin(shape[divided], ranks.size(), ranks.rank());
    share.count[divided] = split_begin(shape[divided], ranks.size(), ranks.rank() + 1) - share.offset[divided];
    return share;
}

}  // namespace

// What a call of get() wants, once its names were looked up.
struct ScatteredReader::Wanted {
    std::string variable;
    std::span<const uint64_t> indices;
    Box whole;
    size_t dim = 0;
    uint64_t element_bytes = 1;
    std::vector<BlockView> blocks;  // empty if this rank wants no element

    uint64_t bytes() const { return whole.elements() * element_bytes; }
    MovedArray array(std::byte* range) const {
        MovedArray array{&blocks, dim, 1, element_bytes, range};
        for (size_t d = 0; d < whole.count.size(); ++d)
            if (d != dim) (d < dim ? array.rows : array.cell_bytes) *= whole.count[d];
        return array;
    }
};

ScatteredReader::Wanted ScatteredReader::wanted(const std::string& name, const std::string& dimension,
                                                std::span<const uint64_t> indices, void* data,
                                                const std::vector<int64_t>& stride_bytes) const {
    const Definitions& definitions = reader_.definitions();
    const Variable& variable = definitions.variables()[definitions.index_of(name)];
    Wanted all{name, indices, whole_box(variable.shape), definitions.dimension_of(variable, dimension), type_bytes(variable.type),
               {}};
    if (indices.data() == nullptr && !indices.empty())
        fail(Status::BAD_ARGUMENT, "variable '", name, "': the list of ", indices.size(), " indices is NULL");
    check_indices(definitions, variable, all.dim, indices);
    if (indices.size() > Redistribution::kMostIndices)
        fail(Status::UNSUPPORTED, "variable '", name, "': a list of ", indices.size(), " indices; read at most ",
             Redistribution::kMostIndices, " in a call");
    Shape count = variable.shape;
    count[all.dim] = indices.size();
    if (volume(count) == 0) return all;
    if (data == nullptr) fail(Status::BAD_ARGUMENT, "variable '", name, "': the memory to read into is NULL");
    all.blocks.emplace_back(data, all.element_bytes, count, stride_bytes);
    return all;
}

void ScatteredReader::plan(const Wanted& all) {
    plans_.clear();
    length_ = all.whole.count[all.dim];
    indices_ = std::make_shared<const std::vector<uint64_t>>(all.indices.begin(), all.indices.end());
    plans_ = Redistribution::plan(reader_.ranks(), {{length_, indices_}});
}

// Whether nothing has to be planned: the elements are shown, or the plan fits.
bool ScatteredReader::is_planned(const Wanted& all) const {
    if (board_.may_have(all.bytes())) return board_.has(all.bytes());
    return !plans_.empty() && length_ == all.whole.count[all.dim] && std::ranges::equal(*indices_, all.indices);
}

// Reads this rank's share: for all ranks of the node, or its range for messages.
void ScatteredReader::read_share(const Wanted& all) {
    if (!board_.may_have(all.bytes())) {
        Box box = all.whole;
        box.offset[all.dim] = plans_[0].range_begin();
        box.count[all.dim] = plans_[0].range_length();
        range_.resize(box.elements() * all.element_bytes);
        return reader_.get(all.variable, box, range_.data(), {});
    }
    const Box share = share_of(all.whole.count, all.dim, reader_.ranks());
    if (share.elements() == 0) return;
    const BlockView shown = BlockView(board_.half(), all.element_bytes, all.whole.count, {}).part(share);
    std::vector<int64_t> stride;
    for (size_t d = 0; d < share.count.size(); ++d) stride.push_back(shown.stride_bytes(d));
    reader_.get(all.variable, share, const_cast<std::byte*>(shown.first()), stride);
}

void ScatteredReader::take(const Wanted& all) {
    if (!board_.may_have(all.bytes())) {
        plans_[0].from_ranges(reader_.ranks(), {all.array(range_.data())}, kBufferBytes, buffers_);
        if (range_.size() > kBufferBytes) std::vector<std::byte>().swap(range_);
        return;
    }
    const MovedArray array = all.array(nullptr);
    Cells cells(all.blocks, all.dim);
    for (uint64_t row = 0; row < array.rows && !all.blocks.empty(); ++row) {
        cells.select_row(row);
        cells.collect(all.indices.data(), all.indices.size(), array.cell_bytes,
                      board_.half() + row * all.whole.count[all.dim] * array.cell_bytes);
    }
    cells.end_in();
    board_.turn();
}

// A rank that has nothing to plan reads before it learns whether the other ranks have: if none has, one agreement is enough.
void ScatteredReader::get(const std::string& variable, const std::string& dimension, std::span<const uint64_t> indices, void* data,
                          const std::vector<int64_t>& stride_bytes) {
    const Communicator& ranks = reader_.ranks();
    Wanted all;
    const std::string names = variable + '\0' + dimension;
    GetIndicesVote vote{.array = Checksum::of(names.data(), names.size())};
    const auto error = attempt([&] {
        all = wanted(variable, dimension, indices, data, stride_bytes);
        vote.must_plan = !is_planned(all);
        if (!vote.must_plan) read_share(all);
    });
    const bool plans = with_facts(
        ranks, [&] { return Facts{{"the variable", "'" + variable + "'"}, {"the dimension", "'" + dimension + "'"}}; },
        [&] { return agree(ranks, vote, error).must_plan; });
    if (plans) {
        run_or_end_job(ranks.size() > 1, [&] {
            if (!board_.make_room(all.bytes())) plan(all);
        });
        agree(ranks, vote, attempt([&] { read_share(all); }));
    }
    run_or_end_job(ranks.size() > 1, [&] { take(all); });
}

}  // namespace tailrace
