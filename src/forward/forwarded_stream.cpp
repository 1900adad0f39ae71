#include "forward/forwarded_stream.hpp"

#include <algorithm>

#include "gather/agree.hpp"
#include "gather/communicator_pool.hpp"
#include "stream/environment.hpp"

namespace tailrace {

namespace {

Error error_of(const Answer& answer) { return Error(answer.status, answer.text, Origin::writer_ranks); }

}  // namespace

ForwardedStream::ForwardedStream(std::shared_ptr<Forwarding> forwarding, MPI_Comm comm, const std::string& directory,
                                 const std::string& name, const Json& settings)
    : Output(directory, name), forwarding_(std::move(forwarding)), ranks_(take_communicator(comm)),
      id_(forwarding_->next_stream()) {
    run_or_end_job(has_others(), [&] { start(settings); });
}

void ForwardedStream::start(const Json& settings) {
    auto error = attempt([&] {
        config_ = resolve(settings_of(settings));
        check_config(config_);
        if (config_.layout.writers.number != forwarding_->writers())
            fail(Status::BAD_LAYOUT, "stream '", name_, "': writers = dedicated:", config_.layout.writers.number, ", but ",
                 forwarding_->writers(), " ranks are set aside; say writers = dedicated:", forwarding_->writers());
        if (config_.overlap_policy != OverlapPolicy::block)
            fail(Status::BAD_LAYOUT, "stream '", name_,
                 "': overlap_policy = drop and spill are not for writers = dedicated:N, whose memory is their own; say ",
                 "overlap_policy = block");
    });
    agree(*ranks_, OpenVote{}, error);
    definitions_ = Definitions(config_.time_name);
    // The writers write what arrives before they take what comes next.
    Json theirs = settings;
    theirs.push_back({{"origin", "ranks that are set aside"}, {"values", Json::array({Json::array({"overlap", "0"})})}});
    forwarding_->order({{"order", "open"},
                        {"stream", id_},
                        {"directory", directory_},
                        {"name", name_},
                        {"settings", theirs},
                        {"is_later", is_later()}},
                       true);
    error = attempt([&] {
        const Answer answer = *forwarding_->answer(id_, true);
        if (answer.status != Status::OK) throw error_of(answer);
        opened_ = Json::parse(answer.text);
        accepted_ = opened_.at("steps");
    });
    agree(*ranks_, OpenVote{}, error);
    ++forwarding_->open_streams;
}

// Waits until so many steps are under way, and looks what has become of the others.
void ForwardedStream::take_answers(uint64_t leave) {
    Stopwatch watch;
    run_or_end_job(has_others(), [&] {  // an answer that is lost would be waited for
        while (!in_flight_.empty()) {
            const auto answer = forwarding_->answer(id_, in_flight_.size() > leave);
            if (!answer) break;
            if (answer->status != Status::OK && !late_) late_ = error_of(*answer);
            in_flight_.front()->wait_sent();
            in_flight_.front()->busy = false;
            in_flight_.pop_front();
        }
    });
    waited_s_ += watch.lap();
}

// What the step is sent with; it may need memory, which is asked for before the ranks agree that the step is taken.
ForwardedStream::Sending ForwardedStream::prepare() {
    Sending sending;
    sending.parcel = lay_out_parcel(definitions_, data_, forwarding_->first_of_its_writer(), !static_written_);
    sending.crate = crate_for(sending.parcel);
    sending.order = {{"order", "step"}, {"stream", id_}, {"step", sent_}, {"time", time_}};
    if (told_definitions_ != fingerprint()) sending.order["definitions"] = definitions_.to_json();
    return sending;
}

std::shared_ptr<Crate> ForwardedStream::crate_for(const Parcel& parcel) {
    if (parcel.bytes > config_.overlap_bytes)
        fail(Status::NO_MEMORY, "stream '", name_, "': a step has ", parcel.bytes, " bytes on this rank, overlap_memory is ",
             config_.overlap_bytes, "; raise it");
    const uint64_t most = std::max<uint64_t>(config_.overlap_bytes / parcel.bytes, 1) - 1;
    if (in_flight_.size() > most) take_answers(most);
    return forwarding_->take_crate(parcel.bytes);
}

// All ranks are told the same, though one may not have heard of it from its own writer yet.
void ForwardedStream::note_told(const Error& error) { late_is_told_ = late_is_told_ || error.origin() == Origin::writer_ranks; }

void ForwardedStream::end_step() {
    Sending sending;
    const bool is_ragged = !definitions_.ragged().empty();
    try {
        const auto error = attempt([&] {
            forwarding_->check_usable();
            data_.resize(definitions_.variables().size());
            check_step();
            take_answers(is_later() ? config_.layout.overlap_steps - 1 : 0);
            if (late_) throw *late_;
            if (!is_ragged) sending = prepare();
        });
        agree(*ranks_, EndStepVote{.step_fingerprint = fingerprint_of_step()}, error);
        if (is_ragged) {
            // Here, where the ranks are in the order that the model knows.
            if (!ragged_) ragged_ = std::make_unique<RaggedLengths>(*ranks_);
            ragged_->settle(definitions_, data_);
            agree(*ranks_, PlanVote{}, attempt([&] { sending = prepare(); }));
        }
    } catch (const Error& told) {
        note_told(told);
        leave_step();
        refusal_.reset();
        throw;
    }
    Stopwatch watch;
    write_parcel(sending.parcel, data_, sending.crate->base());
    copied_s_ += watch.lap();
    forwarding_->order(sending.order, sending.order.contains("definitions"));
    told_definitions_ = fingerprint();
    forwarding_->send({id_, sent_++}, *sending.crate, sending.parcel.bytes);
    in_flight_.push_back(std::move(sending.crate));
    most_in_flight_ = std::max<uint64_t>(most_in_flight_, in_flight_.size());
    leave_step();
    if (!is_later()) {
        take_answers(0);
        if (late_) {
            told_definitions_.reset();  // the writers may have forgotten them with the step
            throw *std::exchange(late_, std::nullopt);
        }
    }
    settled_ = static_written_ = true;
    ++accepted_;
    ++steps_;
}

void ForwardedStream::flush() {
    const auto error = attempt([&] {
        check_between_steps("tailrace_flush");
        forwarding_->check_usable();
        take_answers(0);
        if (late_) throw *late_;
    });
    try {
        agree(*ranks_, FlushVote{}, error);
    } catch (const Error& told) {
        note_told(told);
        throw;
    }
}

void ForwardedStream::close() {
    leave_step();
    forwarding_->check_usable();
    auto error = attempt([&] {
        take_answers(0);
        if (late_ && !late_is_told_) throw *late_;
    });
    agree(*ranks_, CloseVote{}, std::nullopt);
    forwarding_->order({{"order", "close"}, {"stream", id_}}, true);
    const Answer answer = *forwarding_->answer(id_, true);
    if (answer.status != Status::OK && !error) error = error_of(answer);
    --forwarding_->open_streams;
    forwarding_->forget(id_);
    const auto told = attempt_or_end_job(*ranks_, [&] { agree(*ranks_, CloseVote{}, error); });
    give_back(ranks_);
    if (told) throw *told;
}

std::string ForwardedStream::report() const {
    Json json = opened_.at("report");
    json["effective"] = effective_json(config_);
    json["ranks"] = ranks_->size();
    json["steps"] = accepted_;
    json["forwarded"] = {{"writers", forwarding_->writers()}, {"steps", steps_},       {"in_flight", in_flight_.size()},
                         {"most_in_flight", most_in_flight_}, {"copied_s", copied_s_}, {"waited_s", waited_s_}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tailrace
