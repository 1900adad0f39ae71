// What a model hands over to a stream: definitions, then steps of blocks and values. The kinds of output differ in how a step
// reaches storage: its ranks write it (Stream), or forward it to ranks that only write (ForwardedStream).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/facts.hpp"
#include "layout/keys.hpp"
#include "record/definitions.hpp"
#include "stream/progress.hpp"
#include "stream/ragged.hpp"
#include "stream/step_data.hpp"
#include "stream/step_times.hpp"

namespace tailrace {

class Output {
public:
    virtual ~Output() = default;
    Output(const Output&) = delete;

    Definitions& definitions();  // throws BAD_ORDER once the ranks have agreed on them, in the first step
    const Definitions& current_definitions() const { return definitions_; }
    void define_dimension(const std::string& name, uint64_t length) {
        check_length(config_.layout, name, length);
        definitions().define_dimension(name, length);
    }
    // Takes over all definitions of another stream; once the ranks have agreed on them, only its attributes.
    void adopt(const Definitions& other);
    void put_attribute(const std::string& variable, Attribute attribute);
    const Shape& shape_of(const std::string& variable) { return definitions_.variables()[number_of(variable)].shape; }
    // The name of the variable with this number, from 0, in the order of definition.
    const std::string& name_of(size_t variable) const { return definitions_.variables().at(variable).name; }
    void begin_step(double time);
    void put_block(const std::string& variable, const Box& box, const void* data, const std::vector<int64_t>& stride_bytes);
    // Puts the elements at `indices` of one dimension. `stride_bytes`: one stride for each dimension of the variable; empty means
    // that the data is dense in C order.
    void put_indices(const std::string& variable, const std::string& dimension, std::span<const uint64_t> indices, const void* data,
                     const std::vector<int64_t>& stride_bytes);
    void put_replicated(const std::string& variable, const void* data);
    // Called when a put failed on this rank: makes the end_step of this step fail on all ranks.
    void refuse_step(const Error& error);
    // Makes the next end_step fail on all ranks, also outside a step.
    void refuse_next(const Error& error) { refusal_ = error; }

    // Collective calls, with the contracts of tailrace.h.
    virtual void end_step() = 0;
    virtual void flush() = 0;
    virtual void close() = 0;
    virtual std::string report() const = 0;
    // Local, called if the program ends without closing the stream: makes the files readable, as far as one rank can alone.
    // Returns on one rank a phrase that says what the stream contains; "" on the others.
    virtual std::string leave_open() = 0;

    virtual bool has_others() const = 0;  // whether other ranks wait for this one in collective calls

    uint64_t step_count() const { return progress_.next_step(); }
    const std::string& directory() const { return directory_; }
    const std::string& name() const { return name_; }

protected:
    // `directory` and `name`: as the caller gave them; an empty directory means ".".
    Output(const std::string& directory, const std::string& name) : directory_(directory.empty() ? "." : directory), name_(name) {}

    // Checks what this rank can check alone, before the ranks agree.
    void check_step() const;
    void check_between_steps(const char* call) const;
    // Whether the stream has no step and only static arrays, which close() then writes. Throws BAD_ORDER if an array was not put,
    // or is distributed: distributed arrays can only be written with a step.
    bool writes_static_only() const;
    // Throws the error of a close() within a step, on all ranks: the stream is closed, and does not contain the step.
    [[noreturn]] void fail_dropped_step() const;
    uint64_t fingerprint();
    // Equal on ranks with the same definitions and the same time of the step.
    uint64_t fingerprint_of_step();
    // Local. Continues behind the earlier steps that are kept. Called at the opening or, with mode = resume and no time given, in
    // the first step.
    void continue_after(const EarlierSteps& steps);
    bool resumes_with_this_step() const { return config_.mode == "resume" && !progress_.has_taken_step() && progress_.in_step(); }
    // The contents of fingerprint_of_step() as texts, for the error message when ranks differ.
    Facts facts_of_step() const;
    // Discards what the model put into a step that failed or will not be written.
    void forget_step() noexcept {
        data_.clear_blocks();
        refusal_.reset();
    }

    const std::string directory_, name_;
    StreamConfig config_;
    Definitions definitions_;
    StepData data_;
    Progress progress_;
    StepTimes times_;  // the times of the steps that the stream has
    double time_ = 0;
    std::optional<Error> refusal_;

private:
    // The variable with number `v`, for a put of a block; throws if it may not be put now. `call`: the name in the message.
    const Variable& checked_for_put(size_t v, const char* call) const;
    // An index list with these indices, which all puts with the same indices share.
    IndexList shared_list(std::span<const uint64_t> indices);
    // The number of the variable with this name; throws NOT_FOUND. Called twice for each put. Most puts come in the order of the
    // definitions, so the variable after the last one is tried first, without a search.
    size_t number_of(const std::string& variable);

    std::optional<uint64_t> fingerprint_;
    size_t number_found_ = 0;
    std::vector<IndexList> lists_;  // the index lists of this step, and those that the plan of its variables holds
};

}  // namespace tailrace
