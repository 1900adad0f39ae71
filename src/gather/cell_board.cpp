#include "gather/cell_board.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "gather/agree.hpp"
#include "gather/over_ranks.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kHalfMultiple = 4096;

// Memory that is not in use is an attribute of the ranks' communicator, so that MPI frees it with that.
int free_attribute(MPI_Comm, int, void* kept, void*) {
    delete static_cast<KeptMemory*>(kept);
    return MPI_SUCCESS;
}

int key_of_kept_memory() {
    static const int made = [] {
        int key = MPI_KEYVAL_INVALID;
        check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &free_attribute, &key, nullptr), "MPI_Comm_create_keyval");
        return key;
    }();
    return made;
}

KeptMemory* kept_memory(MPI_Comm ranks) {
    void* kept = nullptr;
    int found = 0;
    check_mpi(MPI_Comm_get_attr(ranks, key_of_kept_memory(), static_cast<void*>(&kept), &found), "MPI_Comm_get_attr");
    return found != 0 ? static_cast<KeptMemory*>(kept) : nullptr;
}

KeptMemory take_kept_memory(MPI_Comm ranks) {
    KeptMemory* const kept = kept_memory(ranks);
    return kept != nullptr ? std::exchange(*kept, {}) : KeptMemory();
}

void keep_memory(MPI_Comm ranks, KeptMemory memory) {
    if (KeptMemory* const kept = kept_memory(ranks)) {
        *kept = std::move(memory);
        return;
    }
    auto kept = std::make_unique<KeptMemory>(std::move(memory));
    check_mpi(MPI_Comm_set_attr(ranks, key_of_kept_memory(), kept.get()), "MPI_Comm_set_attr");
    kept.release();
}

}  // namespace

void CellBoard::release() noexcept {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (memory_.memory == nullptr || finalized != 0) return;
    attempt([&] { keep_memory(ranks_.all(), std::move(memory_)); });
}

bool free_kept_cell_memory(MPI_Comm ranks) noexcept {
    bool freed = false;
    attempt([&] { freed = take_kept_memory(ranks).memory != nullptr; });
    return freed;
}

bool CellBoard::make_room(uint64_t bytes) {
    if (!may_have(bytes)) return false;
    if (has(bytes)) return true;
    if (memory_.memory == nullptr) memory_ = take_kept_memory(ranks_.all());
    // Equal numbers name the same memory. Any rank may have freed it.
    const uint64_t number = memory_.memory == nullptr ? 0 : memory_.number;
    const bool all_keep_it = over_ranks(ranks_, {number, ~number}, Reduced::largest) == std::vector{number, ~number};
    if (all_keep_it && has(bytes)) return true;
    memory_ = {};  // freed before the new one is made
    try {
        const uint64_t half = (std::max<uint64_t>(bytes, 1) + kHalfMultiple - 1) / kHalfMultiple * kHalfMultiple;
        memory_ = {std::make_unique<SharedMemory>(ranks_.node(), 2 * half), ranks_.next_memory_number()};
        return true;
    } catch (const Error&) {  // on all ranks
        most_bytes_ = bytes - 1;
        return false;
    }
}

}  // namespace tailrace
