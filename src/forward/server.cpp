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
            Json order;
            if (writers_.rank() == 0) order = post_.receive_order(first_of_all_);
            order = Json::parse(writers_.broadcast_text(order.dump(), 0));
            const std::string& what = order.at("order").get_ref<const std::string&>();
            if (what == "release") return;
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

    // Collective, as the stream's constructor: all writers fail alike.
    void open(uint64_t id, const Json& order) {
        std::string report;
        const auto error = attempt([&] {
            auto stream = std::make_unique<Stream>(writers_comm_, order.at("directory").get<std::string>(),
                                                   order.at("name").get<std::string>(), order.at("settings"));
            const Json told = {{"steps", stream->step_count()}, {"report", Json::parse(stream->report())}};
            report = told.dump(-1, ' ', false, Json::error_handler_t::replace);
            streams_[id] = {std::move(stream), order.at("is_later").get<bool>()};
        });
        answer(id, error, report);
    }

    void step(uint64_t id, const Json& order) {
        // Whatever happens the parcels are taken: more follow.
        std::vector<Delivery> parcels;
        auto error = attempt([&] {
            for (const uint64_t client : clients_) parcels.push_back(post_.receive_parcel(client));
        });
        Open& open = streams_.at(id);
        if (open.failed) return answer(id, open.failed);
        Stream& stream = *open.stream;
        if (!error)
            error = attempt([&] {
                if (order.contains("definitions")) stream.adopt(Definitions::from_json(order.at("definitions")));
                stream.begin_step(order.at("time"));
                for (const Delivery& parcel : parcels) put(stream, order.at("variables"), parcel);
            });
        if (error) stream.refuse_next(*error);
        error = attempt([&] { stream.end_step(); });
        if (open.is_later) open.failed = error;
        answer(id, error);
    }

    static void put(Stream& stream, const Json& variables, const Delivery& parcel) {
        for (const Piece& piece : read_pieces(parcel.base())) {
            const std::string name = variables.at(piece.variable);
            const std::byte* data = parcel.base() + piece.offset;
            if (piece.replicated)
                stream.put_replicated(name, data);
            else
                stream.put_block(name, piece.box, data, {});
        }
    }

    void close(uint64_t id) {
        Open& open = streams_.at(id);
        const auto error = attempt([&] { open.stream->close(); });
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
