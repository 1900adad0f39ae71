#include "gather/redistribution.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "gather/agree.hpp"
#include "gather/over_ranks.hpp"
#include "gather/sparse_exchange.hpp"
#include "gather/spin.hpp"
#include "layout/topology.hpp"

namespace tailrace {
namespace {

constexpr int kTag = 3;  // deliver() uses 1 and 2 on the same communicator
constexpr uint64_t kLongestMessage = 1u << 30;
constexpr uint32_t kNobody = std::numeric_limits<uint32_t>::max();

void complete(const Communicator& ranks, std::vector<MPI_Request>& requests) {
    Backoff backoff(spin_seconds(ranks.ranks_beside()));
    for (int done = 0; !done; backoff.pause())
        check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
    requests.clear();
}

// How many indices the ranks have of each list: [list][rank].
std::vector<std::vector<uint64_t>> counts_of_all(const Communicator& ranks, const std::vector<OwnedIndices>& owned) {
    const uint64_t size = ranks.size();
    std::vector<uint64_t> all(owned.size() * size);
    for (size_t p = 0; p < owned.size(); ++p) all[p * size + ranks.rank()] = owned[p].indices->size();
    all = over_ranks(ranks, all, Reduced::sum);
    std::vector<std::vector<uint64_t>> counts;
    for (auto list = all.begin(); list != all.end(); list += static_cast<std::ptrdiff_t>(size))
        counts.emplace_back(list, list + static_cast<std::ptrdiff_t>(size));
    return counts;
}

// A cell in a message of the plan: its number in the receiver's range, and its number in the sender's list.
uint64_t cell_word(uint64_t in_range, uint64_t in_list) { return in_range << 32 | in_list; }

}  // namespace

// ---- the plan -----------------------------------------------------------------------------------------------------------------

std::vector<Redistribution> Redistribution::plan(const Communicator& ranks, const std::vector<OwnedIndices>& owned) {
    std::vector<Redistribution> plans(owned.size());
    Messages out;
    std::vector<std::vector<uint64_t>> first_shown(owned.size());  // [list][rank]; empty unless all ranks are on one node
    if (ranks.board_of_all() != nullptr) first_shown = counts_of_all(ranks, owned);
    for (size_t p = 0; p < owned.size(); ++p) {
        Redistribution& plan = plans[p];
        for (uint64_t& count : first_shown[p]) count = std::exchange(plan.shown_cells_, plan.shown_cells_ + count);
        if (!first_shown[p].empty()) plan.first_shown_ = first_shown[p][ranks.rank()];
        const uint64_t length = owned[p].length, size = ranks.size();
        const std::vector<uint64_t>& indices = *owned[p].indices;
        plan.begin_ = split_begin(length, size, ranks.rank());
        plan.length_ = split_begin(length, size, ranks.rank() + 1) - plan.begin_;
        plan.longest_ = length / size + (length % size != 0);
        // A counting sort by the rank that has the index in its range.
        std::vector<uint64_t> first(size + 1, 0);
        for (const uint64_t index : indices) ++first[split_index(length, size, index) + 1];
        for (uint64_t r = 0; r < size; ++r) {
            if (first[r + 1] > 0) plan.blocks_.partners.push_back({r, first[r], first[r + 1]});
            first[r + 1] += first[r];
        }
        plan.blocks_.cells.resize(indices.size());
        std::vector<uint64_t> next(first.begin(), first.end() - 1);
        for (uint32_t i = 0; i < indices.size(); ++i) plan.blocks_.cells[next[split_index(length, size, indices[i])]++] = i;
        for (const Partner& partner : plan.blocks_.partners) {
            std::vector<uint64_t>& words = out[partner.rank];
            words.reserve(words.size() + 3 + partner.count);
            words.insert(words.end(), {p, ranks.user_rank(), partner.count});
            const uint64_t begin = split_begin(length, size, partner.rank);
            for (uint64_t k = 0; k < partner.count; ++k) {
                const uint32_t cell = plan.blocks_.cells[partner.first + k];
                words.push_back(cell_word(indices[cell] - begin, cell));
            }
        }
    }
    std::vector<std::vector<uint64_t>> user_ranks(owned.size());  // of the partners
    for (const auto& [from, words] : deliver(ranks, out))
        for (size_t at = 0; at < words.size(); at += 3 + words[at + 2]) {
            user_ranks[words[at]].push_back(words[at + 1]);
            const auto& first = first_shown[words[at]];
            plans[words[at]].take_message(from, first.empty() ? 0 : first[from], &words[at + 3], words[at + 2]);
        }
    for (size_t p = 0; p < owned.size(); ++p) plans[p].check_range(user_ranks[p]);
    return plans;
}

void Redistribution::take_message(uint64_t from, uint64_t first_shown, const uint64_t* words, uint64_t count) {
    range_.partners.push_back({from, range_.cells.size(), count});
    range_.cells.reserve(length_);
    for (uint64_t k = 0; k < count; ++k) range_.cells.push_back(static_cast<uint32_t>(words[k] >> 32));
    if (shown_cells_ == 0 || shown_cells_ >= kNobody) return;
    shown_.resize(length_, kNobody);
    for (uint64_t k = 0; k < count; ++k) shown_[words[k] >> 32] = static_cast<uint32_t>(first_shown + (words[k] & UINT32_MAX));
}

void Redistribution::check_range(const std::vector<uint64_t>& user_ranks) {
    std::vector<uint32_t> owner(length_, kNobody);
    for (uint32_t k = 0; k < range_.partners.size(); ++k)
        for (uint64_t c = 0; c < range_.partners[k].count; ++c) {
            const uint32_t cell = range_.cells[range_.partners[k].first + c];
            if (owner[cell] != kNobody && (!duplicate_ || begin_ + cell < duplicate_->index))
                duplicate_ = {begin_ + cell, user_ranks[owner[cell]], user_ranks[k]};
            owner[cell] = k;
        }
    const auto gap = std::find(owner.begin(), owner.end(), kNobody);
    if (gap != owner.end()) missing_ = begin_ + static_cast<uint64_t>(gap - owner.begin());
}

// ---- moving data ----------------------------------------------------------------------------------------------------------------

// What moves at once: some rows of all arrays, counted one array after the other, and for each pair of ranks some cells of its
// list. Both ranks of a pair compute equal rounds.
struct Redistribution::Round {
    struct Row {
        size_t array = 0;
        uint64_t row = 0;
    };
    std::vector<Row> rows;
    uint64_t row_bytes = 0;  // bytes of one cell in all rows of the round
    uint64_t first_cell = 0, cells = 0;

