#include "stream/stream.hpp"

#include <tailrace/tailrace.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "gather/communicator_pool.hpp"
#include "layout/parts.hpp"
#include "stream/environment.hpp"

namespace tailrace {
namespace {

// What a rank asks for at the end of a step: nothing, since it has written it; else one more than its StepPlan::Change; or to leave
// the step out, since it has no room.
constexpr uint64_t kWroteStep = 0, kChanges = 1, kDropsStep = 255;

}  // namespace

Stream::Stream(MPI_Comm comm, const std::string& directory, const std::string& name, const std::string& options,
               const KeyValues& strongest)
    : Output(directory, name) {
    ranks_ = take_communicator(comm);
    run_or_end_job(has_others(), [&] {  // here already: freeing what is made is collective, too
        Json settings = agree_settings(*ranks_, directory_, name_, options);
        if (!strongest.empty()) settings.push_back({{"origin", "what the call needs"}, {"values", strongest}});
        start(comm, settings, false);
    });
}

Stream::Stream(MPI_Comm comm, const std::string& directory, const std::string& name, const Json& settings)
    : Output(directory, name) {
    ranks_ = take_communicator(comm);
    run_or_end_job(has_others(), [&] { start(comm, settings, true); });
}

void Stream::start(MPI_Comm comm, const Json& settings, bool set_aside) {
    const std::vector<Settings> sources = settings_of(settings);
    config_ = resolve(sources);
    check_config(config_);
    if (const Writers& writers = config_.layout.writers; writers.kind == Writers::Kind::dedicated && !set_aside)
        fail(Status::BAD_LAYOUT, "stream '", name_, "': writers = dedicated:", writers.number,
             " needs ranks that are set aside; call tailrace_set_aside when the program starts, and open the stream over the ",
             "communicator that it gives");
    requested_ = requested_json(sources);
    if (config_.ranks_per_node > 0) {
        give_back(ranks_);
        ranks_ = std::make_shared<Communicator>(comm);
        ranks_->arrange(config_.ranks_per_node);
    }
    definitions_ = Definitions(config_.time_name);
    start_queue();
    look_back();
    plan_ = std::make_unique<StepPlan>(*ranks_, config_, goes_on() ? seal_records_in(earlier_.slot_bytes) : 0);
}

void Stream::attributes_changed() { image_cache_.reset(); }

void Stream::look_back() {
    Json found = Json::object();
    const auto error = attempt([&] {
        if (ranks_->rank() != 0) return;
        begun_here_ = !path_exists(path(parts_directory(name_)));
        if (begun_here_ && config_.mode != "replace") check_index_path(path(dataset_path(name_)), name_);
        make_directories(path(parts_directory(name_)));
        if (config_.mode != "replace") {
            history_ = read_history(path(journal_path(name_)));
            for (const std::string& entry : pending_paths(directory_, name_)) remove_tree(entry);
        }
        found["storage"] = storage_json(choose_storage(directory_, config_, requested_, history_), config_);
        found["next_step"] = history_.next_step();
        const bool grows = config_.layout.part_is_dataset() && history_.next_step() > 0;
        if (grows && history_.groups.back().layout.part_is_dataset()) {
            found["blocks"] = blocks_line(history_.growth);
            found["has_static"] = history_.groups.front().has_static;
        }
    });
    found = Json::parse(agree_on_text(*ranks_, {.call = Call::open}, error, [&] { return found.dump(); }));
    accepted_ = found.at("next_step");
    journal_ = std::make_shared<Journal>(path(journal_path(name_)), !history_.runs.empty());
    storage_ = storage_of(found.at("storage"));
    config_.layout.storage = storage_.storage;
    index_due_ = !history_.empty();  // a run that was killed may have left an older one
    plan_number_ = history_.plans.empty() ? 0 : history_.plans.rbegin()->first;
    if (!found.contains("blocks")) return;
    earlier_static_ = found.at("has_static");
    History told;
    told.apply(found.at("blocks"));
    earlier_ = told.growth;
    if (goes_on()) config_.layout.writers.at_most = earlier_.writers;
}

// Whether a rank writes its step before it knows of the others: where it needs none, and each step has files of its own in a
// directory that was made before. When it turns out that others have something to say the step is written again, or dropped. Not
// with retention: rank 0 may still be removing what must make room.
bool Stream::writes_first() const {
    const Layout& layout = config_.layout;
    return layout.ranks_are_apart() && layout.steps == 1 && !queue_->is_later() && config_.keep_steps == 0 &&
           definitions_.ragged().empty();
}

bool Stream::is_described() {
    return content_ && content_fingerprint_ == fingerprint() && content_plan_ == plan_->version() &&
           content_static_ == group_->with_static();
}

void Stream::end_step() {
    Stopwatch watch;
    const double began_s = seconds_now();
    // Not after a failed step, whose pending files rank 0 may still be removing.
    const bool prepare_early = settled_ && needs_group() && !dropped_;
    const bool first = writes_first();
    uint64_t asks = kChanges;
    auto error = attempt([&] {
        data_.resize(definitions_.variables().size());
        check_step();
        if (const auto failed = error_of_queue()) throw *failed;
        asks = drops_step() ? kDropsStep : kChanges + static_cast<uint64_t>(plan_->change(definitions_, data_, with_static_next()));
        if (prepare_early) {
            finish_group();
            make_group(accepted_);
            if (!first) group_->prepare(false);  // its directory is there, or is made where it is needed
        }
    });
    std::optional<StepInFlight> step;  // this rank has written it
    try {
        times_.agree_s += watch.lap();
        if (first && prepare_early && !error && asks == kChanges && is_described() && !ranks_->peers_closed()) {
            step = written_step(began_s, error);
            asks = kWroteStep;
            times_.write_s += watch.lap();
        }
        Ballot ready{.call = Call::end_step,
                     .same = fingerprint_of_step(),
                     .any = asks,
                     .behind = steps_behind(),
                     .told = steps_committed(),
                     .same_means = "the definitions or the time of the step"};
        if (!settled_ && definitions_.ragged().empty()) {  // all plan: they agree on this with it
            write_as_agreed(StepPlan::Change::blocks, ready, error, began_s, watch);
            return end_committed(watch);
        }
        if (step) count_in(*step, ready);
        const auto commits = [&](const Ballot& all) {
            if (all.any == kWroteStep) record(*step, all);
        };
        const Ballot ballot =
            first ? agree(*ranks_, ready, error, commits, [this] { make_next_directory(1); }) : agree(*ranks_, ready, error);
        if (ballot.any == kWroteStep) {
            has_committed(*step);
            times_.commit_s += watch.lap();
        } else {
            times_.agree_s += watch.lap();
            if (queue_->is_later()) commit_written(ballot);
            if (ballot.any == kDropsStep) {
                ++dropped_steps_;
                dropped_ = false;
                return leave_step();
            }
            if (step) {
                // Its part is written anew; a striped one is only made where none is.
                attempt([&] { remove_file(group_->present_path()); });
                make_group(accepted_);
                ++times_.written_again;
            }
            write_as_agreed(static_cast<StepPlan::Change>(ballot.any - kChanges), {.call = Call::plan}, std::nullopt, began_s,
                            watch);
        }
    } catch (const Error& told) {
        note_told(told);
        drop_failed_step();
        throw;
    } catch (const std::bad_alloc&) {  // of a rank for which nobody waits: the stream goes on
        drop_failed_step();
        throw;
    }
    end_committed(watch);
}

void Stream::end_committed(Stopwatch& watch) {
    dropped_ = false;
    leave_step();
    // The step is committed: an index that cannot be written now is written later, at the latest when closing, which tells. So is
    // what is too old removed later.
    if (!queue_->is_later()) attempt([&] { tidy(false); });
    times_.index_s += watch.lap();
}

// Collective. The way of a step when nothing is known: the plan, the group, the data, and the commit. `ready` and `error`: what the
// ranks have to agree on when they plan.
void Stream::write_as_agreed(StepPlan::Change change, const Ballot& ready, const std::optional<Error>& error, double began_s,
                             Stopwatch& watch) {
    if (!definitions_.ragged().empty()) change = settle_lengths();
    // In a run's first step rank 0 alone makes the directory: a rank that sees another file system than rank 0 does not find it.
    const auto first_does = [&](const Ballot&) {
        settle_first_step();
        if (!has_one_part(config_.layout))
            make_directories(path(pending_path(config_.layout, name_, accepted_)), path(parts_directory(name_)));
    };
    if (change != StepPlan::Change::none || !started_)
        plan_->make(definitions_, data_, with_static_next(), ready, error, started_ ? FirstDoes() : first_does);
    settled_ = true;
    // Parts of several hold blocks: other blocks need other parts.
    const bool other_parts = change == StepPlan::Change::blocks && group_ && group_->has_steps() && !has_one_part(config_.layout);
    std::optional<Error> failed;  // of this rank, for the next agreement
    if (other_parts || needs_group() || !is_described()) failed = open_group(other_parts);
    times_.plan_s += watch.lap();

    wait_for_turn();
    StepInFlight step;
    Ballot wrote{.call = Call::write};
    if (!failed) {
        step = written_step(began_s, failed);
        count_in(step, wrote);
    }
    times_.write_s += watch.lap();
    if (queue_->is_later())
        accept(std::move(step), agree(*ranks_, wrote, failed));
    else
        commit(step, wrote, failed);
    times_.commit_s += watch.lap();
}

// At the first step of a run the definitions are final: they must fit what earlier runs wrote.
void Stream::settle_first_step() const {
    if (config_.mode != "replace") return check_history();
    for (const std::string& entry : index_paths(directory_, name_)) remove_file(entry);
    if (begun_here_) return;
    remove_tree(path(parts_directory(name_)));
    make_directories(path(parts_directory(name_)));
}

void Stream::check_history() const {
    if (history_.runs.empty()) return;
    std::string why;
    if (!definitions_.same_structure(history_.runs.back().definitions, why))
        fail(Status::BAD_SHAPE, "stream '", name_, "' in ", directory_, " was written with other definitions: ", why,
             "; write to another stream or directory, or set mode = 'replace' to begin anew");
    if (history_.empty()) return;
    const Layout& before = history_.groups.back().layout;
    const auto stored_as = [](const Storage& storage) {
        return std::tuple(storage.compression, storage.shuffle, storage.chunk_bytes, storage.bit_round);
    };
    if (before.part_is_dataset() && stored_as(before.storage) != stored_as(config_.layout.storage))
        fail(Status::BAD_LAYOUT, "stream '", name_, "' in ", directory_, ": ", name_,
             ".nc was begun with compression = ", effective_json({.layout = before}).at("compression").get<std::string>(),
             ", and its arrays can have no other filters; ",
             "keep compression, shuffle, chunk and bit_round of the run before, or set mode = 'replace'");
    if (before.part_is_dataset() != config_.layout.part_is_dataset())
        fail(Status::BAD_LAYOUT, "stream '", name_, "' in ", directory_, " cannot be appended to under this layout: ", name_,
             ".nc is ", before.part_is_dataset() ? "the dataset itself (files = one, steps = all)" : "an index over parts",
             "; keep the layout of the run before, or set mode = 'replace'");
}

// Describes this rank's part under the present plan.
void Stream::describe() {
    const PartMap map(config_.layout, ranks_->topology());
    content_static_ = needs_group() ? with_static_next() : group_->with_static();
    content_ =
        std::make_shared<PartContent>(describe_part(definitions_, config_, *plan_, goes_on() ? earlier_static_ : content_static_,
                                                    goes_on() ? earlier_.writers : map.writers(map.part_of(ranks_->rank()))));
    content_plan_ = plan_->version();
    content_fingerprint_ = fingerprint();
    image_cache_.reset();
    make_packer();
}

void Stream::make_packer() {
    std::vector<PackedArray> arrays;
    for (const size_t a : content_->packed) {
        const Variable& variable = definitions_.variables()[content_->arrays[a].variable];
        arrays.push_back({variable.type, *content_->description.arrays[a].packing,
                          rounding_of(config_.layout.storage, variable.type, variable.fill)});
    }
    packer_.reset();
    if (!arrays.empty()) packer_ = std::make_unique<Packer>(plan_->part_ranks(), plan_->writers(), std::move(arrays));
}

void Stream::make_group(uint64_t start) {
    group_ = std::make_shared<Group>(*ranks_, plan_->part_ranks(), config_, *queue_, Group::Place{directory_, name_, start},
                                     with_static_next());
}

// Describes the part anew and opens its group where there is none, or where the blocks no longer fit the one that is open. Where
// one rank fails all ranks that need to do so again at the next step. Collective, unless the ranks are apart: then the error is
// this rank's.
std::optional<Error> Stream::open_group(bool other_parts) {
    const bool reopens = goes_on() && needs_group();
    const auto error = attempt([&] {
        if (other_parts || needs_group()) finish_group();
        describe();
        if (!needs_group()) return;
        make_group(goes_on() ? 0 : accepted_);
        if (!goes_on()) return group_->prepare(!started_);
        if (earlier_.slot_bytes != content_->seal_slot_bytes) {
            const bool has_checksums = earlier_.slot_bytes > 0;
            fail(Status::UNSUPPORTED, "stream '", name_, "': the dataset was written with", has_checksums ? "" : "out",
                 " checksums; append with checksum = ", has_checksums ? "on" : "off", ", or write a new stream");
        }
        group_->reopen(*content_, earlier_, accepted_, history_.steps);
    });
    try {
        if (config_.layout.ranks_are_apart()) {
            if (error) content_fingerprint_.reset();
            return error;
        }
        agree(*ranks_, {.call = Call::plan}, error);
    } catch (const Error&) {
        content_fingerprint_.reset();
        if (reopens) group_.reset();
        throw;
    }
    static_written_ = static_written_ || reopens;
    return std::nullopt;
}

// This rank's blocks of the slabs.
std::vector<std::vector<BlockView>> Stream::memory_of(const std::vector<size_t>& slabs) const {
    std::vector<std::vector<BlockView>> memory;
    run_or_end_job(has_others(), [&] {
        for (const size_t s : slabs) {
            const Slab& slab = plan_->slabs()[s];
            memory.emplace_back();
            for (const size_t b : slab.mine) memory.back().push_back(data_.memory[slab.variable][b]);
        }
    });
    return memory;
}

// Collective over the part's ranks, whatever happened before on this one: nobody waits for ever.
void Stream::pack_step(std::optional<Error>& error) {
    packer_->begin();
    attempt(error, [&] {
        const auto memory = memory_of(plan_->packed());
        if (Exchange* exchange = plan_->packed_exchange())
            exchange->run(
                memory, [&](const Stretch& stretch) { packer_->take(stretch.array, stretch.element, stretch.data, stretch.bytes); },
                [] {});
        else
            for (size_t k = 0; k < memory.size(); ++k) packer_->take(k, memory[k].front());
    });
    if (error) packer_->give_up();
    Packer::Run run;
    attempt(error, [&] {
        const uint64_t end = group_->end(*content_);
        run_or_end_job(has_others(), [&] { run = packer_->place(end, content_->placement); });
    });
    attempt(error, [&] {
        if (!error && run.whole) group_->place_chunks(*content_, std::move(run.chunks));
    });
    attempt(error, [&] {
        packer_->hand_over(run.address, [&](uint64_t address, const std::byte* data, uint64_t bytes) {
            if (!error) group_->take_run(address, data, bytes);
        });
    });
}

StepInFlight Stream::written_step(double began_s, std::optional<Error>& error) {
    auto written = write_step(error);
    StepInFlight step{accepted_, time_,           began_s,           0, definitions_.ragged_lengths(), group_,
                      content_,  group_->steps(), std::move(written)};
    if (!error && group_->is_first_writer() && config_.layout.steps == 1) step.bytes = group_->part_size_bytes();
    return step;
}

std::shared_ptr<const Group::Written> Stream::write_step(std::optional<Error>& error) {
    group_->make_room(*content_, image_cache_, error);
    const auto try_next = [&](auto&& work) {
        if (error) return;
        error = attempt(work);
    };
    Exchange* exchange = plan_->exchange();
    try_next([&] {
        // The only writer of a part bridges small gaps between arrays, unless blocks are written among one another.
        const bool alone = content_->seal_writers == 1 && exchange == nullptr && plan_->single_blocks();
        group_->begin_write(*content_, alone, started_ && config_.layout.ranks_are_apart());
        group_->write_direct(*content_, definitions_, *plan_, data_, time_);
    });
    if (exchange != nullptr) {
        // Every rank takes part to the end, whatever happened to it before: nobody waits for ever.
        const bool well = !error;
        attempt(error, [&] {
            exchange->run(
                memory_of(plan_->exchanged()),
                [&](const Stretch& stretch) {
                    const size_t array = content_->array_of_slab[plan_->exchanged()[stretch.array]];
                    const uint64_t element_bytes = type_bytes(definitions_.variables()[content_->arrays[array].variable].type);
                    if (well) group_->take(*content_, array, stretch.element, element_bytes, stretch.data, stretch.bytes);
                },
                [&] {
                    if (well) group_->write_out();
                });
        });
    }
    if (packer_) pack_step(error);
    std::shared_ptr<const Group::Written> written = std::make_shared<Group::Written>();
    try_next([&] { written = group_->end_write(*content_); });
    if (error) group_->abandon_write();
    return written;
}

void Stream::finish_group() {
    if (!group_) return;
    // It is gone also when this fails: its part is then longer than its steps, as after a kill, and reads right.
    const std::shared_ptr<Group> group = std::move(group_);
    if (group->settled()) group->finish(*content_);
}

// Also what the others have written of it where rank 0 did not get as far as to begin.
void Stream::drop_failed_step() noexcept {
    if ((!group_ || group_->full()) && !has_one_part(config_.layout) && !queue_->is_later() && ranks_->rank() == 0)
        attempt([&] { remove_tree(path(pending_path(config_.layout, name_, accepted_))); });
    drop_step();
    dropped_ = true;
}

void Stream::drop_step() noexcept {
    leave_step();
    refusal_.reset();
    // What the thread still writes of it must not come after what is written there next.
    queue_->wait();
    if (!group_ || group_->has_steps()) return;
    if (ranks_->rank() == 0 && !queue_->is_later()) group_->discard();
    group_.reset();
}

std::string Stream::report() const {
    Json json = Json::object();
    json["stream"] = name_;
    json["directory"] = directory_;
    json["requested"] = requested_;
    json["effective"] = effective_json(storage_.in(config_));
    json["storage"] = storage_.told;
    if (const uint64_t at_most = config_.layout.writers.at_most; at_most > 0) json["writers_at_most"] = at_most;
    json["ranks"] = ranks_->size();
    json["nodes"] = ranks_->nodes();
    json["steps"] = accepted_;
    json["this_run"] = {{"steps", times_.steps},
                        {"agree_s", times_.agree_s},
                        {"plan_s", times_.plan_s},
                        {"write_s", times_.write_s},
                        {"commit_s", times_.commit_s},
                        {"index_s", times_.index_s},
                        {"written_again", times_.written_again}};
    if (queue_->is_later()) {
        const WriteQueue::Usage usage = queue_->usage();
        json["overlap"] = {{"in_flight", in_flight_.size()},
                           {"window_bytes", usage.window_bytes},
                           {"spilled_bytes", usage.spilled_bytes},
                           {"waited_s", usage.waited_s + times_.turn_s},
                           {"dropped_steps", dropped_steps_},
                           {"to_durable_s",
                            {{"mean", times_.steps > 0 ? times_.durable_s / static_cast<double>(times_.steps) : 0},
                             {"longest", times_.longest_durable_s}}}};
    }
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tailrace
