#include "view/reader.hpp"

#include <algorithm>
#include <bit>

#include "base/checksum.hpp"
#include "base/copy.hpp"
#include "gather/agree.hpp"
#include "gather/box_words.hpp"
#include "gather/communicator_pool.hpp"
#include "gather/words.hpp"
#include "layout/parts.hpp"
#include "layout/share.hpp"
#include "record/block_name.hpp"
#include "view/catalog.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kBroadcastBytes = 1u << 30;

std::vector<uint64_t> words_of(const std::vector<std::vector<PartBox>>& boxes) {
    std::vector<uint64_t> words;
    for (uint64_t v = 0; v < boxes.size(); ++v)
        for (const PartBox& box : boxes[v]) {
            words.insert(words.end(), {v, box.part, box.block, box.box.count.size()});
            put_box(words, box.box);
        }
    return words;
}

void take_boxes(const std::vector<uint64_t>& words, std::vector<std::vector<PartBox>>& boxes) {
    for (size_t at = 0; at < words.size();) {
        const uint64_t v = words[at], part = words[at + 1], block = words[at + 2], dims = words[at + 3];
        at += 4;
        boxes.at(v).push_back({part, block, take_box(words, at, dims)});
    }
}

void fill(const BlockView& memory, uint64_t elements, const std::vector<std::byte>& value) {
    std::vector<std::byte> line(std::min<uint64_t>(elements, 4096) * value.size());
    repeat(value, line);
    for (uint64_t done = 0; done < elements; done += 4096)
        memory.copy_in(done, std::min<uint64_t>(4096, elements - done), line.data());
}

}  // namespace

Reader::Reader(MPI_Comm comm, const std::string& directory, const std::string& name)
    : directory_(directory.empty() ? "." : directory), name_(name), ranks_(take_communicator(comm)) {
    run_or_end_job(has_others(), [&] { learn_all(); });  // here already: freeing the communicator is collective, too
}

void Reader::learn_all() {
    std::vector<uint64_t> told;
    const auto error = attempt([&] {
        if (ranks_->rank() != 0) return;
        require_stream(directory_, name_);
        history_ = std::make_unique<History>(read_history(path_of(journal_path(name_))));
        if (history_->empty()) fail(Status::NOT_FOUND, "stream '", name_, "' in ", directory_, " has no committed step");
        tell_stream(told);
        tell_places(history_->steps.size() - 1, told);
    });
    const std::string place = directory_ + "/" + name_;
    const OpenReadVote vote{.place = Checksum::of(place.data(), place.size()), .table_words = told.size()};
    const OpenReadVote all = agree(*ranks_, vote, error);
    told = broadcast_words(*ranks_, std::move(told), all.table_words, 0);
    size_t at = 0;
    learn_stream(told, at);
    learn_places(steps_.size() - 1, told, at);
}

// On rank 0: what all must know of the whole stream. It goes in one message with the places of the step: with more ranks than cores
// each message costs several hundredths of a millisecond.
void Reader::tell_stream(std::vector<uint64_t>& told) const {
    Json lines = Json::array({run_line(history_->runs.back())});
    for (const auto& [v, values] : history_->coordinates) lines.push_back(coordinate_line(v, values));
    put_text(told, lines.dump());
    std::vector<uint64_t> steps, times;
    for (const StepEntry& step : history_->steps) {
        steps.push_back(step.step);
        times.push_back(std::bit_cast<uint64_t>(step.time));
    }
    put_list(told, steps);
    put_list(told, times);
    for (const StepEntry& step : history_->steps) put_list(told, step.ragged);
}

void Reader::learn_stream(const std::vector<uint64_t>& told, size_t& at) {
    History copy;
    for (const Json& line : Json::parse(take_text(told, at))) copy.apply(line);
    layout_ = copy.runs.back().config.layout;
    definitions_ = std::move(copy.runs.back().definitions);
    coordinates_ = std::move(copy.coordinates);
    steps_ = take_list(told, at);
    for (const uint64_t time : take_list(told, at)) times_.push_back(std::bit_cast<double>(time));
    for (size_t i = 0; i < steps_.size(); ++i) ragged_.push_back(take_list(told, at));
}

