// RATIONALE: POSIX shared memory instead of MPI_Win_allocate_shared. The backing file of the latter may lie on a disk and has no
// reserved pages. If that file system is full, a write to the mapping is a SIGBUS in the user's program.
#include "gather/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.hpp"
#include "gather/communicator.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kReserveBytes = 4u << 20;
constexpr uint64_t kPopulateBytes = 64u << 20;  // if there are more, pages are mapped when touched: a rank uses few rings

struct Opened {
    int descriptor = -1;
    int code = 0;  // an errno; the same on all ranks of the node
};

int largest_on(MPI_Comm node, int value) {
    int largest = 0;
    check_mpi(MPI_Allreduce(&value, &largest, 1, MPI_INT, MPI_MAX, node), "MPI_Allreduce");
    return largest;
}

// Reserves all pages; returns an errno. Each call reserves 4 MiB: a signal, such as a profiler's, interrupts a call, and its work
// is lost.
int reserve(int descriptor, uint64_t bytes) {
    for (uint64_t begin = 0; begin < bytes; begin += kReserveBytes) {
        const uint64_t length = std::min(bytes - begin, kReserveBytes);
        int code;
        do code = posix_fallocate(descriptor, static_cast<off_t>(begin), static_cast<off_t>(length));
        while (code == EINTR);
        if (code != 0) return code;
    }
    return 0;
}

// Collective. The first rank creates the memory object, empty, and removes its name when all ranks have opened it.
Opened open_by_all(MPI_Comm node) {
    int node_rank = 0;
    check_mpi(MPI_Comm_rank(node, &node_rank), "MPI_Comm_rank");
    char name[64] = "";
    Opened opened;
    if (node_rank == 0) {
        static std::atomic<uint64_t> serial = 0;  // several threads may open streams
        do {                                      // an earlier process with this id may have left a name behind
            std::snprintf(name, sizeof name, "/tailrace-%d-%llu", static_cast<int>(getpid()),
                          static_cast<unsigned long long>(serial++));
            opened.descriptor = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        } while (opened.descriptor < 0 && errno == EEXIST);
        if (opened.descriptor < 0) {
            opened.code = errno;
            name[0] = '\0';
        }
    }
    check_mpi(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, node), "MPI_Bcast");
    if (node_rank != 0 && name[0] != '\0') {
        opened.descriptor = shm_open(name, O_RDWR, 0600);
        if (opened.descriptor < 0) opened.code = errno;
    }
    opened.code = largest_on(node, opened.code);
    if (node_rank == 0 && name[0] != '\0') shm_unlink(name);
    return opened;
}

}  // namespace

SharedMemory::SharedMemory(MPI_Comm node, uint64_t bytes) : bytes_(bytes) {
    const Opened opened = open_by_all(node);
    int node_rank = 0, code = opened.code;
    check_mpi(MPI_Comm_rank(node, &node_rank), "MPI_Comm_rank");
    // Reserves pages after the name is removed: a job that is killed before leaves only an empty object.
    if (code == 0 && node_rank == 0) code = reserve(opened.descriptor, bytes_);
    check_mpi(MPI_Bcast(&code, 1, MPI_INT, 0, node), "MPI_Bcast");
    void* place = MAP_FAILED;
    if (code == 0) {
        const int populate = bytes_ <= kPopulateBytes ? MAP_POPULATE : 0;
        place = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | populate, opened.descriptor, 0);
        if (place == MAP_FAILED) code = errno;
    }
    const int worst = largest_on(node, code);
    if (opened.descriptor >= 0) ::close(opened.descriptor);
    if (worst != 0) {
        if (place != MAP_FAILED) munmap(place, bytes_);
        fail(Status::NO_MEMORY, "cannot share ", bytes_,
             " bytes of memory between the ranks of a node (/dev/shm): ", std::strerror(worst),
             "; lower 'exchange_bytes' or raise the size of /dev/shm");
    }
    base_ = static_cast<std::byte*>(place);
}

SharedMemory::~SharedMemory() {
    if (base_ != nullptr) munmap(base_, bytes_);
}

}  // namespace tailrace
