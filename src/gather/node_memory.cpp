#include "gather/node_memory.hpp"

#include <algorithm>
#include <new>
#include <vector>

#include "gather/futex.hpp"
#include "gather/spin.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kLine = 64;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kMostSpare = 4;  // times what is needed: memory that is larger is given back

uint64_t up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

uint64_t ring_bytes(uint64_t piece_bytes) {
    return piece_bytes == 0 ? 0 : up(sizeof(Ring::Header), kPage) + up(kSlots * piece_bytes, kPage);
}

}  // namespace

struct alignas(kLine) NodeMemory::Bell {
    std::atomic<uint32_t> rung;
    std::atomic<uint32_t> sleeping;
};

NodeMemory::NodeMemory(const Communicator& ranks, uint64_t piece_bytes)
    : ranks_(ranks), longest_spin_s_(spin_seconds(ranks.ranks_beside())) {
    const uint64_t members = ranks.node_size(), number = ranks.next_memory();
    SpareMemory spare = ranks.take_spare();
    struct Said {
        uint64_t piece_bytes, spare;
    };
    const Said mine{piece_bytes, spare.number};
    std::vector<Said> said(members);
    check_mpi(MPI_Allgather(&mine, 2, MPI_UINT64_T, said.data(), 2, MPI_UINT64_T, ranks.node()), "MPI_Allgather");
    const bool all_have_it =
        spare.memory && std::all_of(said.begin(), said.end(), [&](const Said& of) { return of.spare == spare.number; });
    const auto writers =
        static_cast<uint64_t>(std::count_if(said.begin(), said.end(), [](const Said& of) { return of.piece_bytes > 0; }));
    has_core_to_spare_ = writers * ranks.ranks_beside() / members < cores();  // other parts have as many
    const uint64_t bells_end = up(members * sizeof(Bell), kLine);
    uint64_t bytes = up(bells_end + members * 2 * sizeof(uint64_t), kPage);
    std::vector<uint64_t> offsets;
    for (const Said& of : said) {
        offsets.push_back(bytes);
        bytes += ring_bytes(of.piece_bytes);
    }
    if (all_have_it && spare.memory->bytes() >= bytes && spare.memory->bytes() <= kMostSpare * bytes) {
        memory_ = std::move(spare);
    } else {
        spare = {};  // before there is another one
        memory_ = {std::make_unique<SharedMemory>(ranks.node(), bytes), number};
    }
    base_ = memory_.memory->base();
    ring_offset_ = reinterpret_cast<uint64_t*>(base_ + bells_end);
    if (ranks.node_rank() == 0) {
        for (uint64_t r = 0; r < members; ++r) {
            new (base_ + r * sizeof(Bell)) Bell{};
            ring_offset_[2 * r] = offsets[r];
            ring_offset_[2 * r + 1] = said[r].piece_bytes;
            if (said[r].piece_bytes > 0) new (base_ + offsets[r]) Ring::Header{};
        }
    }
    check_mpi(MPI_Barrier(ranks.node()), "MPI_Barrier");
}

NodeMemory::~NodeMemory() { ranks_.keep_spare(std::move(memory_)); }

NodeMemory::Bell& NodeMemory::bell(uint64_t node_rank) const { return *reinterpret_cast<Bell*>(base_ + node_rank * sizeof(Bell)); }

Ring NodeMemory::ring(uint64_t node_rank) const {
    std::byte* at = base_ + ring_offset_[2 * node_rank];
    return {reinterpret_cast<Ring::Header*>(at), at + up(sizeof(Ring::Header), kPage), ring_offset_[2 * node_rank + 1]};
}

uint32_t NodeMemory::times_rung() const { return bell(ranks_.node_rank()).rung.load(); }

void NodeMemory::wait(uint32_t seen, bool for_messages) {
    Bell& mine = bell(ranks_.node_rank());
    const auto has_rung = [&] { return mine.rung.load() != seen; };
    if (spin_until(has_rung, spin_s_)) return;
    const bool polls = for_messages || has_core_to_spare_;
    mine.sleeping.store(1);
    if (!has_rung())
        futex_wait(mine.rung, seen,
                   polls ? std::chrono::nanoseconds(waiting::kDoorbellPollInterval) : waiting::kDoorbellSleepBound);
    mine.sleeping.store(0);
    spin_s_ = has_rung() ? longest_spin_s_ : 0;
}

void NodeMemory::ring_bell(uint64_t node_rank) const {
    Bell& other = bell(node_rank);
    other.rung.fetch_add(1);
    if (other.sleeping.load()) futex_wake_one(other.rung);
}

}  // namespace tailrace
