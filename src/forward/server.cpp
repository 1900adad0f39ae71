#include "forward/server.hpp"

#include <map>
#include <memory>

#include "forward/packed_step.hpp"
#include "forward/transport.hpp"
#include "gather/agree.hpp"
#include "record/definitions_json.hpp"
#include "stream/continuation.hpp"
#include "stream/stream.hpp"

namespace tailrace {
namespace {

class Server {
public:
    Server(const Communicator& job, const Roles& roles, MPI_Comm writers)
        : transport_(job), writers_comm_(writers), writers_(writers) {
        const uint64_t me = writers_.rank();
        first_client_of_all_ = job.size();
        for (uint64_t r = 0; r < job.size(); ++r) {
            if (roles.writes[r]) continue;
            if (first_client_of_all_ == job.size()) first_client_of_all_ = r;
            if (roles.writer[r] == me) clients_.push_back(r);
        }
    }

    void serve() {
        for (;;) {
            const std::string bytes = writers_.rank() == 0 ? transport_.receive_request(first_client_of_all_) : "";
            const Json request = Json::from_msgpack(writers_.broadcast_text(bytes, 0));
            const std::string& kind = request.at("request").get_ref<const std::string&>();
            if (kind == "release") return close_all();
            const uint64_t id = request.at("stream");
            if (kind == "open")
                open(id, request);
            else if (kind == "step")
                write_step(id, request);
            else if (kind == "flush")
                flush(id);
            else
                close(id);
        }
    }

private:
    struct OpenStream {
        std::unique_ptr<Stream> stream;
        bool is_async = false;             // clients send further steps before they know of an error
        std::optional<Error> failed = {};  // the first error of an asynchronous stream: no later step is written
    };

    void reply(uint64_t id, const std::optional<Error>& error, const std::string& text = "") {
        const Reply reply = error ? Reply{id, error->status(), std::string("on the ranks that write: ") + error->what()}
                                  : Reply{id, Status::OK, text};
        for (const uint64_t client : clients_) transport_.send_reply(client, reply);
    }

    // Closes streams that were left open, so that the index shows the committed steps.
    void close_all() {
        for (auto& [id, open] : streams_) attempt_or_end_job(writers_, [&] { open.stream->close(); });
        streams_.clear();
    }

    // Collective, like the constructor of Stream: fails on all writers or on none.
    void open(uint64_t id, const Json& request) {
        std::string result;
        const auto error = attempt_or_end_job(writers_, [&] {
            auto stream = std::make_unique<Stream>(writers_comm_, request.at("directory").get<std::string>(),
                                                   request.at("name").get<std::string>(), request.at("settings"));
            const Json opened = {{"steps", earlier_steps_json(stream->earlier_steps())}, {"report", Json::parse(stream->report())}};
            result = opened.dump(-1, ' ', false, Json::error_handler_t::replace);
            streams_[id] = {std::move(stream), request.at("is_async").get<bool>()};
        });
        reply(id, error, result);
    }

    void write_step(uint64_t id, const Json& request) {
        OpenStream& of = streams_.at(id);
        std::optional<Error> error;
        // Definitions and data are received even if the step cannot be written: more steps follow.
        if (request.contains("definitions") && !of.failed)
            attempt(error, [&] { of.stream->adopt(definitions_of(request.at("definitions"))); });
        std::vector<ReceivedStep> received;
        for (const uint64_t client : clients_)
            attempt(error, [&] { received.push_back(transport_.receive_step(client, {id, request.at("step")})); });
        if (of.failed) return reply(id, of.failed);
        if (!error)
            attempt(error, [&] {
                of.stream->begin_step(request.at("time"));
                for (const ReceivedStep& step : received) put(*of.stream, step);
            });
        if (error) of.stream->refuse_next(*error);
        const auto failed = attempt_or_end_job(writers_, [&] { of.stream->end_step(); });
        if (of.is_async) of.failed = failed;
        reply(id, failed);
    }

    static void put(Stream& stream, const ReceivedStep& step) {
        for (const PackedBlock& block : blocks_of_packed_step(step.base())) {
            const std::string& name = stream.name_of(block.variable);
            const std::byte* data = step.base() + block.offset;
            if (block.replicated)
                stream.put_replicated(name, data);
            else
                stream.put_block(name, block.box, data, {});
        }
    }

    void flush(uint64_t id) {
        reply(id, attempt_or_end_job(writers_, [&] { streams_.at(id).stream->flush(); }));
    }

    void close(uint64_t id) {
        const auto error = attempt_or_end_job(writers_, [&] { streams_.at(id).stream->close(); });
        streams_.erase(id);
        reply(id, error);
    }

    Transport transport_;
    MPI_Comm writers_comm_;
    Communicator writers_;
    uint64_t first_client_of_all_ = 0;  // the first rank that computes, which sends the requests
    std::vector<uint64_t> clients_;     // the ranks that this rank writes for
    std::map<uint64_t, OpenStream> streams_;
};

}  // namespace

void serve(const Communicator& job, const Roles& roles, MPI_Comm writers) { Server(job, roles, writers).serve(); }

}  // namespace tailrace
