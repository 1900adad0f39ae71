#include "gather/node_board.hpp"

#include <atomic>
#include <cstring>

#include "base/error.hpp"
#include "gather/communicator.hpp"
#include "gather/futex.hpp"
#include "gather/spin.hpp"

namespace tailrace {
namespace {

constexpr uint32_t kHasBetween = 1u << 16;  // added to the count of arrived ranks by each rank that passed a `between`

}  // namespace

// Rounds alternate between two sets: no rank can begin the round after the next before all have left this one.
struct NodeBoard::Shared {
    std::atomic<uint32_t> arrived[2];   // number of ranks; number of those with a `between`, times kHasBetween
    std::atomic<uint32_t> handed_over;  // the last round whose numbers are ready for the first rank's `between`
    std::atomic<uint32_t> done;         // the last round whose result is ready
    std::atomic<uint32_t> broken;       // the first rank's `between` threw
    std::atomic<uint32_t> sleeping;     // number of ranks that have to be woken
    Numbers result[2];
    std::byte room[2][kRoomBytes];
    Numbers given[];  // 2 x ranks; the words of each rank follow
};

NodeBoard::NodeBoard(MPI_Comm node, uint64_t ranks_beside)
    : node_(node), memory_(node, sizeof(Shared) + (2 * sizeof(Numbers) + kWords * sizeof(uint64_t)) * size_of(node)) {
    rank_ = static_cast<uint32_t>(rank_in(node));
    size_ = static_cast<uint32_t>(size_of(node));
    shared_ = reinterpret_cast<Shared*>(memory_.base());  // zeroed memory is its first state
    spin_s_ = spin_seconds(ranks_beside);
}

// Waits until done(). Calls MPI from time to time, so that MPI moves other messages of this rank: the awaited rank may itself wait
// for one of them.
template <class Done>
void NodeBoard::wait(const std::atomic<uint32_t>& word, Done&& done) const {
    if (spin_until(done, spin_s_)) return;
    for (;;) {
        const uint32_t seen = word.load();
        if (done()) return;
        shared_->sleeping.fetch_add(1);
        futex_wait(word, seen, waiting::kProgressInterval);
        shared_->sleeping.fetch_sub(1);
        if (done()) return;
        int arrived = 0;
        check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, node_, &arrived, MPI_STATUS_IGNORE), "MPI_Iprobe");
    }
}

void NodeBoard::wake(const std::atomic<uint32_t>& word) const {
    if (shared_->sleeping.load() > 0) futex_wake_all(word);
}

void NodeBoard::publish(uint32_t round, const Numbers& result) const {
    shared_->result[round & 1] = result;
    shared_->done.store(round);
    wake(shared_->done);
}

NodeBoard::Numbers NodeBoard::reduce(const Numbers& mine, Combine combine, const std::function<void(Numbers&)>& between,
                                     const std::function<void()>& meanwhile) const {
    const uint32_t round = ++round_, set = round & 1;
    Shared& shared = *shared_;
    Numbers* given = shared.given + set * size_;
    given[rank_] = mine;
    const uint32_t me = between ? 1 + kHasBetween : 1, arrived = shared.arrived[set].fetch_add(me) + me;
    if (arrived % kHasBetween == size_) {
        shared.arrived[set].store(0);
        Numbers all = given[0];
        for (uint32_t r = 1; r < size_; ++r) combine(given[r], all);
        if (arrived < kHasBetween) {
            publish(round, all);
            return all;
        }
        shared.result[set] = all;
        shared.handed_over.store(round);
        if (rank_ != 0) wake(shared.handed_over);
    }
    if (rank_ == 0) {
        // Ranks in different calls may differ in whether they passed a `between`, so the first rank waits for either outcome.
        wait(between ? shared.handed_over : shared.done,
             [&] { return shared.handed_over.load() == round || shared.done.load() == round; });
        if (shared.handed_over.load() != round) return shared.result[set];
        Numbers all = shared.result[set];
        try {
            if (between) between(all);
        } catch (...) {
            shared.broken.store(1);
            publish(round, all);
            throw;
        }
        publish(round, all);
        return all;
    }
    if (meanwhile) meanwhile();
    wait(shared.done, [&] { return shared.done.load() == round; });
    if (shared.broken.load()) fail(Status::MPI_FAILED, "the first rank of this node could not reach the other nodes");
    return shared.result[set];
}

std::byte* NodeBoard::room() const { return shared_->room[round_ & 1]; }

uint64_t* NodeBoard::words_of(uint64_t rank) const { return (shared_->given + 2 * size_)->data() + rank * kWords; }

void NodeBoard::broadcast(void* data, uint64_t bytes, uint64_t root) const {
    std::byte* room = shared_->room[(round_ + 1) & 1];
    if (rank_ == root) std::memcpy(room, data, bytes);
    reduce({}, [](const Numbers&, Numbers&) {}, {}, {});
    if (rank_ != root) std::memcpy(data, room, bytes);
}

}  // namespace tailrace
