// A job in which some ranks only write: which ranks these are, how the others reach them, and the buffers in which steps are sent.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "forward/roles.hpp"
#include "forward/transport.hpp"

namespace tailrace {

class Forwarding {
public:
    // Collective over `all`. On ranks that compute it returns their communicator, in the order of `all`. On ranks that write it
    // returns after release(), with MPI_COMM_NULL.
    static void set_aside(MPI_Comm all, uint64_t dedicated, MPI_Comm& compute);
    // The Forwarding of a communicator that set_aside() returned, or of a duplicate of it; null for any other communicator.
    static std::shared_ptr<Forwarding> of(MPI_Comm compute);
    // Collective over the ranks that compute. The ranks that write return from set_aside().
    void release();
    // Does what release() does, without its checks. Called when the program ends, on any thread.
    void end();
    // Throws BAD_ORDER after release(), and on another thread than the one that called set_aside(): steps of several threads would
    // have no defined order.
    void check_usable() const;
    bool released() const { return transport_ == nullptr; }

    uint64_t writers() const { return writer_ranks_.size(); }
    // Whether this rank is the first client of its writer.
    bool is_first_client() const { return is_first_client_; }
    // The number of the next stream, from 1; the same on all ranks that compute.
    uint64_t next_stream() { return ++streams_; }
    uint64_t open_streams = 0;

    // The first rank that computes sends the request to the first writer; the other ranks do nothing.
    void request(const Json& request, bool wait = false) {
        if (is_first_) transport_->send_request(writer_ranks_.front(), request, wait);
    }
    // Returns a buffer of at least `bytes` bytes that is not busy.
    std::shared_ptr<StepBuffer> take_buffer(uint64_t bytes);
    void send(const StepId& id, StepBuffer& buffer, uint64_t bytes) {
        transport_->send_step(my_writer_, id, buffer, bytes, std::exchange(freed_buffer_, 0));
    }
    // The next reply for a stream; replies for other streams are kept. Without `wait`: nullopt if none has arrived.
    std::optional<Reply> reply(uint64_t stream, bool wait);
    void drop_replies(uint64_t stream) { replies_.erase(stream); }

private:
    Forwarding(std::unique_ptr<Communicator> job, const Roles& roles);

    std::unique_ptr<Communicator> job_;
    std::unique_ptr<Transport> transport_;
    std::vector<uint64_t> writer_ranks_;
    uint64_t my_writer_ = 0;
    const std::thread::id thread_ = std::this_thread::get_id();
    bool is_first_ = false, is_first_client_ = false;
    uint64_t streams_ = 0;
    uint64_t freed_buffer_ = 0;  // number of a freed buffer, until the next step reports it to the writer; 0: none
    std::vector<std::shared_ptr<StepBuffer>> buffers_;
    std::map<uint64_t, std::deque<Reply>> replies_;
};

}  // namespace tailrace
