#include "gather/communicator_pool.hpp"

#include <mutex>
#include <set>
#include <vector>

namespace tailrace {

// Of one communicator of the user; gone when the user frees that, or when MPI ends.
class CommunicatorPool {
public:
    static std::shared_ptr<CommunicatorPool> of(MPI_Comm user);

    std::vector<std::shared_ptr<Communicator>> free;

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

std::shared_ptr<Communicator> take_communicator(MPI_Comm user) {
    std::shared_ptr<CommunicatorPool> pool;
    {
        const std::lock_guard lock(pools);
        pool = CommunicatorPool::of(user);
        if (!pool->free.empty()) {
            std::shared_ptr<Communicator> ranks = std::move(pool->free.back());
            pool->free.pop_back();
            return ranks;
        }
    }
    auto ranks = std::make_shared<Communicator>(user);
    ranks->arrange(0);
    ranks->set_home(pool);
    return ranks;
}

void give_back(const std::shared_ptr<Communicator>& ranks) {
    const std::lock_guard lock(pools);
    if (const auto pool = ranks->home()) pool->free.push_back(ranks);
}

}  // namespace tailrace
