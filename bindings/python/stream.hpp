// The stream as Python sees it: the functions of the C contract, and two things that C leaves to its caller. Element type and shape
// of each array are compared with the variable. The arrays of a step are held until the step has ended.
#pragma once

#include <nanobind/nanobind.h>
#include <tailrace/tailrace.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "array.hpp"

namespace tailrace::python {

class Stream;

// A handle of a variable: its number, and the type and flags that each put needs. It gets everything else from the stream, so it
// cannot be used after the stream is closed.
class Variable {
public:
    Variable(const Stream &stream, int number);

    int number() const { return number_; }
    tailrace_var_info info() const;
    std::string name() const { return info().name; }
    const char *code() const { return type_code(type_); }
    nanobind::tuple shape() const;
    nanobind::tuple dims() const;
    bool is_static() const { return (flags_ & TAILRACE_STATIC) != 0; }
    bool replicated() const { return (flags_ & TAILRACE_REPLICATED) != 0; }
    bool holds_characters() const { return type_ == TAILRACE_CHAR; }
    bool is_ragged() const;

private:
    const Stream &stream_;
    int number_;
    tailrace_type type_;
    int flags_;
};

class Stream {
public:
    Stream(int fortran_comm, const std::string &directory, const std::string &name, const std::string &options);
    // No destructor closes the stream: closing is collective, and Python collects objects in no agreed order.
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;

    void define_dim(const std::string &name, uint64_t length);
    void define_var(const std::string &name, const std::string &code, const std::vector<std::string> &dims, int flags);
    // The length of each dimension by its name; TAILRACE_RAGGED for one that has another length in every step.
    nanobind::dict dimensions() const;
    std::vector<std::string> variable_names() const;
    Variable variable(const std::string &name) const;
    void put_attr(const std::string &var, const std::string &name, nanobind::handle values);
    void put_attr_texts(const std::string &var, const std::string &name, const std::vector<std::string> &texts);
    void put_attr_text(const std::string &var, const std::string &name, const std::string &text);

    void begin_step(double time);
    // Keeps one block; all blocks of a variable are handed over together when the step ends.
    void put(const Variable &variable, nanobind::handle values, const std::vector<uint64_t> &offset);
    // Hands over the elements at `indices` (a dense array of u8) of the dimension `along`.
    void put_indices(const Variable &variable, nanobind::handle values, const std::string &along, nanobind::handle indices);
    void put_replicated(const Variable &variable, nanobind::handle values);
    void end_step();
    // Collective with the end_step of the other ranks: they get an error with the text `reason`, and the step is dropped.
    // `status` is the name of the error's status.
    void abandon_step(const std::string &reason, const std::string &status);
    void flush();
    void close();

    bool closed() const { return stream_ == nullptr; }
    uint64_t step_count();
    std::string report();
    tailrace_var_info info_of(int variable) const;

private:
    struct Block {
        Array array;
        std::vector<uint64_t> offset;
    };

    // Scattered elements: their array, and the dimension that the indices are along.
    struct List {
        Array array;
        std::string along;
        Array indices;
    };

    tailrace_stream *opened() const;
    void forget_blocks() { blocks_.clear(), lists_.clear(); }
    void hand_over_blocks();

    std::string name_;
    tailrace_stream *stream_ = nullptr;
    const tailrace_definitions *definitions_ = nullptr;
    std::map<int, std::vector<Block>> blocks_;  // by the number of the variable
    std::map<int, std::vector<List>> lists_;
};

void define_stream(nanobind::module_ &module);

}  // namespace tailrace::python
