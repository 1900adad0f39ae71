#include "view/scattered_reader.hpp"

#include <algorithm>
#include <memory>

#include "base/checksum.hpp"
#include "gather/agree.hpp"
#include "gather/disagreement.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kBufferBytes = 8u << 20;

// What a call of get() wants, once its names were looked up.
struct Wanted {
    Box whole;
    size_t dim = 0;
    uint64_t element_bytes = 1;
    std::vector<BlockView> blocks;  // empty if this rank wants no element
};

Wanted wanted(const Definitions& definitions, const std::string& name, const std::string& dimension,
              std::span<const uint64_t> indices, void* data, const std::vector<int64_t>& stride_bytes) {
    const Variable& variable = definitions.variables()[definitions.index_of(name)];
    Wanted all{whole_box(variable.shape), definitions.dimension_of(variable, dimension), type_bytes(variable.type), {}};
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

}  // namespace

void ScatteredReader::plan(uint64_t length, std::span<const uint64_t> indices) {
    const Communicator& ranks = reader_.ranks();
    plans_.clear();
    length_ = length;
    indices_ = std::make_shared<const std::vector<uint64_t>>(indices.begin(), indices.end());
    plans_ = Redistribution::plan(ranks, {{length_, indices_}});
}

// A rank whose plan still fits reads before it learns whether the other ranks' plans do: if they do, one agreement is enough.
void ScatteredReader::get(const std::string& variable, const std::string& dimension, std::span<const uint64_t> indices, void* data,
                          const std::vector<int64_t>& stride_bytes) {
    const Communicator& ranks = reader_.ranks();
    Wanted all;
    const auto read_range = [&] {
        Box box = all.whole;
        box.offset[all.dim] = plans_[0].range_begin();
        box.count[all.dim] = plans_[0].range_length();
        range_.resize(box.elements() * all.element_bytes);
        reader_.get(variable, box, range_.data(), {});
    };
    const std::string names = variable + '\0' + dimension;
    GetIndicesVote vote{.array = Checksum::of(names.data(), names.size())};
    const auto error = attempt([&] {
        all = wanted(reader_.definitions(), variable, dimension, indices, data, stride_bytes);
        vote.must_plan = plans_.empty() || length_ != all.whole.count[all.dim] || !std::ranges::equal(*indices_, indices);
        if (!vote.must_plan) read_range();
    });
    const bool plans = with_facts(
        ranks, [&] { return Facts{{"the variable", "'" + variable + "'"}, {"the dimension", "'" + dimension + "'"}}; },
        [&] { return agree(ranks, vote, error).must_plan; });
    if (plans) {
        run_or_end_job(ranks.size() > 1, [&] { plan(all.whole.count[all.dim], indices); });
        agree(ranks, vote, attempt(read_range));
    }
    run_or_end_job(ranks.size() > 1, [&] {
        MovedArray array{&all.blocks, all.dim, 1, all.element_bytes, range_.data()};
        for (size_t d = 0; d < all.whole.count.size(); ++d)
            if (d != all.dim) (d < all.dim ? array.rows : array.cell_bytes) *= all.whole.count[d];
        plans_[0].from_ranges(ranks, {array}, kBufferBytes, buffers_);
        if (range_.size() > kBufferBytes) std::vector<std::byte>().swap(range_);
    });
}

}  // namespace tailrace
