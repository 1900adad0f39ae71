// Memory of a rank that computes for one packed step at a time. If its writer is on the same node, the writer maps this memory. If
// not, the step is sent as messages.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file.hpp"

namespace tailrace {

class StepBuffer {
public:
    // `shared`: whether the writer maps the buffer. Throws NO_MEMORY; the message says where memory is missing.
    StepBuffer(uint64_t bytes, bool shared);
    ~StepBuffer();
    StepBuffer(const StepBuffer&) = delete;
    StepBuffer& operator=(const StepBuffer&) = delete;

    std::byte* base() const { return base_; }
    uint64_t bytes() const { return bytes_; }
    uint64_t number() const { return number_; }  // unique in this process
    bool is_shared() const { return file_.is_open(); }
    std::string path_for_writer() const { return file_.path_for_others(); }  // if it is shared

    // Whether the buffer contains a step to which the writer has not replied yet.
    bool is_busy() const { return is_busy_; }
    void set_busy(bool is_busy) { is_busy_ = is_busy; }

    // Adds a request for a message that is sent from this buffer.
    MPI_Request& add_send() { return sends_.emplace_back(); }
    void wait_until_sent();

private:
    std::vector<MPI_Request> sends_;
    File file_;
    std::vector<std::byte> own_;
    std::byte* base_ = nullptr;
    uint64_t bytes_ = 0;
    uint64_t number_ = 0;
    bool is_busy_ = false;
};

}  // namespace tailrace
