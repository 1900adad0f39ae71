#include "forward/step_buffer.hpp"

#include <sys/mman.h>

#include "base/error.hpp"
#include "gather/communicator.hpp"

namespace tailrace {

StepBuffer::StepBuffer(uint64_t bytes, bool shared) : bytes_(bytes) {
    static uint64_t serial = 0;
    number_ = ++serial;
    if (!shared) {
        own_.resize(bytes);
        base_ = own_.data();
        return;
    }
    try {
        file_ = File::create_unnamed("/dev/shm");
        base_ = static_cast<std::byte*>(file_.map(0, bytes));
    } catch (const Error& error) {
        fail(Status::NO_MEMORY, "no memory to share with the rank that writes: ", bytes, " bytes in /dev/shm: ", error.what(),
             "; raise the size of /dev/shm, or lower 'overlap'");
    }
}

StepBuffer::~StepBuffer() {
    if (is_shared() && base_ != nullptr) munmap(base_, bytes_);
}

void StepBuffer::wait_until_sent() {
    for (MPI_Request& send : sends_) check_mpi(wait_with_backoff(send), "MPI_Isend");
    sends_.clear();
}

}  // namespace tailrace
