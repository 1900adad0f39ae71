#include "gather/communicator_pool.hpp"

#include <bit>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "gather/at_finalize.hpp"
#include "gather/memory_failure.hpp"

namespace tailrace {

// The idle communicators that were made for one communicator of the user. The pool is freed when the user frees that communicator,
// or by MPI_Finalize.
class CommunicatorPool {
public:
    static std::shared_ptr<CommunicatorPool> of(MPI_Comm user);

    static constexpr uint64_t kMost = 64;  // communicators in the pool; further ones are freed when they are given back

    std::map<uint64_t, std::shared_ptr<Communicator>> idle;  // by number, from 1
    uint64_t made = 0;
    std::mutex turn;  // held while a thread finds or makes a communicator: two threads never get the same one

    static std::set<std::shared_ptr<CommunicatorPool>*>& all();

private:
    static int key();  // key of the attribute of the user's communicator that holds the pool
    static int remove(MPI_Comm, int, void* pool, void*);
};

namespace {

std::mutex pools;

}  // namespace

int CommunicatorPool::key() {
    static const int made = [] {
        int number = MPI_KEYVAL_INVALID;
        check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &remove, &number, nullptr), "MPI_Comm_create_keyval");
        at_finalize([] {
            // Freed without the lock: a communicator may have a pool of its own, which is freed with it.
            std::vector<std::map<uint64_t, std::shared_ptr<Communicator>>> idle;
            {
                const std::lock_guard lock(pools);
                for (auto* pool : all()) idle.push_back(std::exchange((*pool)->idle, {}));
            }
        });
        return number;
    }();
    return made;
}

std::set<std::shared_ptr<CommunicatorPool>*>& CommunicatorPool::all() {
    static std::set<std::shared_ptr<CommunicatorPool>*> all;
    return all;
}

int CommunicatorPool::remove(MPI_Comm, int, void* pool, void*) {
    auto* const removed = static_cast<std::shared_ptr<CommunicatorPool>*>(pool);
    {
        const std::lock_guard lock(pools);
        if (all().erase(removed) == 0) return MPI_SUCCESS;
    }
    delete removed;
    return MPI_SUCCESS;
}

std::shared_ptr<CommunicatorPool> CommunicatorPool::of(MPI_Comm user) {
    void* pool = nullptr;
    int found = 0;
    check_mpi(MPI_Comm_get_attr(user, key(), static_cast<void*>(&pool), &found), "MPI_Comm_get_attr");
    if (found != 0) return *static_cast<std::shared_ptr<CommunicatorPool>*>(pool);
    auto* const made = new std::shared_ptr<CommunicatorPool>(std::make_shared<CommunicatorPool>());
    all().insert(made);
    check_mpi(MPI_Comm_set_attr(user, key(), made), "MPI_Comm_set_attr");
    return *made;
}

namespace {

// Collective. The lowest number that is idle on all ranks; 0 if there is none. If several threads call MPI, one rank may have given
// back a communicator that another rank still uses, so the ranks compare their numbers.
uint64_t idle_on_all(MPI_Comm user, const CommunicatorPool& pool) {
    uint64_t mine = 0;
    {
        const std::lock_guard lock(pools);
        for (const auto& [number, _] : pool.idle) mine |= uint64_t{1} << (number - 1);
    }
    uint64_t all = mine;
    int level = MPI_THREAD_SINGLE;
    check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
    if (level == MPI_THREAD_MULTIPLE)
        finish_mpi([&](MPI_Request* request) { return MPI_Iallreduce(&mine, &all, 1, MPI_UINT64_T, MPI_BAND, user, request); },
                   "MPI_Iallreduce");
    return all == 0 ? 0 : static_cast<uint64_t>(std::countr_zero(all)) + 1;
}

}  // namespace

std::shared_ptr<Communicator> take_communicator(MPI_Comm user) {
    std::shared_ptr<CommunicatorPool> pool;
    {
        const std::lock_guard lock(pools);
        pool = CommunicatorPool::of(user);
    }
    const std::lock_guard turn(pool->turn);
    if (const uint64_t number = idle_on_all(user, *pool); number > 0) {
        const std::lock_guard lock(pools);
        return std::move(pool->idle.extract(number).mapped());
    }
    auto ranks = std::make_shared<Communicator>(user);
    run_or_end_job(ranks->size() > 1, [&] { ranks->arrange(0); });
    const std::lock_guard lock(pools);
    if (pool->made < CommunicatorPool::kMost) ranks->set_pool(pool, ++pool->made);
    return ranks;
}

bool free_kept_memory(const Communicator& ranks) {
    bool freed = ranks.free_kept_memory();
    const std::lock_guard lock(pools);
    for (const auto* pool : CommunicatorPool::all())
        for (const auto& [_, communicator] : (*pool)->idle) freed = communicator->free_kept_memory() || freed;
    return freed;
}

void give_back(const std::shared_ptr<Communicator>& ranks) {
    const std::lock_guard lock(pools);
    if (const auto pool = ranks->pool()) pool->idle[ranks->number_in_pool()] = ranks;
}

}  // namespace tailrace
