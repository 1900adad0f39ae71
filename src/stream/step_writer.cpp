#include "stream/step_writer.hpp"

#include <functional>
#include <utility>

#include "base/paths.hpp"
#include "gather/agree.hpp"
#include "layout/parts.hpp"
#include "part/seal.hpp"
#include "stream/part_content.hpp"

namespace tailrace {

namespace {

// How large a part becomes at most, without its metadata.
uint64_t bytes_of_part(const DescribedPart* part, uint64_t steps) {
    uint64_t bytes = 0;
    if (part == nullptr) return bytes;
    const Description& description = part->content.description;
    for (const Array& array : description.arrays) bytes += bytes_of(description, array) * (array.varies ? steps : 1);
    return bytes;
}

}  // namespace

StepWriter::StepWriter(const Communicator& ranks, StreamPaths paths, const StreamConfig& config, WriteQueue& queue, Outbox* outbox,
                       ExistingPart existing, const std::vector<StepEntry>& existing_steps)
    : ranks_(ranks), paths_(std::move(paths)), config_(config), queue_(queue), outbox_(outbox), existing_(std::move(existing)),
      existing_steps_(existing_steps),
      plan_(std::make_unique<StepPlan>(ranks, config, existing_.exists() ? seal_records_in(existing_.growth.slot_bytes) : 0)),
      blocks_(std::make_unique<AgreedBlocks>(ranks, config.exchange_bytes)) {}

StepIntent StepWriter::intent(StepInput& input) {
    if (!blocks_->take(input.definitions, input.data, input.with_static())) return StepIntent::redistribute;
    return plan_->intent(input.definitions, input.data, input.with_static());
}

bool StepWriter::is_described(const StepInput& input) const {
    return described_ == Described{input.definitions_fingerprint, plan_->version(), group_->with_static()};
}

void StepWriter::make_group(uint64_t start, uint64_t segment, const StepInput& input) {
    const bool fits = outbox_ != nullptr && outbox_->has_room(bytes_of_part(part_.get(), config_.layout.steps));
    const Group::Place place{fits ? outbox_->root() : paths_.directory, paths_.name, start, paths_.run, segment, outbox_};
    group_ = std::make_shared<Group>(ranks_, plan_->part_ranks(), config_, queue_, place, part_, input.with_static());
}

void StepWriter::begin_next_group(const StepInput& input, bool makes_files) {
    finish_group();
    make_group(input.number(), paths_.segment, input);
    if (makes_files) group_->prepare(false);
}

// Removes the written file first, because a striped file can be created only if none exists.
void StepWriter::begin_group_again(const StepInput& input) {
    attempt([&] { remove_file(group_->present_path()); });
    make_group(input.number(), paths_.segment, input);
}

std::optional<Error> StepWriter::plan_step(StepInput& input, StepIntent intent, const std::optional<Error>& error,
                                           const PlanAgreement& first_agreement, const std::function<void()>& rank_0_does,
                                           const std::function<void()>& all_do) {
    const auto place = [&](bool plans) { return blocks_->place(input.definitions, input.data, input.with_static(), plans); };
    const auto make = [&](const std::optional<Error>& failed, const PlanAgreement& agreement) {
        // Do not plan scattered blocks: there may be very many, and contiguous ranges will replace them.
        if (blocks_->scattered().must_plan())
            return agreement({.intent = StepIntent::redistribute}, failed, {}).intent != StepIntent::redistribute;
        return plan_->make(input.definitions, input.data, input.with_static(), failed, agreement, rank_0_does);
    };
    if (place(intent == StepIntent::redistribute)) {
        const StepIntent mine = plan_->intent(input.definitions, input.data, input.with_static());
        intent = static_cast<StepIntent>(largest(ranks_, static_cast<uint64_t>(mine)));
    }
    const bool plans = intent != StepIntent::write || input.is_first_of_run();
    if (plans && !make(error, first_agreement)) {
        place(true);
        make(std::nullopt, [&](const PlanVote& plan, const std::optional<Error>& failed, const RankZeroDoes<PlanVote>& does) {
            return agree(ranks_, plan, failed, does);
        });
    }
    if (input.is_first_of_run() && all_do) all_do();
    if (!input.progress.definitions_frozen()) input.progress.freeze_definitions();
    // With several parts, a part is laid out for its ranks' blocks, so other blocks need other parts.
    const bool other_parts = intent == StepIntent::write_blocks && group_ && group_->has_steps() && !has_one_part(config_.layout);
    if (other_parts || needs_group() || !is_described(input)) return open_group(input, other_parts);
    return std::nullopt;
}

// Opens the group if it is needed. Collective, unless each rank has a part of its own: then the error is this rank's. If one rank
// fails, all ranks that need the group open it again at the next step.
std::optional<Error> StepWriter::open_group(StepInput& input, bool other_parts) {
    const bool reopens = continues_ && needs_group();
    const auto error = attempt([&] {
        if (other_parts || needs_group()) finish_group();
        describe(input);
        if (!needs_group()) return;
        if (continues_) {
            make_group(0, existing_.segment, input);
            reopen_existing(input.number());
        } else {
            make_group(input.number(), paths_.segment, input);
            group_->prepare(input.is_first_of_run());  // in a run's first step rank 0 has made the directory
        }
    });
    try {
        if (config_.layout.ranks_are_apart()) {
            if (error) described_.reset();
            return error;
        }
        agree(ranks_, PlanVote{}, error);
    } catch (const Error&) {
        described_.reset();
        if (reopens) group_.reset();
        throw;
    }
    if (reopens) input.progress.mark_statics_stored();
    return std::nullopt;
}

void StepWriter::describe(const StepInput& input) {
    described_.reset();
    const bool with_static = needs_group() ? input.with_static() : group_->with_static();
    const PartMap map(config_.layout, ranks_.topology());
    const uint64_t slot_bytes = config_.layout.storage.checksum ? seal_slot_bytes(plan_->seal_records()) : 0;
    part_ = std::make_shared<DescribedPart>(DescribedPart{
        describe_part(input.definitions, config_, plan_->boxes(), slot_bytes, continues_ ? existing_.has_static : with_static,
                      continues_ ? existing_.growth.writers : map.writers(map.part_of(ranks_.rank())))});
    if (group_) group_->set_content(part_);
    make_packer(input.definitions);
    described_ = {input.definitions_fingerprint, plan_->version(), with_static};
}

void StepWriter::make_packer(const Definitions& definitions) {
    const PartContent& content = part_->content;
    std::vector<PackedArray> arrays;
    for (const size_t a : content.packed) {
        const Variable& variable = definitions.variables()[content.arrays[a].variable];
        arrays.push_back({variable.type, *content.description.arrays[a].packing,
                          rounding_of(config_.layout.storage, variable.type, variable.fill)});
    }
    packer_.reset();
    if (!arrays.empty()) packer_ = std::make_unique<Packer>(plan_->part_ranks(), plan_->writers(), std::move(arrays));
}

void StepWriter::reopen_existing(uint64_t steps) {
    if (existing_.growth.slot_bytes != part_->content.seal_slot_bytes) {
        const bool has_checksums = existing_.growth.slot_bytes > 0;
        fail(Status::UNSUPPORTED, "stream '", paths_.name, "': the dataset was written with", has_checksums ? "" : "out",
             " checksums; append with checksum = ", has_checksums ? "on" : "off", ", or write a new stream");
    }
    group_->reopen(existing_.growth, steps, existing_steps_);
}

StepInFlight StepWriter::write_step(const StepInput& input, std::optional<Error>& error) {
    auto written = write(input, error);
    StepInFlight step{input.number(), input.time,      input.began_s,     0, input.definitions.ragged_lengths(),
                      group_,         group_->steps(), std::move(written)};
    if (!error && group_->role().is_first_writer() && config_.layout.steps == 1) step.bytes = group_->part_bytes();
    return step;
}

std::shared_ptr<const Group::Written> StepWriter::write(const StepInput& input, std::optional<Error>& error) {
    group_->make_room(error);
    const auto if_well = [&](auto&& work) {
        if (!error) error = attempt(work);
    };
    if_well([&] {
        // The only writer of a part fills small gaps between arrays, unless the blocks of one array lie among those of another.
        const bool alone = part_->content.seal_writers == 1 && plan_->exchange() == nullptr && plan_->single_blocks();
        group_->begin_write(alone, !input.is_first_of_run() && config_.layout.ranks_are_apart());
        group_->write_own(input.definitions, *plan_, input.data, input.time);
    });
    if (plan_->exchange() != nullptr) exchange_blocks(input, error);
    if (packer_) pack_step(input, error);
    std::shared_ptr<const Group::Written> written = std::make_shared<Group::Written>();
    if_well([&] { written = group_->end_write(); });
    if (error) group_->abandon_step();
    return written;
}

// This rank's blocks of the boxes.
std::vector<std::vector<BlockView>> StepWriter::memory_of(const std::vector<size_t>& boxes, const StepData& data) const {
    std::vector<std::vector<BlockView>> memory;
    run_or_end_job(has_others(), [&] {
        for (const size_t s : boxes) {
            const BoxPlan& planned = plan_->boxes()[s];
            memory.emplace_back();
            for (const size_t b : planned.mine) memory.back().push_back(data.memory[planned.variable][b]);
        }
    });
    return memory;
}

// A rank that failed before takes part to the end, and writes nothing.
void StepWriter::exchange_blocks(const StepInput& input, std::optional<Error>& error) {
    const bool writes = !error;
    const auto take = [&](const Span& span) {
        const PartContent& content = part_->content;
        const size_t array = content.array_of_box[plan_->exchanged()[span.array]];
        const uint64_t element_bytes = type_bytes(input.definitions.variables()[content.arrays[array].variable].type);
        if (writes) group_->add_exchanged(array, span.element, element_bytes, span.data, span.bytes);
    };
    const auto flush = [&] {
        if (writes) group_->write_out();
    };
    attempt(error, [&] { plan_->exchange()->run(memory_of(plan_->exchanged(), input.data), std::cref(take), std::cref(flush)); });
}

// Collective over the part's ranks: a rank that failed before takes part to the end.
void StepWriter::pack_step(const StepInput& input, std::optional<Error>& error) {
    packer_->begin();
    attempt(error, [&] {
        const auto memory = memory_of(plan_->packed(), input.data);
        if (Exchange* exchange = plan_->packed_exchange())
            exchange->run(memory, [&](const Span& span) { packer_->take(span.array, span.element, span.data, span.bytes); }, [] {});
        else
            for (size_t k = 0; k < memory.size(); ++k) packer_->take(k, memory[k].front());
    });
    if (error) packer_->give_up();
    Packer::Placed placed;
    attempt(error, [&] {
        const uint64_t end = group_->end();
        run_or_end_job(has_others(), [&] { placed = packer_->place(end, part_->content.placement); });
    });
    attempt(error, [&] {
        if (!error && placed.complete) group_->place_chunks(placed.chunks);
    });
    attempt(error, [&] {
        packer_->hand_over(placed.address, [&](uint64_t address, const std::byte* data, uint64_t bytes) {
            if (!error) group_->write_chunks(address, data, bytes);
        });
    });
}

void StepWriter::finish_group() {
    if (!group_) return;
    // Forget the group even if this fails: its part is then longer than its steps, as after a kill, and can still be read.
    const std::shared_ptr<Group> group = std::move(group_);
    if (group->all_steps_committed()) group->finish();
}

void StepWriter::remove_failed_step(uint64_t step) noexcept {
    if (group_) group_->abandon_step();
    if (!needs_group() || has_one_part(config_.layout) || queue_.is_async() || ranks_.rank() != 0) return;
    attempt([&] { remove_tree(paths_.pending(config_.layout, step)); });
}

void StepWriter::drop_group_without_steps() noexcept {
    // Wait until the thread has written everything, so that no old write overwrites what is written there next.
    queue_.wait();
    if (!group_ || group_->has_steps()) return;
    if ((ranks_.rank() == 0 || outbox_ != nullptr) && !queue_.is_async()) group_->discard();
    group_.reset();
}

void StepWriter::release() {
    packer_.reset();
    plan_.reset();
    blocks_.reset();
}

}  // namespace tailrace
