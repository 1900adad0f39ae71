#include "stream/output.hpp"

#include <tailrace/tailrace.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/journal.hpp"
#include "layout/name.hpp"
#include "layout/notation.hpp"
#include "record/definition_facts.hpp"
#include "record/definitions_json.hpp"

namespace tailrace {
namespace {

constexpr size_t kMostSharedLists = 64;  // how many lists a put compares with its own

}  // namespace

namespace {

// Whether this rank has put any data. If not, a stream without steps can be closed without writing, and nothing is lost.
bool has_any(const StepData& data) {
    const auto holds = [](const auto& of_variable) { return !of_variable.empty(); };
    return std::ranges::any_of(data.boxes, holds) || std::ranges::any_of(data.lists, holds) ||
           std::ranges::any_of(data.values, holds);
}

bool has_names_in_nfc(const Definitions& definitions) {
    const auto is_nfc = [](const auto& named) { return nfc(named.name) == named.name; };
    return std::ranges::all_of(definitions.dimensions(), is_nfc) &&
           std::ranges::all_of(definitions.variables(), [&](const Variable& variable) {
               return is_nfc(variable) && std::ranges::all_of(variable.attributes, is_nfc);
           });
}

}  // namespace

Definitions& Output::definitions() {
    if (progress_.definitions_frozen())
        fail(Status::BAD_ORDER, "stream '", name_, "': dimensions and variables are defined before the first step has ended");
    fingerprint_.reset();
    return definitions_;
}

void Output::adopt(const Definitions& given) {
    // A stream of an earlier version may have names that are not in Unicode normal form C (NFC).
    const bool is_spelled = has_names_in_nfc(given);
    const Definitions spelled = is_spelled ? Definitions() : definitions_of(definitions_json(given), Definitions::Spelling::nfc);
    const Definitions& other = is_spelled ? given : spelled;
    for (const Dimension& dimension : other.dimensions())
        if (dimension.ragged) check_length(config_.layout, dimension.name, TAILRACE_RAGGED);
    if (!progress_.definitions_frozen()) return void(definitions() = other);
    std::string why;
    if (!definitions_.same_structure(other, why))
        fail(Status::BAD_ORDER, "stream '", name_, "': its definitions stay as they were in the first step: ", why);
    fingerprint_.reset();
    definitions_ = other;
}

void Output::put_attribute(const std::string& variable, Attribute attribute) {
    fingerprint_.reset();
    definitions_.put_attribute(variable, std::move(attribute));
}

void Output::begin_step(double time) {
    if (progress_.in_step())
        fail(Status::BAD_ORDER, "stream '", name_, "': tailrace_begin_step within a step; call tailrace_end_step first");
    if (!std::isfinite(time))
        fail(Status::BAD_ARGUMENT, "stream '", name_, "': the time of a step is ", time, "; it must be a finite number");
    progress_.begin_step();
    time_ = time;
    refusal_.reset();
    data_.resize(definitions_.variables().size());
    data_.clear_blocks();
    std::erase_if(lists_, [](const IndexList& list) { return list.use_count() == 1; });
    // Forget the values of the last step, so that a variable which is not put in this step is an error.
    for (size_t v = 0; v < data_.values.size(); ++v)
        if (!definitions_.variables()[v].is_static) data_.values[v].clear();
}

size_t Output::number_of(const std::string& variable) {
    const std::vector<Variable>& variables = definitions_.variables();
    for (const size_t v : {number_found_, number_found_ + 1, size_t{0}})
        if (v < variables.size() && variables[v].name == variable) return number_found_ = v;
    return number_found_ = definitions_.index_of(variable);
}

const Variable& Output::checked_for_put(size_t v, const char* call) const {
    const Variable& variable = definitions_.variables()[v];
    if (variable.replicated)
        fail(Status::BAD_ORDER, "variable '", variable.name, "' is replicated: put it with tailrace_put_replicated");
    if (!progress_.in_step())
        fail(Status::BAD_ORDER, "variable '", variable.name, "': ", call, " outside a step; call tailrace_begin_step first");
    return variable;
}

void Output::put_block(const std::string& name, const Box& box, const void* data, const std::vector<int64_t>& stride_bytes) {
    const size_t v = number_of(name);
    const Variable& variable = checked_for_put(v, "tailrace_put");
    if (variable.is_static && progress_.statics_stored()) return;  // it is stored already, and is the same in all steps
    for (size_t d = definitions_.is_ragged(variable) ? 1 : 0; d < variable.shape.size(); ++d)
        if (box.offset[d] > variable.shape[d] || box.count[d] > variable.shape[d] - box.offset[d])
            fail(Status::BAD_SHAPE, "variable '", name, "': block ", tailrace::describe(box), " leaves the array in dimension ",
                 dimension_text(d, variable.shape.size()), " ('",
                 definitions_.dimensions()[static_cast<size_t>(variable.dims[d])].name, "', length ", variable.shape[d], "); ",
                 counting_rule());
    if (data == nullptr && box.elements() > 0) fail(Status::BAD_ARGUMENT, "variable '", name, "': the data of a block is NULL");
    if (box.elements() == 0) return;
    data_.resize(definitions_.variables().size());
    data_.boxes[v].push_back(box);
    data_.memory[v].emplace_back(data, type_bytes(variable.type), box.count, stride_bytes);
}

// Returns a known list if it is equal. A model puts many variables with one list in each step: comparing takes less time than a
// copy, and the list is in memory only once.
IndexList Output::shared_list(std::span<const uint64_t> indices) {
    for (const IndexList& known : lists_)
        if (std::ranges::equal(*known, indices)) return known;
    if (lists_.size() >= kMostSharedLists) return std::make_shared<const std::vector<uint64_t>>(indices.begin(), indices.end());
    return lists_.emplace_back(std::make_shared<const std::vector<uint64_t>>(indices.begin(), indices.end()));
}

void Output::put_indices(const std::string& name, const std::string& dimension, std::span<const uint64_t> indices, const void* data,
                         const std::vector<int64_t>& stride_bytes) {
    const size_t v = number_of(name);
    const Variable& variable = checked_for_put(v, "tailrace_put_indices");
    const size_t dim = definitions_.dimension_of(variable, dimension);
    if (variable.is_static && progress_.statics_stored()) return;
    if (definitions_.is_ragged(variable))
        fail(Status::UNSUPPORTED, "variable '", name, "' has a ragged dimension, '", definitions_.dimension(variable.dims[0]).name,
             "': lists of indices need fixed lengths; put blocks");
    check_indices(definitions_, variable, dim, indices);
    Box box = whole_box(variable.shape);
    box.count[dim] = indices.size();
    if (data == nullptr && box.elements() > 0) fail(Status::BAD_ARGUMENT, "variable '", name, "': the data of a list is NULL");
    if (box.elements() == 0) return;
    data_.resize(definitions_.variables().size());
    data_.lists[v].push_back({dim, shared_list(indices), BlockView(data, type_bytes(variable.type), box.count, stride_bytes)});
}

void Output::put_replicated(const std::string& name, const void* data) {
    const size_t v = number_of(name);
    const Variable& variable = definitions_.variables()[v];
    if (!variable.replicated)
        fail(Status::BAD_ORDER, "variable '", name,
             "' is distributed: put it with tailrace_put, or define it with TAILRACE_REPLICATED");
    if (!progress_.in_step() && !variable.is_static)
        fail(Status::BAD_ORDER, "variable '", name, "' changes per step: put it between tailrace_begin_step and tailrace_end_step");
    if (data == nullptr && variable.bytes() > 0) fail(Status::BAD_ARGUMENT, "variable '", name, "': the data is NULL");
    data_.resize(definitions_.variables().size());
    if (variable.is_static && progress_.statics_stored()) return;
    const auto* bytes = static_cast<const std::byte*>(data);
    data_.values[v].assign(bytes, bytes + variable.bytes());
}

void Output::refuse_step(const Error& error) {
    if (progress_.in_step() && !refusal_) refusal_ = error;
}

void Output::continue_after(const EarlierSteps& steps) {
    progress_.continue_at(steps.next_step());
    times_ = steps.kept_times();
}

uint64_t Output::fingerprint() {
    if (!fingerprint_) fingerprint_ = definitions_.fingerprint();
    return *fingerprint_;
}

void Output::check_step() const {
    if (refusal_) throw *refusal_;
    if (!progress_.in_step()) fail(Status::BAD_ORDER, "stream '", name_, "': tailrace_end_step without tailrace_begin_step");
    times_.check(time_, "stream '" + name_ + "' in " + directory_);
    for (size_t v = 0; v < definitions_.variables().size(); ++v) {
        const Variable& variable = definitions_.variables()[v];
        if (variable.replicated && data_.values[v].empty() && variable.bytes() > 0)
            fail(Status::BAD_ORDER, "variable '", variable.name, "' was not put: ",
                 variable.is_static ? "a static variable is put before or in the first step"
                                    : "a replicated variable is put in every step");
    }
}

void Output::check_between_steps(const char* call) const {
    if (progress_.in_step())
        fail(Status::BAD_ORDER, "stream '", name_, "': ", call, " within a step; call tailrace_end_step first");
}

bool Output::writes_static_only() const {
    const std::vector<Variable>& variables = definitions_.variables();
    if (progress_.next_step() > 0 || !has_any(data_) || !std::ranges::all_of(variables, &Variable::is_static)) return false;
    for (size_t v = 0; v < variables.size(); ++v) {
        const Variable& variable = variables[v];
        if (!variable.replicated)
            fail(Status::BAD_ORDER, "stream '", name_, "' is closed without a step, and static variable '", variable.name,
                 "' is distributed over the ranks: it is written in a step; begin and end one, or define it with ",
                 "TAILRACE_REPLICATED and put it whole");
        if (variable.bytes() > 0 && (v >= data_.values.size() || data_.values[v].empty()))
            fail(Status::BAD_ORDER, "stream '", name_, "' is closed without a step, and static variable '", variable.name,
                 "' was not put; put it before tailrace_close");
    }
    return true;
}

void Output::fail_dropped_step() const {
    throw Error(Status::BAD_ORDER,
                text("stream '", name_, "': tailrace_close within step ", progress_.next_step(),
                     ": the stream is closed, and this step is not in it; call tailrace_end_step first"),
                Origin::several_ranks);
}

uint64_t Output::fingerprint_of_step() {
    uint64_t time_bits;
    std::memcpy(&time_bits, &time_, sizeof time_bits);
    return fingerprint() * 31 + time_bits;
}

Facts Output::facts_of_step() const {
    Facts facts = definition_facts(definitions_);
    facts.emplace_back("the time of the step", Json(time_).dump());
    return facts;
}

}  // namespace tailrace
