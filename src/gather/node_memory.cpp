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
constexpr uint64_t kMostKept = 4;  // kept memory of more than so many times the needed bytes is freed

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
    const uint64_t members = ranks.node_size(), number = ranks.next_memory_number();
    KeptMemory kept = ranks.take_memory();
    struct Member {
        uint64_t piece_bytes, kept_number;
    };
    const Member mine{piece_bytes, kept.number};
    std::vector<Member> all(members);
    check_mpi(MPI_Allgather(&mine, 2, MPI_UINT64_T, all.data(), 2, MPI_UINT64_T, ranks.node()), "MPI_Allgather");
    const bool all_keep_it =
        kept.memory && std::all_of(all.begin(), all.end(), [&](const Member& of) { return of.kept_number == kept.number; });
    const auto writers =
        static_cast<uint64_t>(std::count_if(all.begin(), all.end(), [](const Member& of) { return of.piece_bytes > 0; }));
    has_core_to_spare_ = writers * ranks.ranks_beside() / members < cores();  // the other parts have as many
    const uint64_t bells_end = up(members * sizeof(Bell), kLine);
    uint64_t bytes = up(bells_end + members * 2 * sizeof(uint64_t), kPage);
    std::vector<uint64_t> offsets;
    for (const Member& of : all) {
        offsets.push_back(bytes);
        bytes += ring_bytes(of.piece_bytes);
    }
    if (all_keep_it && kept.memory->bytes() >= bytes && kept.memory->bytes() <= kMostKept * bytes) {
        memory_ = std::move(kept);
    } else {
        kept = {};  // freed before the new one is made
        memory_ = {std::make_unique<SharedMemory>(ranks.node(), bytes), number};
    }
    base_ = memory_.memory->base();
    ring_offset_ = reinterpret_cast<uint64_t*>(base_ + bells_end);
    if (ranks.node_rank() == 0) {
        for (uint64_t r = 0; r < members; ++r) {
            new (base_ + r * sizeof(Bell)) Bell{};
            ring_offset_[2 * r] = offsets[r];
            ring_offset_[2 * r + 1] = all[r].piece_bytes;
            if (all[r].piece_bytes > 0) new (base_ + offsets[r]) Ring::Header{};
        }
    }
    check_mpi(MPI_Barrier(ranks.node()), "MPI_Barrier");
}

NodeMemory::~NodeMemory() { ranks_.keep_memory(std::move(memory_)); }

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