    uint64_t count(const Partner& partner) const {
        return partner.count <= first_cell ? 0 : std::min(cells, partner.count - first_cell);
    }
};

template <class Transfer>
void Redistribution::for_rounds(const Communicator& ranks, const std::vector<MovedArray>& arrays, uint64_t buffer_bytes,
                                Transfer&& transfer) const {
    Round round;
    buffer_bytes = std::min(buffer_bytes, kLongestMessage);
    uint64_t most = 0;  // cells of a pair that this rank is one of
    for (const Side* side : {&blocks_, &range_})
        for (const Partner& partner : side->partners) most = std::max(most, partner.count);
    const auto run = [&] {
        const uint64_t fits = buffer_bytes / round.row_bytes;
        round.cells = fits >= longest_ ? longest_ : std::max<uint64_t>(fits / ranks.size(), 1);
        for (round.first_cell = 0; round.first_cell < most; round.first_cell += round.cells) transfer(round);
        round.rows.clear();
        round.row_bytes = 0;
    };
    for (size_t a = 0; a < arrays.size(); ++a)
        for (uint64_t row = 0; row < arrays[a].rows; ++row) {
            if (round.row_bytes > 0 && (round.row_bytes + arrays[a].cell_bytes) * longest_ > buffer_bytes) run();
            round.rows.push_back({a, row});
            round.row_bytes += arrays[a].cell_bytes;
        }
    if (!round.rows.empty()) run();
}

// Moves data in one direction: packs for the partners of one side, and unpacks from those of the other.
class Redistribution::Move {
public:
    Move(const Communicator& ranks, const Side& from, const Side& to, MoveBuffers& buffers)
        : ranks_(ranks), from_(from), to_(to), buffers_(buffers) {}

    // pack(partner's cells, count, row, to) and unpack(cells, count, row, from) move the cells of one row.
    template <class Pack, class Unpack>
    void run(const Round& round, const std::vector<MovedArray>& arrays, Pack&& pack, Unpack&& unpack) {
        post(round);
        uint64_t offset = 0;
        for (const Round::Row& row : round.rows) {
            for_partners(from_, round, [&](const Partner& partner, uint64_t at, uint64_t count) {
                pack(&from_.cells[partner.first + round.first_cell], count, row, out(partner, at) + offset * count);
            });
            offset += arrays[row.array].cell_bytes;
        }
        send(round);
        offset = 0;
        complete(ranks_, requests_);
        for (const Round::Row& row : round.rows) {
            for_partners(to_, round, [&](const Partner& partner, uint64_t at, uint64_t count) {
                unpack(&to_.cells[partner.first + round.first_cell], count, row, in(partner, at) + offset * count);
            });
            offset += arrays[row.array].cell_bytes;
        }
    }

private:
    // `at`: bytes of the partners before.
    template <class Use>
    void for_partners(const Side& side, const Round& round, Use&& use) const {
        uint64_t at = 0;
        for (const Partner& partner : side.partners) {
            const uint64_t count = round.count(partner);
            if (count == 0) continue;
            use(partner, at, count);
            at += count * round.row_bytes;
        }
    }
    // Cells that a rank keeps for itself are packed to own_ and unpacked from there.
    std::byte* out(const Partner& partner, uint64_t at) { return partner.rank == ranks_.rank() ? own_ : out_ + at; }
    std::byte* in(const Partner& partner, uint64_t at) { return partner.rank == ranks_.rank() ? own_ : in_ + at; }

