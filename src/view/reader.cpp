#include "view/reader.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/checksum.hpp"
#include "base/copy.hpp"
#include "base/file.hpp"
#include "base/paths.hpp"
#include "base/shell_word.hpp"
#include "gather/agree.hpp"
#include "gather/communicator_pool.hpp"
#include "gather/disagreement.hpp"
#include "gather/words.hpp"
#include "layout/netcdf_fill.hpp"
#include "layout/notation.hpp"
#include "layout/parts.hpp"
#include "layout/slab.hpp"
#include "part/version_record.hpp"
#include "record/block_name.hpp"
#include "record/definitions_json.hpp"
#include "view/catalog.hpp"
#include "view/step_boxes.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kBroadcastBytes = 1u << 30;
constexpr int kWaitForPartMs = 2000;

void fill(const BlockView& memory, uint64_t elements, const std::vector<std::byte>& value) {
    constexpr uint64_t kLine = 4096;
    std::vector<std::byte> line(std::min(elements, kLine) * value.size());
    repeat(value, line);
    for (uint64_t done = 0; done < elements; done += kLine) memory.copy_in(done, std::min(kLine, elements - done), line.data());
}

// Fills a box of a variable that was added to the stream after the step was written.
void fill_missing(const Variable& variable, const Box& box, const BlockView& memory) {
    fill(memory, box.elements(), variable.fill.empty() ? netcdf_fill(variable.type) : variable.fill);
}

}  // namespace

Reader::Reader(MPI_Comm comm, const std::string& directory, const std::string& name)
    : directory_(directory.empty() ? "." : directory), name_(name), ranks_(take_communicator(comm)) {
    run_or_end_job(has_others(), [&] { open(); });  // if memory runs out, ends the job: freeing the communicator is collective, too
}

// Sends the summary of the stream and the locations of the step in one message: with more ranks than cores each message costs
// several hundredths of a millisecond.
void Reader::open() {
    std::vector<uint64_t> words;
    const auto error = attempt([&] {
        if (ranks_->rank() != 0) return;
        require_stream(directory_, name_);
        history_ = std::make_unique<History>(read_history(path_of(journal_path(name_))));
        if (history_->empty() && !history_->is_static_only())
            fail(Status::NOT_FOUND, "stream '", name_, "' in ", directory_, " has no committed step");
        put_summary(words, *history_);
        if (!history_->empty()) put_locations(history_->steps.size() - 1, words);
    });
    const std::string place = directory_ + "/" + name_;
    const OpenReadVote vote{.place = Checksum::of(place.data(), place.size()), .table_words = words.size()};
    const OpenReadVote all = with_facts(
        *ranks_, [&] { return Facts{{"the directory", "'" + directory_ + "'"}, {"the name", "'" + name_ + "'"}}; },
        [&] { return agree(*ranks_, vote, error); });
    words = broadcast_words(*ranks_, std::move(words), all.table_words, 0);
    size_t at = 0;
    stream_ = take_summary(words, at);
    if (!stream_.steps.empty()) take_locations(stream_.steps.size() - 1, words, at);
}

size_t Reader::index_of_step(int64_t step) const {
    const std::vector<uint64_t>& steps = stream_.steps;
    if (steps.empty())
        fail(Status::NOT_FOUND, "stream '", name_, "' in ", directory_, " has no step ", step, ": it has only static arrays");
    if (step < 0 && static_cast<uint64_t>(-step) <= steps.size()) return steps.size() - static_cast<size_t>(-step);
    const auto found = step < 0 ? steps.end() : std::lower_bound(steps.begin(), steps.end(), static_cast<uint64_t>(step));
    if (found == steps.end() || *found != static_cast<uint64_t>(step))
        fail(Status::NOT_FOUND, "stream '", name_, "' in ", directory_, " has no step ", step, ": it has ", steps.size(),
             " steps, from ", steps.front(), " to ", steps.back());
    return static_cast<size_t>(found - steps.begin());
}

void Reader::select(int64_t step) {
    size_t index = 0;
    std::vector<uint64_t> words;
    const auto error = attempt([&] {
        index = index_of_step(step);
        if (history_) put_locations(index, words);
    });
    const SelectStepVote all = with_facts(
        *ranks_, [&] { return Facts{{"the step", std::to_string(step)}}; },
        [&] { return agree(*ranks_, SelectStepVote{.step_index = index, .table_words = words.size()}, error); });
    words = broadcast_words(*ranks_, std::move(words), all.table_words, 0);
    size_t at = 0;
    take_locations(index, words, at);
}

// On rank 0: appends where the arrays of a step are, and where its static arrays are.
void Reader::put_locations(size_t index, std::vector<uint64_t>& words) const {
    const StepEntry& entry = history_->steps[index];
    const GroupEntry& group = history_->groups[entry.group];
    put_location(words, *history_, &group, entry.step - group.start);
    put_location(words, *history_, history_->static_group(entry.group), 0);
}