void Reader::select(int64_t step) {
    size_t which = 0;
    std::vector<uint64_t> told;
    const auto error = attempt([&] {
        const auto found = step < 0 ? steps_.end() : std::lower_bound(steps_.begin(), steps_.end(), static_cast<uint64_t>(step));
        if (step < 0 && static_cast<uint64_t>(-step) <= steps_.size())
            which = steps_.size() - static_cast<size_t>(-step);
        else if (found != steps_.end() && *found == static_cast<uint64_t>(step))
            which = static_cast<size_t>(found - steps_.begin());
        else
            fail(Status::NOT_FOUND, "stream '", name_, "' in ", directory_, " has no step ", step, ": it has ", steps_.size(),
                 " steps, from ", steps_.front(), " to ", steps_.back());
        if (history_) tell_places(which, told);
    });
    const SelectStepVote all = agree(*ranks_, SelectStepVote{.step_index = which, .table_words = told.size()}, error);
    told = broadcast_words(*ranks_, std::move(told), all.table_words, 0);
    size_t at = 0;
    learn_places(which, told, at);
}

// On rank 0: where the arrays of a step are, and the static ones as of that step.
void Reader::tell_places(size_t which, std::vector<uint64_t>& told) const {
    const StepEntry& entry = history_->steps[which];
    const GroupEntry& group = history_->groups[entry.group];
    tell_place(&group, entry.step - group.start, told);
    tell_place(history_->static_group(entry.group), 0, told);
}

void Reader::tell_place(const GroupEntry* group, uint64_t in_group, std::vector<uint64_t>& told) const {
    told.push_back(group != nullptr);
    if (group == nullptr) return;
    const auto plan = history_->plans.find(group->plan);
    const bool planned = plan != history_->plans.end() && !has_one_part(group->layout);
    told.insert(told.end(), {group->start, in_group, group->parts, planned});
    const bool by_last_run = group->run + 1 == history_->runs.size();  // all know its layout already
    put_text(told, by_last_run ? "" : run_line(history_->runs[group->run]).dump());
    put_list(told, planned ? words_of(plan->second) : std::vector<uint64_t>{});
}

// Collective. From what rank 0 has told.
void Reader::learn_places(size_t which, const std::vector<uint64_t>& told, size_t& at) {
    open_.close_all();
    definitions_.set_ragged_lengths(ragged_[which]);
    place_ = learn_place(told, at);
    static_place_ = learn_place(told, at);
    selected_ = steps_[which];
}

Reader::Place Reader::learn_place(const std::vector<uint64_t>& told, size_t& at) const {
    Place place;
    place.known = told[at++] != 0;
    if (!place.known) return place;
    place.start = told[at++];
    place.in_group = told[at++];
    place.parts = told[at++];
    const bool planned = told[at++] != 0;
    place.layout = layout_;
    if (const std::string run = take_text(told, at); !run.empty()) {
        History copy;
        copy.apply(Json::parse(run));
        place.layout = copy.runs.back().config.layout;
    }
    place.boxes.resize(definitions_.variables().size());
    const std::vector<uint64_t> boxes = take_list(told, at);
    if (has_one_part(place.layout))
        for (size_t v = 0; v < place.boxes.size(); ++v) place.boxes[v] = {{0, 0, whole_box(definitions_.variables()[v].shape)}};
    else if (planned)
        take_boxes(boxes, place.boxes);
    else
        scan_parts(place);
    return place;
}

// Collective. Of so many parts the journal has no plan: the ranks share out the parts and look into them.
void Reader::scan_parts(Place& place) const {
    std::vector<std::vector<PartBox>> mine(place.boxes.size());
    const auto error = attempt([&] {
        for (uint64_t p = ranks_->rank(); p < place.parts; p += ranks_->size()) {
            const PartReader reader(path_of(part_path(place.layout, name_, place.start, p)));
            for (PartReader::Block& block : reader.blocks()) {
                const auto [variable, number] = variable_of_block(definitions_, block.array);
                mine[variable].push_back({p, number, std::move(block.box)});
            }
        }
    });
    agree(*ranks_, SelectStepVote{}, error);
    take_boxes(all_words(ranks_->all(), words_of(mine), true), place.boxes);
}

PartReader& Reader::part(const Place& place, uint64_t number) const {
    return open_.open(path_of(part_path(place.layout, name_, place.start, number)));
}

void Reader::get(const std::string& variable, const Box& box, void* data, const std::vector<int64_t>& stride) const {
    const size_t v = definitions_.index_of(variable);
    const Variable& of = definitions_.variables()[v];
    for (size_t d = 0; d < of.shape.size(); ++d)
        if (box.offset[d] > of.shape[d] || box.count[d] > of.shape[d] - box.offset[d])
            fail(Status::BAD_SHAPE, "variable '", variable, "': box ", tailrace::describe(box), " leaves the array in dimension ",
                 d, " ('", definitions_.dimensions()[static_cast<size_t>(of.dims[d])].name, "', length ", of.shape[d],
                 "); offsets count from 0, slowest dimension first");
    if (box.elements() == 0) return;
    if (data == nullptr) fail(Status::BAD_ARGUMENT, "variable '", variable, "': the memory to read into is NULL");
    const BlockView memory(data, type_bytes(of.type), box.count, stride);
    if (of.replicated) return read_replicated(v, box, memory);
    if (!of.fill.empty()) fill(memory, box.elements(), of.fill);
    const uint64_t found = read_distributed(v, box, memory);
    if (found != box.elements() && of.fill.empty())
        fail(Status::CORRUPT, "variable '", variable, "' of stream '", name_, "' in ", directory_, ": ", box.elements() - found,
             " elements of ", tailrace::describe(box), " are in no part of step ", selected_);
}

