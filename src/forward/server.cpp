#include "forward/server.hpp"

#include <map>
#include <memory>

#include "forward/parcel.hpp"
#include "forward/post.hpp"
#include "gather/agree.hpp"
#include "stream/stream.hpp"

namespace tailrace {
namespace {

class Server {
public:
    Server(const Communicator& job, const Roles& roles, MPI_Comm writers) : post_(job), writers_comm_(writers), writers_(writers) {
        const uint64_t me = writers_.rank();
        first_of_all_ = job.size();
        for (uint64_t r = 0; r < job.size(); ++r) {
            if (roles.writes[r]) continue;
            if (first_of_all_ == job.size()) first_of_all_ = r;
            if (roles.writer[r] == me) clients_.push_back(r);
        }
    }

    void serve() {
        for (;;) {
            const std::string bytes = writers_.rank() == 0 ? post_.receive_order(first_of_all_) : "";
            const Json order = Json::from_msgpack(writers_.broadcast_text(bytes, 0));
            const std::string& what = order.at("order").get_ref<const std::string&>();
            if (what == "release") return leave();
            const uint64_t id = order.at("stream");
            if (what == "open")
                open(id, order);
            else if (what == "step")
                step(id, order);
            else
                close(id);
        }
    }

private:
    struct Open {
        std::unique_ptr<Stream> stream;
        bool is_later = false;             // errors are told when the next steps are under way already
        std::optional<Error> failed = {};  // then: nothing more is written
    };

    void answer(uint64_t id, const std::optional<Error>& error, const std::string& text = "") {
        const Answer told = error ? Answer{id, error->status(), text_of(*error)} : Answer{id, Status::OK, text};
        for (const uint64_t client : clients_) post_.send_answer(client, told);
    }

    static std::string text_of(const Error& error) { return std::string(kOnWriters) + error.what(); }

    // Streams that were left open: what they have committed is shown.
    void leave() {
        for (auto& [id, open] : streams_) attempt_or_end_job(writers_, [&] { open.stream->close(); });
        streams_.clear();
    }

    // Collective, as the stream's constructor: all writers fail alike.
    void open(uint64_t id, const Json& order) {
        std::string report;
        const auto error = attempt_or_end_job(writers_, [&] {
            auto stream = std::make_unique<Stream>(writers_comm_, order.at("directory").get<std::string>(),
                                                   order.at("name").get<std::string>(), order.at("settings"));
            const Json told = {{"steps", stream->step_count()}, {"report", Json::parse(stream->report())}};
            report = told.dump(-1, ' ', false, Json::error_handler_t::replace);
            streams_[id] = {std::move(stream), order.at("is_later").get<bool>()};
        });
        answer(id, error, report);
    }

    void step(uint64_t id, const Json& order) {
        Open& of = streams_.at(id);
        std::optional<Error> error;
        // Whatever happens all definitions and parcels are taken: more follow.
        if (order.contains("definitions") && !of.failed)
            attempt(error, [&] { of.stream->adopt(Definitions::from_json(order.at("definitions"))); });
        std::vector<Delivery> parcels;
        for (const uint64_t client : clients_)
            attempt(error, [&] { parcels.push_back(post_.receive_parcel(client, {id, order.at("step")})); });
        if (of.failed) return answer(id, of.failed);
        if (!error)
            attempt(error, [&] {
                of.stream->begin_step(order.at("time"));
                for (const Delivery& parcel : parcels) put(*of.stream, parcel);
            });
        if (error) of.stream->refuse_next(*error);
        const auto told = attempt_or_end_job(writers_, [&] { of.stream->end_step(); });
        if (of.is_later) of.failed = told;
        answer(id, told);
    }

    static void put(Stream& stream, const Delivery& parcel) {
        for (const Piece& piece : read_pieces(parcel.base())) {
            const std::string& name = stream.name_of(piece.variable);
            const std::byte* data = parcel.base() + piece.offset;
            if (piece.replicated)
                stream.put_replicated(name, data);
            else
                stream.put_block(name, piece.box, data, {});
        }
    }

    void close(uint64_t id) {
        const auto error = attempt_or_end_job(writers_, [&] { streams_.at(id).stream->close(); });
        streams_.erase(id);
        answer(id, error);
    }

    Post post_;
    MPI_Comm writers_comm_;
    Communicator writers_;
    uint64_t first_of_all_ = 0;      // of the ranks that compute
    std::vector<uint64_t> clients_;  // the ranks that this one writes for
    std::map<uint64_t, Open> streams_;
};

}  // namespace

void serve(const Communicator& job, const Roles& roles, MPI_Comm writers) { Server(job, roles, writers).serve(); }

}  // namespace tailrace