// Collective.
void Reader::take_locations(size_t index, const std::vector<uint64_t>& words, size_t& at) {
    stream_.definitions.set_ragged_lengths(stream_.ragged[index]);
    const std::optional<StepLocation> before = std::move(location_);
    location_ = take_location(words, at);
    static_location_ = take_location(words, at);
    if (before && location_->is_in_group_of(*before)) {
        open_.close_outdated();
    } else {
        open_.close_all();
        check_.forget();
    }
    selected_ = stream_.steps[index];
}

// Collective.
std::optional<StepLocation> Reader::take_location(const std::vector<uint64_t>& words, size_t& at) const {
    auto location = tailrace::take_location(words, at, stream_);
    if (location && !location->in_journal) scan_parts(*location);
    return location;
}

// Collective. Reads the boxes of a step from its parts, which the ranks divide among them: for so many parts, older versions wrote
// no boxes into the journal.
void Reader::scan_parts(StepLocation& location) const {
    std::vector<std::vector<PartBox>> mine(location.boxes.size());
    const auto error = attempt([&] {
        for (uint64_t p = ranks_->rank(); p < location.parts; p += ranks_->size()) {
            const std::string path = part_path_of(location, p);
            // CORRUPT, not NOT_FOUND: a program that looks for a restart would take NOT_FOUND to mean its first run.
            if (!path_exists(path)) fail(Status::CORRUPT, path, " is missing; `tailrace verify` names all that is");
            const PartReader reader(path);
            for (PartReader::Block& block : reader.blocks()) {
                const auto [variable, number] = variable_of_block(stream_.definitions, block.array);
                mine[variable].push_back({p, number, std::move(block.box)});
                check_block(stream_.definitions, variable, mine[variable].back(), path);
            }
        }
    });
    agree(*ranks_, SelectStepVote{}, error);
    std::vector<uint64_t> words;
    put_boxes(words, mine);
    take_boxes(all_words(ranks_->all(), words, true), location.boxes);
}

std::string Reader::part_path_of(const StepLocation& location, uint64_t part) const {
    return path_of(part_path(location.layout, name_, location.start, part, location.segment));
}

PartReader& Reader::open_part(const StepLocation& location, uint64_t part) const {
    return open_.open(part_path_of(location, part), part);
}

void Reader::check_box(size_t variable, const Box& box) const {
    const Variable& of = definitions().variables()[variable];
    for (size_t d = 0; d < of.shape.size(); ++d)
        if (box.offset[d] > of.shape[d] || box.count[d] > of.shape[d] - box.offset[d])
            fail(Status::BAD_SHAPE, "variable '", of.name, "': box ", tailrace::describe(box), " leaves the array in dimension ",
                 dimension_text(d, of.shape.size()), " ('", definitions().dimension(of.dims[d]).name, "', length ", of.shape[d],
                 "); ", counting_rule());
}

void Reader::get(const std::string& variable, const Box& box, void* data, const std::vector<int64_t>& stride) const {
    const size_t v = definitions().index_of(variable);
    const Variable& of = definitions().variables()[v];
    check_box(v, box);
    if (box.elements() == 0) return;
    if (data == nullptr) fail(Status::BAD_ARGUMENT, "variable '", variable, "': the memory to read into is NULL");
    const BlockView memory(data, type_bytes(of.type), box.count, stride);
    if (of.replicated) return read_replicated(v, box, memory);
    if (v >= location_->variables) return fill_missing(of, box, memory);
    if (!of.fill.empty()) fill(memory, box.elements(), of.fill);
    const uint64_t found = read_distributed(v, box, memory);
    if (found != box.elements() && of.fill.empty())
        fail(Status::CORRUPT, "variable '", variable, "' of stream '", name_, "' in ", directory_, ": ", box.elements() - found,
             " elements of ", tailrace::describe(box), " are in no part of step ", selected_);
}

// Reads a box of a distributed variable. Returns the number of elements that the parts have.
uint64_t Reader::read_distributed(size_t variable, const Box& box, const BlockView& memory) const {
    const auto& location = definitions().variables()[variable].is_static ? static_location_ : location_;
    uint64_t found = 0;
    if (!location) return 0;
    for (const PartBox& stored : location->boxes[variable]) found += read_common(variable, *location, stored, box, memory);
    return found;
}

