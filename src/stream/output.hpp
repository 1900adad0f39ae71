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
    // By its number, in the order of definition.
    const std::string& name_of(size_t variable) const { return definitions_.variables().at(variable).name; }
    void begin_step(double time);
    void put_block(const std::string& variable, const Box& box, const void* data, const std::vector<int64_t>& stride_bytes);
    // The elements under `indices` of a dimension. `stride_bytes` of each dimension of the variable, empty: dense in C order.
    void put_indices(const std::string& variable, const std::string& dimension, std::span<const uint64_t> indices, const void* data,
                     const std::vector<int64_t>& stride_bytes);
    void put_replicated(const std::string& variable, const void* data);
    // A put failed on this rank: end_step then fails on all.
    void refuse_step(const Error& error);
    // Makes the next end_step fail on all ranks, also outside a step.
    void refuse_next(const Error& error) { refusal_ = error; }

    // Collective, as in tailrace.h.
    virtual void end_step() = 0;
    virtual void flush() = 0;
    virtual void close() = 0;
    virtual std::string report() const = 0;
    // Local, where the program ends without closing the stream: leaves storage as readers expect it, as far as one rank can alone.
    // Returns on one rank what there is, as a phrase; "" on others.
    virtual std::string leave_open() = 0;

    virtual bool has_others() const = 0;  // ranks that wait for this one in collective calls

    uint64_t step_count() const { return progress_.next_step(); }
    const std::string& directory() const { return directory_; }
    const std::string& name() const { return name_; }

protected:
    // `directory` and `name` as they were given.
    Output(const std::string& directory, const std::string& name) : directory_(directory.empty() ? "." : directory), name_(name) {}

    // What this rank can check alone, before the ranks agree.
    void check_step() const;
    void check_between_steps(const char* call) const;
    // Whether there is no step, and the stream has static arrays alone: then close() writes these. Throws BAD_ORDER where an array
    // was not put, or is distributed, which takes a step.
    bool writes_static_only() const;
    // Of a close within a step, on all ranks: the stream is closed, and the step is not in it.
    [[noreturn]] void fail_dropped_step() const;
    uint64_t fingerprint();
    // Equal on ranks with the same definitions and the same time of the step.
    uint64_t fingerprint_of_step();
    // Local. Which steps of earlier runs stay is known at the opening or, with mode = resume and no time, in the first step.
    void continue_after(const EarlierSteps& steps);
    bool resumes_with_this_step() const { return config_.mode == "resume" && !progress_.has_taken_step() && progress_.in_step(); }
    // The same as texts, for the message where they are not equal.
    Facts facts_of_step() const;
    // What the model put into a step that failed or will not be written.
    void forget_step() noexcept {
        data_.clear_blocks();
        refusal_.reset();
    }

    const std::string directory_, name_;
    StreamConfig config_;
    Definitions definitions_;
    StepData data_;
    Progress progress_;
    StepTimes times_;  // of the steps that are there
    double time_ = 0;
    std::optional<Error> refusal_;

private:
    // A variable that is put in blocks; throws where it may not be put now.
    const Variable& checked_for_put(size_t v, const char* call) const;
    // The same list for all puts with these indices.
    IndexList shared_list(std::span<const uint64_t> indices);
    // Throws NOT_FOUND. Called twice for each put, and puts mostly come in the order of the definitions: then it needs no search.
    size_t number_of(const std::string& variable);

    std::optional<uint64_t> fingerprint_;
    size_t number_found_ = 0;
    std::vector<IndexList> lists_;  // of this step and those that the plan of its variables holds
};

}  // namespace tailrace
