#include "forward/forwarded_stream.hpp"

#include <algorithm>

#include "gather/agree.hpp"
#include "gather/communicator_pool.hpp"
#include "gather/disagreement.hpp"
#include "record/definitions_json.hpp"
#include "stream/continuation.hpp"
#include "stream/environment.hpp"

namespace tailrace {

ForwardedStream::ForwardedStream(std::shared_ptr<Forwarding> forwarding, MPI_Comm comm, const std::string& directory,
                                 const std::string& name, const Json& settings)
    : Output(directory, name), forwarding_(std::move(forwarding)), ranks_(take_communicator(comm)),
      id_(forwarding_->next_stream()) {
    run_or_end_job(has_others(), [&] { open(settings); });
}

void ForwardedStream::open(const Json& settings) {
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
    blocks_ = std::make_unique<AgreedBlocks>(*ranks_, config_.exchange_bytes);
    // The writers write each step before they receive the next one.
    Json of_writers = settings;
    of_writers.push_back({{"origin", "ranks that are set aside"}, {"values", Json::array({Json::array({"overlap", "0"})})}});
    forwarding_->request({{"request", "open"},
                          {"stream", id_},
                          {"directory", directory_},
                          {"name", name_},
                          {"settings", of_writers},
                          {"is_async", is_async()}},
                         true);
    std::optional<Reply> reply;
    run_or_end_job(has_others(), [&] { reply = forwarding_->reply(id_, true); });
    error = attempt([&] {
        if (reply->status != Status::OK) throw reply->error();
        opened_ = Json::parse(reply->text);
        earlier_ = earlier_steps_of(opened_.at("steps"));
        continue_after(earlier_);
    });
    try {
        agree(*ranks_, OpenVote{}, error);
    } catch (const Error&) {
        // A rank that computes has failed. Close the stream on the writers, because no later run could open it.
        if (reply->status == Status::OK) run_or_end_job(has_others(), [&] { (void)ask_writers("close"); });
        throw;
    }
    ++forwarding_->open_streams;
}

Reply ForwardedStream::ask_writers(const char* request) {
    forwarding_->request({{"request", request}, {"stream", id_}}, true);
    return *forwarding_->reply(id_, true);
}

// Waits until at most `leave` steps are in flight, and takes the replies that have arrived for others.
void ForwardedStream::take_replies(uint64_t leave) {
    Stopwatch watch;
    run_or_end_job(has_others(), [&] {  // ends the job on errors, because ranks would wait for a lost reply
        while (!in_flight_.empty()) {
            const auto reply = forwarding_->reply(id_, in_flight_.size() > leave);
            if (!reply) break;
            if (reply->status != Status::OK && !write_error_) write_error_ = reply->error();
            in_flight_.front()->wait_until_sent();
            in_flight_.front()->set_busy(false);
            in_flight_.pop_front();
        }
    });
    waited_s_ += watch.lap();
}

// Allocates whatever sending the step needs, before the ranks agree that the step is accepted.
ForwardedStream::PreparedStep ForwardedStream::prepare() {
    PreparedStep step;
    step.packed = plan_packed_step(definitions_, data_, forwarding_->is_first_client(), !progress_.statics_stored());
    step.buffer = buffer_for(step.packed);
    step.request = {{"request", "step"}, {"stream", id_}, {"step", sent_}, {"time", time_}};
    if (known_definitions_ != fingerprint()) step.request["definitions"] = definitions_json(definitions_);
    return step;
}

std::shared_ptr<StepBuffer> ForwardedStream::buffer_for(const PackedStep& step) {
    if (step.bytes > config_.overlap_bytes)
        fail(Status::NO_MEMORY, "stream '", name_, "': a step has ", step.bytes, " bytes on this rank, overlap_memory is ",
             config_.overlap_bytes, "; raise it");
    const uint64_t most = std::max<uint64_t>(config_.overlap_bytes / step.bytes, 1) - 1;
    if (in_flight_.size() > most) take_replies(most);
    return forwarding_->take_buffer(step.bytes);
}

// The error of the writers has been reported on all ranks, also on those whose own writer has not replied yet.
void ForwardedStream::note_reported(const Error& error) {
    write_error_reported_ = write_error_reported_ || error.origin() == Origin::writer_ranks;
}

void ForwardedStream::end_step() {
    PreparedStep step;
    auto intent = StepIntent::write;
    try {
        const auto error = attempt([&] {
            forwarding_->check_usable();
            data_.resize(definitions_.variables().size());
            if (resumes_with_this_step()) {
                earlier_.keep_before(config_.resume_before.value_or(time_));
                continue_after(earlier_);
            }
            check_step();
            take_replies(is_async() ? config_.layout.overlap_steps - 1 : 0);
            if (write_error_) throw *write_error_;
            if (!blocks_->take(definitions_, data_, !progress_.statics_stored()))
                intent = StepIntent::redistribute;
            else if (definitions_.ragged().empty())
                step = prepare();
        });
        const EndStepVote vote{.step_fingerprint = fingerprint_of_step(), .intent = intent};
        intent = with_facts(*ranks_, [&] { return facts_of_step(); }, [&] { return agree(*ranks_, vote, error).intent; });
        // Place blocks here and not on the writers, because places depend on the model's order of ranks.
        if (blocks_->place(definitions_, data_, !progress_.statics_stored(), intent == StepIntent::redistribute))
            agree(*ranks_, PlanVote{}, attempt([&] { step = prepare(); }));
    } catch (const Error& error) {
        note_reported(error);
        forget_step();
        progress_.fail_step();
        throw;
    }
    send(std::move(step));
    data_.clear_blocks();
    const auto failed = attempt([&] {
        if (!is_async()) take_replies(0);
    });
    if (failed || (!is_async() && write_error_)) {
        known_definitions_.reset();  // the writers may have dropped them with the step
        progress_.fail_step();
        throw failed ? *failed : *std::exchange(write_error_, std::nullopt);
    }
    if (!progress_.definitions_frozen()) progress_.freeze_definitions();
    progress_.take_step();
    times_.add(time_);
    ++steps_;
}

void ForwardedStream::send(PreparedStep step) {
    Stopwatch watch;
    pack_step(step.packed, data_, step.buffer->base());
    copied_s_ += watch.lap();
    forwarding_->request(step.request, step.request.contains("definitions"));
    known_definitions_ = fingerprint();
    forwarding_->send({id_, sent_++}, *step.buffer, step.packed.bytes);
    in_flight_.push_back(std::move(step.buffer));
    most_in_flight_ = std::max<uint64_t>(most_in_flight_, in_flight_.size());
}

void ForwardedStream::flush() {
    const auto error = attempt([&] {
        check_between_steps("tailrace_flush");
        forwarding_->check_usable();
        take_replies(0);
        if (write_error_) throw *write_error_;
    });
    try {
        agree(*ranks_, FlushVote{}, error);
        // Ask the writers to show all committed steps to readers.
        std::optional<Error> of_writers;
        run_or_end_job(has_others(), [&] {
            if (const Reply reply = ask_writers("flush"); reply.status != Status::OK) of_writers = reply.error();
        });
        agree(*ranks_, FlushVote{}, of_writers);
    } catch (const Error& failed) {
        note_reported(failed);
        throw;
    }
}

// Nothing is done here: the ranks that write close the stream when they are released.
std::string ForwardedStream::leave_open() { return ranks_->rank() == 0 ? "the ranks that write close it" : ""; }

void ForwardedStream::close() {
    const CloseVote vote{.drops_step = progress_.in_step()};
    const auto static_error = attempt([&] {
        if (writes_static_only())
            fail(Status::UNSUPPORTED, "stream '", name_,
                 "' is closed without a step: static arrays alone are not written by ranks ",
                 "that are set aside; write a step, or open the stream with other writers");
    });
    progress_.close();
    forget_step();
    forwarding_->check_usable();
    auto error = attempt([&] {
        take_replies(0);
        if (write_error_ && !write_error_reported_) throw *write_error_;
        if (static_error) throw *static_error;
    });
    const bool drops_step = agree(*ranks_, vote, std::nullopt).drops_step;
    const Reply reply = ask_writers("close");
    if (reply.status != Status::OK && !error) error = reply.error();
    --forwarding_->open_streams;
    forwarding_->drop_replies(id_);
    const auto failed = attempt_or_end_job(*ranks_, [&] { agree(*ranks_, CloseVote{}, error); });
    blocks_.reset();
    give_back(ranks_);
    if (failed) throw *failed;
    if (drops_step) fail_dropped_step();
}

std::string ForwardedStream::report() const {
    Json json = opened_.at("report");
    json["effective"] = effective_json(config_);
    json["ranks"] = ranks_->size();
    json["steps"] = progress_.next_step();
    json["forwarded"] = {{"writers", forwarding_->writers()}, {"steps", steps_},       {"in_flight", in_flight_.size()},
                         {"most_in_flight", most_in_flight_}, {"copied_s", copied_s_}, {"waited_s", waited_s_}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tailrace
