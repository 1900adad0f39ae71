#include "gather/communicator_pool.hpp"

#include <map>
#include <mutex>
#include <set>

namespace tailrace {

// Of one communicator of the user; gone when the user frees that, or when MPI ends.
class CommunicatorPool {
public:
    static std::shared_ptr<CommunicatorPool> of(MPI_Comm user);

    std::map<uint64_t, std::shared_ptr<Communicator>> free;  // by number
    uint64_t made = 0;

private:
    struct Keys;
    static Keys& keys();
    static int remove(MPI_Comm, int, void* pool, void*);
    static int remove_all(MPI_Comm, int, void*, void*);
    static std::set<std::shared_ptr<CommunicatorPool>*>& all();
};

namespace {

std::mutex pools;

}  // namespace

// MPI_Finalize deletes the attributes of MPI_COMM_SELF first, when communicators can still be freed.
struct CommunicatorPool::Keys {
    int of_user = MPI_KEYVAL_INVALID, of_self = MPI_KEYVAL_INVALID;
    Keys() {
        check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &remove, &of_user, nullptr), "MPI_Comm_create_keyval");
        check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &remove_all, &of_self, nullptr), "MPI_Comm_create_keyval");
        check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, of_self, nullptr), "MPI_Comm_set_attr");
    }
};

CommunicatorPool::Keys& CommunicatorPool::keys() {
    static Keys keys;
    return keys;
}

std::set<std::shared_ptr<CommunicatorPool>*>& CommunicatorPool::all() {
    static std::set<std::shared_ptr<CommunicatorPool>*> all;
    return all;
}

int CommunicatorPool::remove(MPI_Comm, int, void* pool, void*) {
    auto* const removed = static_cast<std::shared_ptr<CommunicatorPool>*>(pool);
    const std::lock_guard lock(pools);
    if (all().erase(removed) > 0) delete removed;
    return MPI_SUCCESS;
}

int CommunicatorPool::remove_all(MPI_Comm, int, void*, void*) {
    const std::lock_guard lock(pools);
    for (auto* pool : all()) (*pool)->free.clear();
    return MPI_SUCCESS;
}

std::shared_ptr<CommunicatorPool> CommunicatorPool::of(MPI_Comm user) {
    void* pool = nullptr;
    int found = 0;
    check_mpi(MPI_Comm_get_attr(user, keys().of_user, static_cast<void*>(&pool), &found), "MPI_Comm_get_attr");
    if (found != 0) return *static_cast<std::shared_ptr<CommunicatorPool>*>(pool);
    auto* const made = new std::shared_ptr<CommunicatorPool>(std::make_shared<CommunicatorPool>());
    all().insert(made);
    check_mpi(MPI_Comm_set_attr(user, keys().of_user, made), "MPI_Comm_set_attr");
    return *made;
}

namespace {

// Where several threads may be in MPI, one rank may have given back what another has not yet: they ask each other.
bool all_have(MPI_Comm user, uint64_t number) {
    int level = MPI_THREAD_SINGLE;
    check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
    if (level < MPI_THREAD_MULTIPLE) return number != 0;
    const uint64_t mine[2] = {number, ~number};
    uint64_t all[2] = {};
    finish_mpi([&](MPI_Request* request) { return MPI_Iallreduce(mine, all, 2, MPI_UINT64_T, MPI_MAX, user, request); },
               "MPI_Iallreduce");
    return number != 0 && all[0] == ~all[1];
}

}  // namespace

std::shared_ptr<Communicator> take_communicator(MPI_Comm user) {
    std::shared_ptr<CommunicatorPool> pool;
    std::shared_ptr<Communicator> ranks;
    {
        const std::lock_guard lock(pools);
        pool = CommunicatorPool::of(user);
        if (!pool->free.empty()) ranks = std::move(pool->free.extract(pool->free.begin()).mapped());
    }
    if (all_have(user, ranks ? ranks->number() : 0)) return ranks;
    if (ranks) give_back(ranks);
    ranks = std::make_shared<Communicator>(user);
    ranks->arrange(0);
    const std::lock_guard lock(pools);
    ranks->set_home(pool, ++pool->made);
    return ranks;
}

void give_back(const std::shared_ptr<Communicator>& ranks) {
    const std::lock_guard lock(pools);
    if (const auto pool = ranks->home()) pool->free[ranks->number()] = ranks;
}

}  // namespace tailrace
