#include "stream.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "errors.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tailrace::python {
namespace {

// An attribute of the stream itself has no variable.
const char *or_null(const std::string &var) { return var.empty() ? nullptr : var.c_str(); }

}  // namespace

Stream::Stream(int fortran_comm, const std::string &directory, const std::string &name, const std::string &options) : name_(name) {
    int status;
    {
        nb::gil_scoped_release released;
        status =
            tailrace_open_fortran(static_cast<MPI_Fint>(fortran_comm), directory.c_str(), name.c_str(), options.c_str(), &stream_);
    }
    check(status);
}

tailrace_stream *Stream::opened() const {
    if (!stream_) fail(TAILRACE_BAD_ORDER, "stream '" + name_ + "' is closed; open it again to append to it");
    return stream_;
}

const Stream::Variable &Stream::variable(const std::string &name) const {
    const auto found = variables_.find(name);
    if (found == variables_.end()) {
        fail(TAILRACE_NOT_FOUND, "stream '" + name_ + "' has no variable '" + name + "'; define it with var() first");
    }
    return found->second;
}

void Stream::define_dim(const std::string &name, uint64_t length) {
    check(tailrace_define_dim(opened(), name.c_str(), length));
    dims_[name] = length;
}

void Stream::define_var(const std::string &name, const std::string &code, const std::vector<std::string> &dims, int flags) {
    const tailrace_type type = type_of_code(code);
    std::vector<const char *> names;
    for (const std::string &dim : dims) names.push_back(dim.c_str());
    check(tailrace_define_var(opened(), name.c_str(), type, static_cast<int>(names.size()), names.data(), flags));
    Variable defined{type, {}};
    for (const std::string &dim : dims) defined.shape.push_back(dims_.at(dim));
    variables_.insert_or_assign(name, std::move(defined));
}

void Stream::put_attr(const std::string &var, const std::string &name, nb::handle values) {
    const Array array(values);
    if (!array.dense()) fail_type("attribute '" + name + "' needs a contiguous array; pass numpy.ascontiguousarray(values)");
    uint64_t count = 1;
    for (uint64_t extent : array.shape()) count *= extent;
    check(tailrace_put_attr(opened(), or_null(var), name.c_str(), array.type(), count, array.data()));
}

void Stream::put_attr_text(const std::string &var, const std::string &name, const std::string &text) {
    check(tailrace_put_attr_text(opened(), or_null(var), name.c_str(), text.c_str()));
}

void Stream::begin_step(double time) {
    check(tailrace_begin_step(opened(), time));
    blocks_.clear();
}

void Stream::compare_type(const std::string &name, const Variable &variable, const Array &array) const {
    if (array.type() == variable.type) return;
    const std::string wanted = type_code(variable.type);
    fail_type("variable '" + name + "' holds " + wanted + ", the array holds " + type_code(array.type()) + "; pass array.astype('" +
              wanted + "') or define the variable with the array's type");
}

void Stream::put(const std::string &var, nb::handle values, const std::vector<uint64_t> &offset) {
    opened();
    const Variable &target = variable(var);
    Array array(values);
    compare_type(var, target, array);
    if (array.shape().size() != target.shape.size()) {
        fail(TAILRACE_BAD_SHAPE, "variable '" + var + "' has shape " + text_of(target.shape) + ", the block has shape " +
                                     text_of(array.shape()) + "; a block has as many dimensions as its variable");
    }
    if (offset.size() != target.shape.size()) {
        fail(TAILRACE_BAD_SHAPE, "offset " + text_of(offset) + " of a block of variable '" + var + "' needs " +
                                     std::to_string(target.shape.size()) + " numbers, one for each dimension");
    }
    blocks_[var].push_back(Block{std::move(array), offset});
}

