// The stream as Python sees it: the functions of the C contract, plus what C leaves to the caller's types - element type and
// shape of each array are compared with the variable - and the arrays of a step, held until the step has ended.
#pragma once

#include <nanobind/nanobind.h>
#include <tailrace/tailrace.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "array.hpp"

namespace tailrace::python {

class Stream {
public:
    Stream(int fortran_comm, const std::string &directory, const std::string &name, const std::string &options);
    // No destructor closes the stream: closing is collective, and when Python collects an object is nobody's order.
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;

    void define_dim(const std::string &name, uint64_t length);
    void define_var(const std::string &name, const std::string &code, const std::vector<std::string> &dims, int flags);
    void put_attr(const std::string &var, const std::string &name, nanobind::handle values);
    void put_attr_text(const std::string &var, const std::string &name, const std::string &text);

    void begin_step(double time);
    // Holds one block; several for one variable are handed over together when the step ends.
    void put(const std::string &var, nanobind::handle values, const std::vector<uint64_t> &offset);
    void put_replicated(const std::string &var, nanobind::handle values);
    void end_step();
    // Collective, like the end_step that the other ranks are in: they get an error that carries `reason`, no rank keeps the step.
    void abandon_step(const std::string &reason);
    void flush();
    void close();

    bool closed() const { return stream_ == nullptr; }
    uint64_t step_count();
    std::string report();

private:
    struct Variable {
        tailrace_type type;
        std::vector<uint64_t> shape;
    };
    struct Block {
        Array array;
        std::vector<uint64_t> offset;
    };

    tailrace_stream *opened() const;
    const Variable &variable(const std::string &name) const;
    void compare_type(const std::string &name, const Variable &variable, const Array &array) const;
    void hand_over_blocks();

    std::string name_;
    tailrace_stream *stream_ = nullptr;
    std::map<std::string, uint64_t> dims_;
    std::map<std::string, Variable> variables_;
    std::map<std::string, std::vector<Block>> blocks_;
};

void define_stream(nanobind::module_ &module);

}  // namespace tailrace::python