uint64_t Reader::read_distributed(size_t variable, const Box& box, const BlockView& memory) const {
    const Variable& of = definitions_.variables()[variable];
    const Place& place = of.is_static ? static_place_ : place_;
    uint64_t found = 0;
    if (!place.known) return 0;
    for (const PartBox& stored : place.boxes[variable]) found += read_box(variable, place, stored, box, memory);
    return found;
}

// What of `box` is in a stored one.
uint64_t Reader::read_box(size_t variable, const Place& place, const PartBox& stored, const Box& box,
                          const BlockView& memory) const {
    const Box common = intersection(stored.box, box);
    if (common.elements() == 0) return 0;
    const Variable& of = definitions_.variables()[variable];
    try {
        const PartReader& reader = part(place, stored.part);
        const std::string name = has_one_part(place.layout) ? of.name : block_name(of.name, stored.block);
        const Box mine = within(stored.box, common);
        tailrace::read_box(reader.find({name, of.type, stored.box.count, !of.is_static}, place.in_group, mine), mine,
                           memory.part(within(box, common)));
    } catch (const Error&) {
        // HDF5 remembers what it could not read as absent: the next call opens the part anew.
        open_.close(path_of(part_path(place.layout, name_, place.start, stored.part)));
        throw;
    }
    return common.elements();
}

void Reader::read_replicated(size_t variable, const Box& box, const BlockView& memory) const {
    const Variable& of = definitions_.variables()[variable];
    const auto coordinate = coordinates_.find(variable);
    if (coordinate == coordinates_.end()) {
        // Every part has it: the ranks take theirs from different ones.
        read_box(variable, place_, {ranks_->rank() % place_.parts, 0, whole_box(of.shape)}, box, memory);
        return;
    }
    const Runs runs(of.shape, box);
    for (uint64_t run = 0; run < runs.count(); ++run)
        memory.copy_in(run * runs.length(), runs.length(), coordinate->second.data() + runs.begin(run) * type_bytes(of.type));
}

void Reader::get_shared(const std::string& variable, void* data) const {
    uint64_t bytes = 0;
    const auto error = attempt([&] {
        const Variable& of = definitions_.variables()[definitions_.index_of(variable)];
        if (data == nullptr && of.bytes() > 0)
            fail(Status::BAD_ARGUMENT, "variable '", variable, "': the memory to read into is NULL");
        if (ranks_->node_rank() == 0) get(variable, whole_box(of.shape), data, {});
        bytes = of.bytes();
    });
    agree(*ranks_, GetSharedVote{.variable = Checksum::of(variable.data(), variable.size())}, error);
    auto* at = static_cast<std::byte*>(data);
    for (uint64_t done = 0; done < bytes; done += kBroadcastBytes)
        check_mpi(MPI_Bcast(at + done, static_cast<int>(std::min(kBroadcastBytes, bytes - done)), MPI_BYTE, 0, ranks_->node()),
                  "MPI_Bcast");
}

void Reader::close() {
    agree(*ranks_, CloseReadVote{}, std::nullopt);
    give_back(ranks_);
}

std::string Reader::describe() const {
    Json json = {{"stream", name_},       {"directory", directory_},     {"steps", steps_},           {"times", times_},
                 {"selected", selected_}, {"dimensions", Json::array()}, {"variables", Json::array()}};
    for (const Dimension& d : definitions_.dimensions())
        json["dimensions"].push_back({{"name", d.name}, {"length", d.length}, {"ragged", d.ragged}});
    for (const Variable& v : definitions_.variables()) {
        Json dims = Json::array();
        for (const int d : v.dims) dims.push_back(definitions_.dimensions()[static_cast<size_t>(d)].name);
        json["variables"].push_back({{"name", v.name},
                                     {"type", type_code(v.type)},
                                     {"dimensions", dims},
                                     {"shape", v.shape},
                                     {"static", v.is_static},
                                     {"replicated", v.replicated}});
    }
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tailrace
