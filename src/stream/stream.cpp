#include "stream/stream.hpp"

#include <tailrace/tailrace.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/checksum.hpp"
#include "gather/communicator_pool.hpp"
#include "layout/parts.hpp"
#include "stream/environment.hpp"

namespace tailrace {
namespace {

// What a rank asks for that has no room for the step; more than any StepPlan::Change.
constexpr uint64_t kDropsStep = 255;

void check_stream_name(const std::string& name) {
    if (name.empty() || name.find('/') != std::string::npos || name.front() == '.')
        fail(Status::BAD_ARGUMENT, "stream name '", name, "' cannot be a file name: not empty, no '/', no '.' at its beginning");
}

}  // namespace

Stream::Stream(MPI_Comm comm, const std::string& directory, const std::string& name, const std::string& options)
    : directory_(directory.empty() ? "." : directory), name_(name) {
    ranks_ = take_communicator(comm);
    configure(options);
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

// Rank 0 reads the settings for all.
void Stream::configure(const std::string& options) {
    std::string settings;
    const auto error = attempt([&] {
        check_stream_name(name_);
        settings = ranks_->rank() == 0 ? gather_settings(name_, options).dump() : "";
    });
    const std::string place = directory_ + "/" + name_;
    agree(*ranks_,
          {.call = Call::open,
           .same = Checksum::of(place.data(), place.size()),
           .same_means = "the directory or the name of the stream"},
          error);
    const std::vector<Settings> sources = settings_of(Json::parse(ranks_->broadcast_text(settings, 0)));
    config_ = resolve(sources);
    check_config(config_);
    requested_ = requested_json(sources);
}

void Stream::look_back() {
    const auto error = attempt([&] {
        if (ranks_->rank() != 0) return;
        make_directories(path(parts_directory(name_)));
        if (config_.mode == "replace") return;
        history_ = read_history(path(journal_path(name_)));
        for (const std::string& entry : pending_paths(directory_, name_)) remove_tree(entry);
        for (const std::string& entry : unfinished_index_paths(directory_, name_)) remove_file(entry);
    });
    agree(*ranks_, {.call = Call::open}, error);
    storage_ = choose_storage(*ranks_, directory_, config_, requested_, history_);
    config_.layout.storage = storage_.storage;
    index_due_ = !history_.empty();  // a run that was killed may have left an older one
    accepted_ = ranks_->broadcast(history_.next_step(), 0);
    plan_number_ = history_.plans.size();
    if (!config_.layout.part_is_dataset() || accepted_ == 0) return;
    const bool grows = ranks_->rank() == 0 && history_.groups.back().layout.part_is_dataset();
    if (!ranks_->broadcast(grows, 0)) return;
    earlier_static_ = ranks_->broadcast(ranks_->rank() == 0 && history_.groups.front().has_static, 0);
    const Json line = Json::parse(ranks_->broadcast_text(ranks_->rank() == 0 ? blocks_line(history_.growth).dump() : "", 0));
    History told;
    told.apply(line);
    earlier_ = told.growth;
    if (goes_on()) config_.layout.writers.at_most = earlier_.writers;
}

Definitions& Stream::definitions() {
    if (settled_)
        fail(Status::BAD_ORDER, "stream '", name_, "': dimensions and variables are defined before the first step has ended");
    fingerprint_.reset();
    return definitions_;
}

void Stream::adopt(const Definitions& other) {
    for (const Dimension& dimension : other.dimensions())
        if (dimension.ragged) check_length(config_.layout, dimension.name, TAILRACE_RAGGED);
    definitions() = other;
}

void Stream::put_attribute(const std::string& variable, Attribute attribute) {
    fingerprint_.reset();
    definitions_.put_attribute(variable, std::move(attribute));
    content_.reset();
    image_cache_.reset();
}

void Stream::begin_step(double time) {
    if (in_step_) fail(Status::BAD_ORDER, "stream '", name_, "': tailrace_begin_step within a step; call tailrace_end_step first");
    if (!std::isfinite(time))
        fail(Status::BAD_ARGUMENT, "stream '", name_, "': the time of a step is ", time, "; it must be a finite number");
    in_step_ = true;
    time_ = time;
    refusal_.reset();
    data_.resize(definitions_.variables().size());
    data_.clear_blocks();
    // The last step's value is not this one's: a variable that is not put is an error.
    for (size_t v = 0; v < data_.values.size(); ++v)
        if (!definitions_.variables()[v].is_static) data_.values[v].clear();
}

void Stream::put_block(const std::string& name, const Box& box, const void* data, const std::vector<int64_t>& stride_bytes) {
    const size_t v = definitions_.index_of(name);
    const Variable& variable = definitions_.variables()[v];
    if (variable.replicated) fail(Status::BAD_ORDER, "variable '", name, "' is replicated: put it with tailrace_put_replicated");
    if (!in_step_) fail(Status::BAD_ORDER, "variable '", name, "': tailrace_put outside a step; call tailrace_begin_step first");
    if (variable.is_static && static_written_) return;  // it is stored already, and is the same in all steps
    for (size_t d = definitions_.is_ragged(variable) ? 1 : 0; d < variable.shape.size(); ++d)
        if (box.offset[d] > variable.shape[d] || box.count[d] > variable.shape[d] - box.offset[d])
            fail(Status::BAD_SHAPE, "variable '", name, "': block ", tailrace::describe(box), " leaves the array in dimension ", d,
                 " ('", definitions_.dimensions()[static_cast<size_t>(variable.dims[d])].name, "', length ", variable.shape[d],
                 "); offsets count from 0, slowest dimension first");
    if (data == nullptr && box.elements() > 0) fail(Status::BAD_ARGUMENT, "variable '", name, "': the data of a block is NULL");
    if (box.elements() == 0) return;
    data_.resize(definitions_.variables().size());
    data_.boxes[v].push_back(box);
    data_.memory[v].emplace_back(data, type_bytes(variable.type), box.count, stride_bytes);
}

void Stream::put_replicated(const std::string& name, const void* data) {
    const size_t v = definitions_.index_of(name);
    const Variable& variable = definitions_.variables()[v];
    if (!variable.replicated)
        fail(Status::BAD_ORDER, "variable '", name,
             "' is distributed: put it with tailrace_put, or define it with TAILRACE_REPLICATED");
    if (!in_step_ && !variable.is_static)
        fail(Status::BAD_ORDER, "variable '", name, "' changes per step: put it between tailrace_begin_step and tailrace_end_step");
    if (data == nullptr && variable.bytes() > 0) fail(Status::BAD_ARGUMENT, "variable '", name, "': the data is NULL");
    data_.resize(definitions_.variables().size());
    if (variable.is_static && static_written_) return;
    const auto* bytes = static_cast<const std::byte*>(data);
    data_.values[v].assign(bytes, bytes + variable.bytes());
}

void Stream::refuse_step(const Error& error) {
    if (in_step_ && !refusal_) refusal_ = error;
}

uint64_t Stream::fingerprint() {
    if (!fingerprint_) fingerprint_ = definitions_.fingerprint();
    return *fingerprint_;
}

// What this rank can tell by itself before the ranks agree.
void Stream::check_step() const {
    if (refusal_) throw *refusal_;
    if (!in_step_) fail(Status::BAD_ORDER, "stream '", name_, "': tailrace_end_step without tailrace_begin_step");
    for (size_t v = 0; v < definitions_.variables().size(); ++v) {
        const Variable& variable = definitions_.variables()[v];
        if (variable.replicated && data_.values[v].empty() && variable.bytes() > 0)
            fail(Status::BAD_ORDER, "variable '", variable.name, "' was not put: ",
                 variable.is_static ? "a static variable is put before or in the first step"
                                    : "a replicated variable is put in every step");
    }
}

void Stream::end_step() {
    Stopwatch watch;
    const double began_s = seconds_now();
    // Not after a failed step, whose pending files rank 0 may still be removing.
    const bool prepare_early = settled_ && needs_group() && !dropped_;
    uint64_t asks = 0;
    auto error = attempt([&] {
        data_.resize(definitions_.variables().size());
        check_step();
        if (const auto failed = error_of_queue()) throw *failed;
        asks = drops_step() ? kDropsStep : static_cast<uint64_t>(plan_->change(definitions_, data_, with_static_next()));
        if (prepare_early) {
            finish_group();
            make_group(accepted_);
            group_->prepare();
        }
    });
    uint64_t time_bits;
    std::memcpy(&time_bits, &time_, sizeof time_bits);
    try {
        const Ballot ballot = agree(*ranks_,
                                    {.call = Call::end_step,
                                     .same = fingerprint() * 31 + time_bits,
                                     .any = asks,
                                     .behind = steps_behind(),
                                     .told = steps_committed(),
                                     .same_means = "the definitions or the time of the step"},
                                    error);
        times_.agree_s += watch.lap();
        if (queue_->is_later()) commit_written(ballot);
        if (ballot.any == kDropsStep) {
            ++dropped_steps_;
            return leave_step();
        }
        auto change = static_cast<StepPlan::Change>(ballot.any);
        if (!definitions_.ragged().empty()) change = settle_lengths();
        if (change != StepPlan::Change::none) plan_->make(definitions_, data_, with_static_next());
        if (!settled_) settle_first_step();
        // Parts of several hold blocks: other blocks need other parts.
        const bool other_parts =
            change == StepPlan::Change::blocks && group_ && group_->has_steps() && !has_one_part(config_.layout);
        if (other_parts || needs_group() || !content_ || content_plan_ != plan_->version() ||
            content_static_ != group_->with_static())
            open_group(other_parts);
        times_.plan_s += watch.lap();

        wait_for_turn();
        std::optional<Error> failed;
        auto written = write_step(failed);
        const uint64_t size = !failed && group_->is_first_writer() && config_.layout.steps == 1 ? group_->part_size_bytes() : 0;
        const Ballot all =
            agree(*ranks_, {.call = Call::write, .bytes = size, .digest = queue_->is_later() ? 0 : written->digest}, failed);
        times_.write_s += watch.lap();
        StepInFlight step{accepted_, time_,    began_s,         all.bytes,         definitions_.ragged_lengths(),
                          group_,    content_, group_->steps(), std::move(written)};
        if (queue_->is_later())
            accept(std::move(step));
        else
            commit(std::move(step), all.digest);
        times_.commit_s += watch.lap();
    } catch (const Error&) {
        drop_step();
        dropped_ = true;
        throw;
    }
    leave_step();
    // The step is committed: an index that cannot be written now is written later, at the latest when closing, which tells. So is
    // what is too old removed later.
    if (!queue_->is_later()) attempt([&] { tidy(false); });
    times_.index_s += watch.lap();
}

void Stream::leave_step() {
    in_step_ = dropped_ = false;
    data_.clear_blocks();
}

// At the first step of a run the definitions are final: they must fit what earlier runs wrote.
void Stream::settle_first_step() {
    const auto error = attempt([&] {
        if (ranks_->rank() != 0) return;
        if (config_.mode == "replace") {
            for (const std::string& entry : index_paths(directory_, name_)) remove_file(entry);
            remove_tree(path(parts_directory(name_)));
            make_directories(path(parts_directory(name_)));
        } else {
            check_history();
        }
    });
    agree(*ranks_, {.call = Call::plan}, error);
    settled_ = true;
    static_written_ = false;
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
    const PartMap map(config_.layout, {ranks_->size(), ranks_->nodes()});
    content_static_ = needs_group() ? with_static_next() : group_->with_static();
    content_ =
        std::make_shared<PartContent>(describe_part(definitions_, config_, *plan_, goes_on() ? earlier_static_ : content_static_,
                                                    goes_on() ? earlier_.writers : map.writers(map.part_of(ranks_->rank()))));
    content_plan_ = plan_->version();
    image_cache_.reset();
    make_packer();
}

void Stream::make_packer() {
    std::vector<PackedArray> arrays;
    for (const size_t a : content_->packed) {
        const Variable& variable = definitions_.variables()[content_->arrays[a].variable];
        arrays.push_back({variable.type, *content_->description.arrays[a].packing, rounding_of(config_.layout.storage, variable)});
    }
    packer_.reset();
    if (!arrays.empty()) packer_ = std::make_unique<Packer>(plan_->part_ranks(), plan_->writers(), std::move(arrays));
}

void Stream::make_group(uint64_t start) {
    group_ = std::make_shared<Group>(*ranks_, plan_->part_ranks(), config_, *queue_, Group::Place{directory_, name_, start},
                                     with_static_next());
}

// Describes the part anew and opens its group where there is none, or where the blocks no longer fit the one that is open.
void Stream::open_group(bool other_parts) {
    const auto error = attempt([&] {
        if (other_parts) finish_group();
        describe();
        if (!needs_group()) return;
        make_group(goes_on() ? 0 : accepted_);
        if (!goes_on()) return group_->prepare();
        if (earlier_.slot_bytes != content_->seal_slot_bytes) {
            const bool has_checksums = earlier_.slot_bytes > 0;
            fail(Status::UNSUPPORTED, "stream '", name_, "': the dataset was written with", has_checksums ? "" : "out",
                 " checksums; append with checksum = ", has_checksums ? "on" : "off", ", or write a new stream");
        }
        group_->reopen(*content_, earlier_, accepted_, history_.times());
        static_written_ = true;
    });
    agree(*ranks_, {.call = Call::plan}, error);
}

// This rank's blocks of the slabs.
std::vector<std::vector<BlockView>> Stream::memory_of(const std::vector<size_t>& slabs) const {
    std::vector<std::vector<BlockView>> memory;
    for (const size_t s : slabs) {
        const Slab& slab = plan_->slabs()[s];
        memory.emplace_back();
        for (const size_t b : slab.mine) memory.back().push_back(data_.memory[slab.variable][b]);
    }
    return memory;
}

// Collective over the part's ranks, whatever happened before on this one: nobody waits for ever.
void Stream::pack_step(std::optional<Error>& error) {
    const auto try_all = [&](auto&& work) {
        auto failed = attempt(work);
        if (failed && !error) error = std::move(failed);
    };
    packer_->begin();
    try_all([&] {
        const auto memory = memory_of(plan_->packed());
        if (Exchange* exchange = plan_->packed_exchange())
            exchange->run(
                memory, [&](const Stretch& stretch) { packer_->take(stretch.array, stretch.element, stretch.data, stretch.bytes); },
                [] {});
        else
            for (size_t k = 0; k < memory.size(); ++k) packer_->take(k, memory[k].front());
    });
    if (error) packer_->give_up();
    uint64_t end = 0;
    Packer::Run run;
    try_all([&] { end = group_->end(*content_); });
    try_all([&] { run = packer_->place(end, content_->placement); });
    try_all([&] {
        if (!error) group_->place_chunks(*content_, std::move(run.chunks));
    });
    try_all([&] {
        packer_->hand_over(run.address, [&](uint64_t address, const std::byte* data, uint64_t bytes) {
            if (!error) group_->take_run(address, data, bytes);
        });
    });
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
        group_->begin_write(*content_, content_->seal_writers == 1 && exchange == nullptr && plan_->single_blocks());
        group_->write_direct(*content_, definitions_, *plan_, data_, time_);
    });
    if (exchange != nullptr) {
        // Every rank takes part to the end, whatever happened to it before: nobody waits for ever.
        const bool well = !error;
        auto failed = attempt([&] {
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
        if (failed && !error) error = std::move(failed);
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

void Stream::drop_step() noexcept {
    in_step_ = false;
    data_.clear_blocks();
    refusal_.reset();
    // What the thread still writes of it must not come after what is written there next.
    queue_->wait();
    if (!group_ || group_->has_steps()) return;
    if (ranks_->rank() == 0 && !queue_->is_later()) group_->discard();
    group_.reset();
}

std::string Stream::report() const {
    Json json;
    json["stream"] = name_;
    json["directory"] = directory_;
    json["requested"] = requested_;
    json["effective"] = effective_json(storage_.in(config_));
    json["storage"] = storage_.told;
    if (const uint64_t at_most = config_.layout.writers.at_most; at_most > 0) json["writers_at_most"] = at_most;
    json["ranks"] = ranks_->size();
    json["nodes"] = ranks_->nodes();
    json["steps"] = accepted_;
    json["this_run"] = {{"steps", times_.steps},     {"agree_s", times_.agree_s},   {"plan_s", times_.plan_s},
                        {"write_s", times_.write_s}, {"commit_s", times_.commit_s}, {"index_s", times_.index_s}};
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
