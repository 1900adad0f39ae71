// Messages between the ranks that compute and the ranks that write for them.
//
//   requests   from the first rank that computes to the first writer, which broadcasts them. So all writers make the same
//              collective calls in the same order.
//   steps      from each rank that computes to its writer: a header, then the data as messages if the two share no memory
//   replies    from each writer to its clients
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/journal.hpp"
#include "forward/step_buffer.hpp"
#include "gather/communicator.hpp"

namespace tailrace {

// The result of a request.
struct Reply {
    uint64_t stream = 0;
    Status status = Status::OK;
    std::string text;  // the error's text, or the result if the request has one
    Error error() const { return Error(status, text, Origin::writer_ranks); }
};

struct StepId {
    uint64_t stream = 0, step = 0;
    bool operator==(const StepId&) const = default;
};

// A packed step at its writer.
class ReceivedStep {
public:
    const std::byte* base() const { return base_; }

private:
    friend class Transport;
    const std::byte* base_ = nullptr;
    std::vector<std::byte> own_;
};

class Transport {
public:
    // `job`: all ranks of the job, after Communicator::arrange().
    explicit Transport(const Communicator& job) : job_(job) {}
    ~Transport();
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;

    // Sends a request. Returns at once; with `wait`, when MPI has completed the send.
    void send_request(uint64_t to, const Json& request, bool wait);
    std::string receive_request(uint64_t from) const;  // returns the request as msgpack

    bool shares_memory_with(uint64_t rank) const { return job_.on_my_node(rank); }
    // `freed`: the number of a buffer that no longer exists, so that the writer unmaps it; or 0.
    void send_step(uint64_t to, const StepId& id, StepBuffer& buffer, uint64_t bytes, uint64_t freed);
    // Receives a step. Its data is valid until the next step in the same buffer. Even if this throws, all messages of the step have
    // been received.
    ReceivedStep receive_step(uint64_t from, const StepId& id);

    void send_reply(uint64_t to, const Reply& reply);
    Reply receive_reply(uint64_t from) const;  // waits
    bool has_reply(uint64_t from) const;

private:
    // A buffer of another rank in this rank's memory.
    struct Mapping {
        std::byte* base = nullptr;
        uint64_t bytes = 0;
    };
    // A message whose bytes are kept until they are sent.
    struct PendingMessage {
        std::string bytes;
        MPI_Request request = MPI_REQUEST_NULL;
    };
    void send(uint64_t to, int tag, std::string bytes, bool wait);
    std::string receive(uint64_t from, int tag) const;
    void receive_data(uint64_t from, uint64_t bytes, ReceivedStep& step) const;
    const Communicator& job_;
    std::list<PendingMessage> pending_;
    std::map<std::pair<uint64_t, uint64_t>, Mapping> mappings_;  // by rank and number of the buffer
};

}  // namespace tailrace
