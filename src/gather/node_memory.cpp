// RATIONALE: POSIX shared memory instead of MPI_Win_allocate_shared, whose backing file may lie on a disk, and whose pages are not
// reserved: writing to a full file system under a mapping is a SIGBUS in the user's program.
#include "gather/node_memory.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <numeric>
#include <vector>

#include "gather/agree.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kLine = 64;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kMapAtOnceBytes = 64u << 20;  // more is mapped where it is touched: a rank uses the rings of few writers

uint64_t up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

uint64_t ring_bytes(uint64_t piece_bytes) {
    return piece_bytes == 0 ? 0 : up(sizeof(Ring::Header), kPage) + up(kSlots * piece_bytes, kPage);
}

}  // namespace

struct alignas(kLine) NodeMemory::Bell {
    std::atomic<uint32_t> rung;
    std::atomic<uint32_t> sleeping;
};

NodeMemory::NodeMemory(const Communicator& ranks, uint64_t piece_bytes) : ranks_(ranks) {
    const uint64_t members = ranks.node_size();
    std::vector<uint64_t> pieces(members);
    check_mpi(MPI_Allgather(&piece_bytes, 1, MPI_UINT64_T, pieces.data(), 1, MPI_UINT64_T, ranks.node()), "MPI_Allgather");
    const uint64_t bells_end = up(members * sizeof(Bell), kLine);
    bytes_ = up(bells_end + members * 2 * sizeof(uint64_t), kPage);
    std::vector<uint64_t> offsets;
    for (const uint64_t piece : pieces) {
        offsets.push_back(bytes_);
        bytes_ += ring_bytes(piece);
    }

    const auto all_opened = open_by_all();
    int code = all_opened.code;
    // Pages only now: a job that is killed before leaves a name behind that takes no room.
    if (code == 0 && ranks.node_rank() == 0) code = posix_fallocate(all_opened.descriptor, 0, static_cast<off_t>(bytes_));
    check_mpi(MPI_Bcast(&code, 1, MPI_INT, 0, ranks.node()), "MPI_Bcast");
    void* place = MAP_FAILED;
    if (code == 0) {
        const int at_once = bytes_ <= kMapAtOnceBytes ? MAP_POPULATE : 0;
        place = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | at_once, all_opened.descriptor, 0);
        if (place == MAP_FAILED) code = errno;
    }
    const int worst = largest_on_node(code);
    if (all_opened.descriptor >= 0) ::close(all_opened.descriptor);
    if (worst != 0) {
        if (place != MAP_FAILED) munmap(place, bytes_);
        fail(Status::NO_MEMORY, "cannot share ", bytes_,
             " bytes of memory between the ranks of a node (/dev/shm): ", std::strerror(worst),
             "; lower 'exchange_bytes' or raise the size of /dev/shm");
    }
    base_ = static_cast<std::byte*>(place);
    ring_offset_ = reinterpret_cast<uint64_t*>(base_ + bells_end);
    if (ranks.node_rank() == 0) {
        for (uint64_t r = 0; r < members; ++r) {
            new (base_ + r * sizeof(Bell)) Bell{};
            ring_offset_[2 * r] = offsets[r];
            ring_offset_[2 * r + 1] = pieces[r];
            if (pieces[r] > 0) new (base_ + offsets[r]) Ring::Header{};
        }
    }
    check_mpi(MPI_Barrier(ranks.node()), "MPI_Barrier");
}

// Collective over the node. The first rank makes the shared memory, empty; its name is gone when all have opened it.
NodeMemory::Opened NodeMemory::open_by_all() const {
    char name[64] = "";
    Opened opened;
    if (ranks_.node_rank() == 0) {
        static uint64_t serial = 0;
        do {  // a process that had this number may have left a name behind
            std::snprintf(name, sizeof name, "/tailrace-%d-%llu", static_cast<int>(getpid()),
                          static_cast<unsigned long long>(serial++));
            opened.descriptor = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        } while (opened.descriptor < 0 && errno == EEXIST);
        if (opened.descriptor < 0) {
            opened.code = errno;
            name[0] = '\0';
        }
    }
    check_mpi(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, ranks_.node()), "MPI_Bcast");
    if (ranks_.node_rank() != 0) {
        opened.descriptor = shm_open(name, O_RDWR, 0600);
        if (opened.descriptor < 0) opened.code = errno;
    }
    opened.code = largest_on_node(opened.code);
    if (ranks_.node_rank() == 0 && name[0] != '\0') shm_unlink(name);
    return opened;
}

int NodeMemory::largest_on_node(int value) const {
    int largest = 0;
    check_mpi(MPI_Allreduce(&value, &largest, 1, MPI_INT, MPI_MAX, ranks_.node()), "MPI_Allreduce");
    return largest;
}

NodeMemory::~NodeMemory() {
    if (base_ != nullptr) munmap(base_, bytes_);
}

NodeMemory::Bell& NodeMemory::bell(uint64_t node_rank) const { return *reinterpret_cast<Bell*>(base_ + node_rank * sizeof(Bell)); }

Ring NodeMemory::ring(uint64_t node_rank) const {
    std::byte* at = base_ + ring_offset_[2 * node_rank];
    return {reinterpret_cast<Ring::Header*>(at), at + up(sizeof(Ring::Header), kPage), ring_offset_[2 * node_rank + 1]};
}

uint32_t NodeMemory::look() const { return bell(ranks_.node_rank()).rung.load(); }

void NodeMemory::wait(uint32_t seen) const {
    Bell& mine = bell(ranks_.node_rank());
    for (int look = 0; look < 50; ++look) {
        if (mine.rung.load() != seen) return;
        sched_yield();
    }
    mine.sleeping.store(1);
    // The bound matters only for what rings no bell: messages from other nodes.
    const timespec bound{0, 200'000};
    if (mine.rung.load() == seen) syscall(SYS_futex, reinterpret_cast<uint32_t*>(&mine.rung), FUTEX_WAIT, seen, &bound, nullptr, 0);
    mine.sleeping.store(0);
}

void NodeMemory::ring_bell(uint64_t node_rank) const {
    Bell& other = bell(node_rank);
    other.rung.fetch_add(1);
    if (other.sleeping.load()) syscall(SYS_futex, reinterpret_cast<uint32_t*>(&other.rung), FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace tailrace