void Stream::put_replicated(const std::string &var, nb::handle values) {
    const Variable &target = variable(var);
    const Array array(values);
    compare_type(var, target, array);
    if (array.shape() != target.shape) {
        fail(TAILRACE_BAD_SHAPE, "replicated variable '" + var + "' has shape " + text_of(target.shape) + ", the array has shape " +
                                     text_of(array.shape()) + "; pass the whole array");
    }
    if (!array.dense()) fail_type("variable '" + var + "' needs a contiguous array; pass numpy.ascontiguousarray(values)");
    check(tailrace_put_replicated(opened(), var.c_str(), array.data()));
}

// What tailrace_put refuses, tailrace_end_step returns again, and on all ranks: so its own status is not looked at here.
void Stream::hand_over_blocks() {
    for (const auto &[var, held] : blocks_) {
        std::vector<tailrace_block> blocks;
        for (const Block &block : held) {
            const Array &array = block.array;
            blocks.push_back({array.data(), block.offset.data(), array.shape().data(), array.strides_bytes().data()});
        }
        tailrace_put(stream_, var.c_str(), static_cast<int>(blocks.size()), blocks.data());
    }
}

void Stream::end_step() {
    opened();
    int status;
    {
        nb::gil_scoped_release released;
        hand_over_blocks();
        status = tailrace_end_step(stream_);
    }
    blocks_.clear();
    check(status);
}

void Stream::abandon_step(const std::string &reason) {
    opened();
    blocks_.clear();
    int status;
    {
        nb::gil_scoped_release released;
        tailrace_refuse_step(stream_, TAILRACE_ABANDONED, reason.c_str());
        status = tailrace_end_step(stream_);
    }
    if (status == TAILRACE_OK) fail(TAILRACE_INTERNAL, "an abandoned step of stream '" + name_ + "' was committed");
}

void Stream::flush() {
    opened();
    int status;
    {
        nb::gil_scoped_release released;
        status = tailrace_flush(stream_);
    }
    check(status);
}

void Stream::close() {
    if (!stream_) return;
    int status;
    {
        nb::gil_scoped_release released;
        status = tailrace_close(&stream_);
    }
    stream_ = nullptr;
    blocks_.clear();
    check(status);
}

uint64_t Stream::step_count() {
    uint64_t steps = 0;
    check(tailrace_step_count(opened(), &steps));
    return steps;
}

std::string Stream::report() {
    const char *json = nullptr;
    check(tailrace_report(opened(), &json));
    return json;
}

void define_stream(nb::module_ &module) {
    module.attr("RAGGED") = uint64_t{TAILRACE_RAGGED};
    module.attr("STATIC") = static_cast<int>(TAILRACE_STATIC);
    module.attr("REPLICATED") = static_cast<int>(TAILRACE_REPLICATED);
    nb::class_<Stream>(module, "Stream", "The C contract's stream; tailrace.Stream is the one to use.")
        .def(nb::init<int, const std::string &, const std::string &, const std::string &>(), "comm"_a, "directory"_a, "name"_a,
             "options"_a)
        .def("define_dim", &Stream::define_dim, "name"_a, "length"_a)
        .def("define_var", &Stream::define_var, "name"_a, "type"_a, "dims"_a, "flags"_a)
        .def("put_attr", &Stream::put_attr, "var"_a, "name"_a, "values"_a)
        .def("put_attr_text", &Stream::put_attr_text, "var"_a, "name"_a, "text"_a)
        .def("begin_step", &Stream::begin_step, "time"_a)
        .def("put", &Stream::put, "var"_a, "values"_a, "offset"_a)
        .def("put_replicated", &Stream::put_replicated, "var"_a, "values"_a)
        .def("end_step", &Stream::end_step)
        .def("abandon_step", &Stream::abandon_step, "reason"_a)
        .def("flush", &Stream::flush)
        .def("close", &Stream::close)
        .def_prop_ro("closed", &Stream::closed)
        .def("step_count", &Stream::step_count)
        .def("report", &Stream::report);
}

}  // namespace tailrace::python