// Reads the elements that `box` has in common with a stored box. Returns their number.
uint64_t Reader::read_common(size_t variable, const StepLocation& location, const PartBox& stored, const Box& box,
                             const BlockView& memory) const {
    const Box common = intersection(stored.box, box);
    if (common.elements() == 0) return 0;
    const std::string path = part_path_of(location, stored.part);
    for (int waited_ms = 0;; ++waited_ms) {
        try {
            read_stored(variable, location, stored, common, memory.part(within(box, common)));
            return common.elements();
        } catch (const Error&) {
            const bool was_outdated = open_.has_outdated(path);
            check_.forget();
            open_.close(path);  // HDF5 remembers what it could not read as absent
            if (was_outdated && waited_ms < kWaitForPartMs) continue;
            if (!shows_too_few(path, location)) throw;
            if (waited_ms == kWaitForPartMs)
                fail(Status::CORRUPT, path, " does not show step ", selected_, ", which is committed: its run was killed before; ",
                     "`tailrace index ", shell_word(directory_), " -s ", shell_word(name_), "` shows it");
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
}

// Whether the part shows fewer steps than are committed: a running model commits a step a moment before its parts show it.
bool Reader::shows_too_few(const std::string& path, const StepLocation& location) {
    if (location.layout.steps == 1 || !path_exists(path)) return false;
    return state_of_part(File::open_read(path), location.in_group + 1) == PartState::outdated;
}

void Reader::read_stored(size_t variable, const StepLocation& location, const PartBox& stored, const Box& common,
                         const BlockView& memory) const {
    const Variable& of = definitions().variables()[variable];
    const PartReader& part = open_part(location, stored.part);
    const std::string whole = definitions().array_name(of);
    const std::string name = has_one_part(location.layout) ? whole : block_name(whole, stored.block);
    const Box in_stored = within(stored.box, common);
    const StoredArray array = part.find({name, of.type, stored.box.count, !of.is_static}, location.in_group, in_stored);
    if (verifies_) check_.check(array, in_stored, of.is_static ? kSealOfStatic : location.in_group);
    read_box(array, in_stored, memory);
}

void Reader::read_replicated(size_t variable, const Box& box, const BlockView& memory) const {
    const Variable& of = definitions().variables()[variable];
    const auto coordinate = stream_.coordinates.find(variable);
    if (coordinate == stream_.coordinates.end()) {
        if (variable >= location_->variables) return fill_missing(of, box, memory);
        // Every part has the array: each rank reads another part.
        read_common(variable, *location_, {ranks_->rank() % location_->parts, 0, whole_box(of.shape)}, box, memory);
        return;
    }
    const Spans spans(of.shape, box);
    for (uint64_t span = 0; span < spans.count(); ++span)
        memory.copy_in(span * spans.length(), spans.length(), coordinate->second.data() + spans.begin(span) * type_bytes(of.type));
}

void Reader::get_shared(const std::string& variable, void* data) const {
    uint64_t bytes = 0;
    const auto error = attempt([&] {
        const Variable& of = definitions().variables()[definitions().index_of(variable)];
        if (data == nullptr && of.bytes() > 0)
            fail(Status::BAD_ARGUMENT, "variable '", variable, "': the memory to read into is NULL");
        if (ranks_->node_rank() == 0) get(variable, whole_box(of.shape), data, {});
        bytes = of.bytes();
    });
    with_facts(
        *ranks_, [&] { return Facts{{"the variable", "'" + variable + "'"}}; },
        [&] { agree(*ranks_, GetSharedVote{.variable = Checksum::of(variable.data(), variable.size())}, error); });
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
    Json json = {{"stream", name_},       {"directory", directory_},     {"steps", steps()},          {"times", times()},
                 {"selected", selected_}, {"dimensions", Json::array()}, {"variables", Json::array()}};
    json["time"] = {{"name", definitions().time_name()}, {"attributes", attributes_json(definitions().time_attributes())}};
    json["attributes"] = attributes_json(definitions().attributes());
    for (const Dimension& d : definitions().dimensions()) {
        json["dimensions"].push_back({{"name", d.name}, {"length", d.length}, {"ragged", d.ragged}});
        if (!d.ragged) continue;
        const size_t k = json["row_sizes"].size();
        Json lengths = Json::array();
        for (const std::vector<uint64_t>& step : stream_.ragged) lengths.push_back(step.at(k));
        json["row_sizes"].push_back({{"name", row_size_name(d)}, {"dimension", d.name}, {"lengths", lengths}});
    }
    const auto& variables = definitions().variables();
    for (size_t i = 0; i < variables.size(); ++i) {
        const Variable& v = variables[i];
        std::vector<Attribute> attributes = v.attributes;
        if (v.fill.empty() && stream_.joined.contains(i))
            attributes.push_back(number_attribute("_FillValue", v.type, 1, netcdf_fill(v.type).data()));
        Json dims = Json::array();
        for (const int d : v.dims) dims.push_back(definitions().dimension(d).name);
        json["variables"].push_back({{"name", v.name},
                                     {"type", type_code(v.type)},
                                     {"dimensions", dims},
                                     {"shape", v.shape},
                                     {"static", v.is_static},
                                     {"replicated", v.replicated},
                                     {"attributes", attributes_json(attributes)}});
    }
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tailrace
