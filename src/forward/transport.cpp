#include "forward/transport.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "gather/memory_failure.hpp"

namespace tailrace {
namespace {

constexpr int kRequestTag = 11, kHeaderTag = 12, kDataTag = 13, kReplyTag = 14;
constexpr uint64_t kMessageBytes = 16u << 20;  // the most bytes of one message with data of a step
constexpr size_t kPathBytes = 64;

// The message before a step's data. It is so small that MPI delivers it while the sender computes.
struct StepHeader {
    StepId id;
    uint64_t buffer = 0, freed = 0;  // numbers of buffers
    uint64_t bytes = 0, buffer_bytes = 0;
    char path[kPathBytes] = "";  // of the shared buffer; empty: messages follow
};

void wait_until(auto&& done) {
    for (Backoff backoff; !done();) backoff.pause();
}

}  // namespace

Transport::~Transport() {
    for (PendingMessage& message : pending_) wait_with_backoff(message.request);
    for (const auto& [buffer, mapping] : mappings_) munmap(mapping.base, mapping.bytes);
}

std::string Transport::receive(uint64_t from, int tag) const {
    MPI_Status status;
    int arrived = 0, count = 0;
    wait_until([&] {
        check_mpi(MPI_Iprobe(static_cast<int>(from), tag, job_.all(), &arrived, &status), "MPI_Iprobe");
        return arrived != 0;
    });
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
    std::string bytes(static_cast<size_t>(count), '\0');
    finish_mpi(
        [&](MPI_Request* request) {
            return MPI_Irecv(bytes.data(), count, MPI_BYTE, static_cast<int>(from), tag, job_.all(), request);
        },
        "MPI_Irecv");
    return bytes;
}

void Transport::send(uint64_t to, int tag, std::string bytes, bool wait) {
    for (auto message = pending_.begin(); message != pending_.end();) {
        int sent = 0;
        check_mpi(MPI_Test(&message->request, &sent, MPI_STATUS_IGNORE), "MPI_Test");
        message = sent ? pending_.erase(message) : std::next(message);
    }
    PendingMessage& message = pending_.emplace_back(std::move(bytes));
    check_mpi(MPI_Isend(message.bytes.data(), static_cast<int>(message.bytes.size()), MPI_BYTE, static_cast<int>(to), tag,
                        job_.all(), &message.request),
              "MPI_Isend");
    if (wait) check_mpi(wait_with_backoff(message.request), "MPI_Isend");
}

void Transport::send_request(uint64_t to, const Json& request, bool wait) {
    // Send as msgpack, because JSON text cannot have bytes that are not UTF-8.
    const std::vector<uint8_t> bytes = Json::to_msgpack(request);
    send(to, kRequestTag, std::string(bytes.begin(), bytes.end()), wait);
}

std::string Transport::receive_request(uint64_t from) const { return receive(from, kRequestTag); }

void Transport::send_step(uint64_t to, const StepId& id, StepBuffer& buffer, uint64_t bytes, uint64_t freed) {
    StepHeader header{id, buffer.number(), freed, bytes, buffer.bytes(), ""};
    if (buffer.is_shared()) {
        const std::string path = buffer.path_for_writer();
        std::memcpy(header.path, path.c_str(), std::min(path.size() + 1, kPathBytes));
    }
    send(to, kHeaderTag, {reinterpret_cast<const char*>(&header), sizeof header}, false);
    buffer.set_busy(true);
    if (buffer.is_shared()) return;
    for (uint64_t done = 0; done < bytes; done += kMessageBytes)
        check_mpi(MPI_Isend(buffer.base() + done, static_cast<int>(std::min(kMessageBytes, bytes - done)), MPI_BYTE,
                            static_cast<int>(to), kDataTag, job_.all(), &buffer.add_send()),
                  "MPI_Isend");
}

// Receives the data of a step. If memory is missing, each message overwrites the one before, and the error is thrown at the end.
void Transport::receive_data(uint64_t from, uint64_t bytes, ReceivedStep& step) const {
    std::exception_ptr error;
    std::vector<std::byte>& own = step.own_;
    try {
        own.resize(bytes);
    } catch (const std::bad_alloc&) {
        error = std::current_exception();
        run_or_end_job(true, [&] { own.resize(std::min(kMessageBytes, bytes)); });
    }
    for (uint64_t done = 0; done < bytes; done += kMessageBytes) {
        const uint64_t now = std::min(kMessageBytes, bytes - done);
        finish_long_mpi(
            [&](MPI_Request* request) {
                return MPI_Irecv(own.data() + (error ? 0 : done), static_cast<int>(now), MPI_BYTE, static_cast<int>(from), kDataTag,
                                 job_.all(), request);
            },
            "MPI_Irecv");
    }
    if (error) std::rethrow_exception(error);
    step.base_ = own.data();
}

ReceivedStep Transport::receive_step(uint64_t from, const StepId& id) {
    StepHeader header;
    finish_mpi(
        [&](MPI_Request* request) {
            return MPI_Irecv(&header, sizeof header, MPI_BYTE, static_cast<int>(from), kHeaderTag, job_.all(), request);
        },
        "MPI_Irecv");
    if (const auto freed = mappings_.find({from, header.freed}); freed != mappings_.end()) {
        munmap(freed->second.base, freed->second.bytes);
        mappings_.erase(freed);
    }
    const bool is_shared = header.path[0] != '\0';
    ReceivedStep step;
    if (!is_shared) receive_data(from, header.bytes, step);
    if (header.id != id)
        fail(Status::INTERNAL, "rank ", from, " sent step ", header.id.step, " of stream ", header.id.stream, " in place of step ",
             id.step, " of stream ", id.stream);
    if (!is_shared) return step;
    Mapping& mapping = mappings_[{from, header.buffer}];
    if (mapping.base == nullptr) {
        File file = File::open_of_process(header.path);
        mapping = {static_cast<std::byte*>(file.map(0, header.buffer_bytes)), header.buffer_bytes};
    }
    step.base_ = mapping.base;
    return step;
}

void Transport::send_reply(uint64_t to, const Reply& reply) {
    const uint64_t head[] = {reply.stream, static_cast<uint64_t>(reply.status)};
    send(to, kReplyTag, std::string(reinterpret_cast<const char*>(head), sizeof head) + reply.text, false);
}

Reply Transport::receive_reply(uint64_t from) const {
    const std::string bytes = receive(from, kReplyTag);
    uint64_t head[2];
    std::memcpy(head, bytes.data(), sizeof head);
    return {head[0], static_cast<Status>(head[1]), bytes.substr(sizeof head)};
}

bool Transport::has_reply(uint64_t from) const {
    int arrived = 0;
    check_mpi(MPI_Iprobe(static_cast<int>(from), kReplyTag, job_.all(), &arrived, MPI_STATUS_IGNORE), "MPI_Iprobe");
    return arrived != 0;
}

}  // namespace tailrace