    void post(const Round& round) {
        uint64_t in_bytes = 0, out_bytes = 0;
        for_partners(to_, round, [&](const Partner&, uint64_t at, uint64_t count) { in_bytes = at + count * round.row_bytes; });
        for_partners(from_, round, [&](const Partner& partner, uint64_t at, uint64_t count) {
            out_bytes = at + count * round.row_bytes;
            if (partner.rank == ranks_.rank()) own_ = buffers_.own(count * round.row_bytes);
        });
        in_ = buffers_.in(in_bytes);
        out_ = buffers_.out(out_bytes);
        for_partners(to_, round, [&](const Partner& partner, uint64_t at, uint64_t count) {
            if (partner.rank == ranks_.rank()) return;
            requests_.emplace_back();
            check_mpi(MPI_Irecv(in_ + at, static_cast<int>(count * round.row_bytes), MPI_BYTE, static_cast<int>(partner.rank), kTag,
                                ranks_.all(), &requests_.back()),
                      "MPI_Irecv");
        });
    }
    void send(const Round& round) {
        for_partners(from_, round, [&](const Partner& partner, uint64_t at, uint64_t count) {
            if (partner.rank == ranks_.rank()) return;
            requests_.emplace_back();
            check_mpi(MPI_Isend(out_ + at, static_cast<int>(count * round.row_bytes), MPI_BYTE, static_cast<int>(partner.rank),
                                kTag, ranks_.all(), &requests_.back()),
                      "MPI_Isend");
        });
    }

    const Communicator& ranks_;
    const Side &from_, &to_;
    MoveBuffers& buffers_;
    std::byte *out_ = nullptr, *in_ = nullptr, *own_ = nullptr;  // of this round, in the buffers
    std::vector<MPI_Request> requests_;
};

void Redistribution::to_ranges(const Communicator& ranks, const std::vector<MovedArray>& arrays, uint64_t buffer_bytes,
                               MoveBuffers& buffers) const {
    std::deque<Cells> cells;
    for (const MovedArray& array : arrays) {
        cells.emplace_back(*array.blocks, array.dim);
        cells.back().begin_out();
    }
    Move move(ranks, blocks_, range_, buffers);
    for_rounds(ranks, arrays, buffer_bytes, [&](const Round& round) {
        move.run(
            round, arrays,
            [&](const uint32_t* list, uint64_t count, Round::Row row, std::byte* to) {
                cells[row.array].select_row(row.row);
                cells[row.array].copy_out(list, count, arrays[row.array].cell_bytes, to);
            },
            [&](const uint32_t* list, uint64_t count, Round::Row row, const std::byte* from) {
                const MovedArray& array = arrays[row.array];
                spread_cells(list, count, array.cell_bytes, from, array.range + row.row * length_ * array.cell_bytes);
            });
    });
}

void Redistribution::show(const MovedArray& array, std::byte* shown) const {
    Cells cells(*array.blocks, array.dim);
    cells.begin_out();
    for (uint64_t row = 0; row < array.rows; ++row) {
        cells.select_row(row);
        cells.copy_all_out(blocks_.cells.size(), array.cell_bytes, shown + (row * shown_cells_ + first_shown_) * array.cell_bytes);
    }
}

void Redistribution::take_shown(const MovedArray& array, const std::byte* shown) const {
    const auto take = [&](uint64_t begin, uint64_t end) {
        for (uint64_t row = 0; row < array.rows; ++row)
            collect_cells(&shown_[begin], end - begin, array.cell_bytes, shown + row * shown_cells_ * array.cell_bytes,
                          array.range + (row * length_ + begin) * array.cell_bytes);
    };
    for (auto end = shown_.begin(); end != shown_.end();) {  // between the cells that no rank has
        const auto begin = std::find_if(end, shown_.end(), [](uint32_t place) { return place != kNobody; });
        end = missing_ ? std::find(begin, shown_.end(), kNobody) : shown_.end();
        if (begin != end) take(static_cast<uint64_t>(begin - shown_.begin()), static_cast<uint64_t>(end - shown_.begin()));
    }
}

void Redistribution::from_ranges(const Communicator& ranks, const std::vector<MovedArray>& arrays, uint64_t buffer_bytes,
                                 MoveBuffers& buffers) const {
    std::deque<Cells> cells;
    for (const MovedArray& array : arrays) cells.emplace_back(*array.blocks, array.dim);
    Move move(ranks, range_, blocks_, buffers);
    for_rounds(ranks, arrays, buffer_bytes, [&](const Round& round) {
        move.run(
            round, arrays,
            [&](const uint32_t* list, uint64_t count, Round::Row row, std::byte* to) {
                const MovedArray& array = arrays[row.array];
                collect_cells(list, count, array.cell_bytes, array.range + row.row * length_ * array.cell_bytes, to);
            },
            [&](const uint32_t* list, uint64_t count, Round::Row row, const std::byte* from) {
                cells[row.array].select_row(row.row);
                cells[row.array].copy_in(list, count, arrays[row.array].cell_bytes, from);
            });
    });
    for (const Cells& array : cells) array.end_in();
}

}  // namespace tailrace
