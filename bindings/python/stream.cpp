#include "stream.hpp"

#include <algorithm>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "errors.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tailrace::python {
namespace {

std::vector<uint64_t> shape_of(const tailrace_var_info &info) { return {info.shape, info.shape + info.ndims}; }

void compare_type(const tailrace_var_info &variable, const Array &array) {
    if (array.type() == variable.type) return;
    const std::string wanted = type_code(variable.type);
    fail_type("variable '" + std::string(variable.name) + "' holds " + wanted + ", the array holds " + type_code(array.type()) +
              "; pass array.astype('" + wanted + "') or define the variable with the array's type");
}

}  // namespace

// ---- variables ----------------------------------------------------------------------------------------------------------------

Variable::Variable(const Stream &stream, int number) : stream_(stream), number_(number) {
    const tailrace_var_info variable = info();
    type_ = variable.type;
    flags_ = variable.flags;
}

tailrace_var_info Variable::info() const { return stream_.info_of(number_); }

nb::tuple Variable::shape() const { return nb::tuple(nb::cast(shape_of(info()))); }

nb::tuple Variable::dims() const {
    const tailrace_var_info variable = info();
    return nb::tuple(nb::cast(std::vector<int>(variable.dims, variable.dims + variable.ndims)));
}

bool Variable::is_ragged() const {
    const tailrace_var_info variable = info();
    return variable.ndims > 0 && variable.shape[0] == TAILRACE_RAGGED;
}

// ---- opening and definitions ----------------------------------------------------------------------------------------------------

Stream::Stream(int fortran_comm, const std::string &directory, const std::string &name, const std::string &options) : name_(name) {
    int status;
    {
        nb::gil_scoped_release released;
        status = tailrace_open_fortran(static_cast<MPI_Fint>(fortran_comm), contract_text(directory).c_str(),
                                       contract_text(name).c_str(), contract_text(options).c_str(), &stream_);
    }
    if (status != TAILRACE_OK) tailrace_close(&stream_);  // keeps the error message of the opening
    check(status);
    check(tailrace_get_definitions(stream_, &definitions_));
}

tailrace_stream *Stream::opened() const {
    if (!stream_) fail(TAILRACE_BAD_ORDER, "stream '" + name_ + "' is closed; open it again to append to it");
    return stream_;
}

void Stream::define_dim(const std::string &name, uint64_t length) {
    check(tailrace_define_dim(opened(), contract_text(name).c_str(), length));
}

void Stream::define_var(const std::string &name, const std::string &code, const std::vector<std::string> &dims, int flags) {
    const tailrace_type type = type_of_code(code);
    std::vector<std::string> texts;
    for (const std::string &dim : dims) texts.push_back(contract_text(dim));
    std::vector<const char *> names;
    for (const std::string &dim : texts) names.push_back(dim.c_str());
    check(tailrace_define_var(opened(), contract_text(name).c_str(), type, static_cast<int>(names.size()), names.data(), flags));
}

nb::dict Stream::dimensions() const {
    opened();
    int count = 0;
    check(tailrace_inquire_dims(definitions_, &count));
    nb::dict lengths;
    for (int dim = 0; dim < count; ++dim) {
        tailrace_dim_info info;
        check(tailrace_inquire_dim(definitions_, dim, &info));
        lengths[info.name] = info.length;
    }
    return lengths;
}

std::vector<std::string> Stream::variable_names() const {
    opened();
    int count = 0;
    check(tailrace_inquire_vars(definitions_, &count));
    std::vector<std::string> names;
    for (int variable = 0; variable < count; ++variable) names.emplace_back(info_of(variable).name);
    return names;
}

Variable Stream::variable(const std::string &name) const {
    opened();
    int number = 0;
    check(tailrace_inquire_var_id(definitions_, contract_text(name).c_str(), &number));
    return {*this, number};
}

tailrace_var_info Stream::info_of(int variable) const {
    opened();
    tailrace_var_info info;
    check(tailrace_inquire_var_info(definitions_, variable, &info));
    return info;
}

// ---- attributes and steps -------------------------------------------------------------------------------------------------------

void Stream::put_attr(const std::string &var, const std::string &name, nb::handle values) {
    const Array array(values);
    if (!array.dense()) fail_type("attribute '" + name + "' needs a contiguous array; pass numpy.ascontiguousarray(values)");
    uint64_t count = 1;
    for (uint64_t extent : array.shape()) count *= extent;
    check(tailrace_put_attr(opened(), contract_text(var).c_str(), contract_text(name).c_str(), array.type(), count, array.data()));
}

void Stream::put_attr_texts(const std::string &var, const std::string &name, const std::vector<std::string> &texts) {
    std::vector<std::string> held;
    for (const std::string &text : texts) held.push_back(contract_text(text));
    std::vector<const char *> list;
    for (const std::string &text : held) list.push_back(text.c_str());
    check(tailrace_put_attr_texts(opened(), contract_text(var).c_str(), contract_text(name).c_str(), list.size(), list.data()));
}

void Stream::put_attr_text(const std::string &var, const std::string &name, const std::string &text) {
    check(tailrace_put_attr_text(opened(), contract_text(var).c_str(), contract_text(name).c_str(), contract_text(text).c_str()));
}

void Stream::begin_step(double time) {
    check(tailrace_begin_step(opened(), time));
    forget_blocks();
}

void Stream::put(const Variable &variable, nb::handle values, const std::vector<uint64_t> &offset) {
    const tailrace_var_info target = variable.info();
    const auto ndims = static_cast<size_t>(target.ndims);
    Array array(values);
    compare_type(target, array);
    if (array.shape().size() != ndims) {
        fail(TAILRACE_BAD_SHAPE, "variable '" + std::string(target.name) + "' has shape " + text_of(shape_of(target)) +
                                     ", the block has shape " + text_of(array.shape()) +
                                     "; a block has as many dimensions as its variable");
    }
    if (offset.size() != ndims) {
        fail(TAILRACE_BAD_SHAPE, "offset " + text_of(offset) + " of a block of variable '" + target.name + "' needs " +
                                     std::to_string(ndims) + " numbers, one for each dimension");
    }
    blocks_[variable.number()].push_back(Block{std::move(array), offset});
}

void Stream::put_indices(const Variable &variable, nb::handle values, const std::string &along, nb::handle indices) {
    const tailrace_var_info target = variable.info();
    Array array(values), list(indices);
    compare_type(target, array);
    int dim = 0;
    check(tailrace_inquire_dim_id(definitions_, contract_text(along).c_str(), &dim));
    std::vector<uint64_t> expected = shape_of(target);
    const auto at = std::find(target.dims, target.dims + target.ndims, dim) - target.dims;
    if (at < target.ndims) expected[static_cast<size_t>(at)] = list.shape().at(0);
    if (array.shape() != expected)
        fail(TAILRACE_BAD_SHAPE, "variable '" + std::string(target.name) + "': an array of shape " + text_of(array.shape()) +
                                     " for " + text_of(list.shape()) + " indices along '" + along + "' needs shape " +
                                     text_of(expected));
    lists_[variable.number()].push_back(List{std::move(array), along, std::move(list)});
}

void Stream::put_replicated(const Variable &variable, nb::handle values) {
    const tailrace_var_info target = variable.info();
    const std::string name = target.name;
    const Array array(values);
    compare_type(target, array);
    if (array.shape() != shape_of(target)) {
        fail(TAILRACE_BAD_SHAPE, "replicated variable '" + name + "' has shape " + text_of(shape_of(target)) +
                                     ", the array has shape " + text_of(array.shape()) + "; pass the whole array");
    }
    if (!array.dense()) fail_type("variable '" + name + "' needs a contiguous array; pass numpy.ascontiguousarray(values)");
    check(tailrace_put_replicated(opened(), target.name, array.data()));
}

// Hands the held blocks to tailrace_put and ignores its status: tailrace_end_step returns an error of a put again, on all ranks.
void Stream::hand_over_blocks() {
    for (const auto &[variable, held] : blocks_) {
        std::vector<tailrace_block> blocks;
        for (const Block &block : held) {
            const Array &array = block.array;
            blocks.push_back({array.data(), block.offset.data(), array.shape().data(), array.strides_bytes().data()});
        }
        tailrace_var_info info;
        if (tailrace_inquire_var_info(definitions_, variable, &info) == TAILRACE_OK)
            tailrace_put(stream_, info.name, static_cast<int>(blocks.size()), blocks.data());
    }
    for (const auto &[variable, held] : lists_) {
        tailrace_var_info info;
        if (tailrace_inquire_var_info(definitions_, variable, &info) != TAILRACE_OK) continue;
        for (const List &list : held)
            tailrace_put_indices(stream_, info.name, list.along.c_str(), list.indices.shape()[0],
                                 static_cast<const uint64_t *>(list.indices.data()), list.array.data(),
                                 list.array.strides_bytes().data());
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
    forget_blocks();
    check(status);
}

void Stream::abandon_step(const std::string &reason, const std::string &status_name) {
    opened();
    forget_blocks();
    int status;
    {
        nb::gil_scoped_release released;
        tailrace_refuse_step(stream_, status_named(status_name), reason.c_str());
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
    forget_blocks();
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
    nb::class_<Variable>(module, "Variable", "A variable of an open stream, by its number.")
        .def_prop_ro("name", &Variable::name)
        .def_prop_ro("code", &Variable::code)
        .def_prop_ro("shape", &Variable::shape)
        .def_prop_ro("dims", &Variable::dims)
        .def_prop_ro("is_static", &Variable::is_static)
        .def_prop_ro("replicated", &Variable::replicated)
        .def_prop_ro("holds_characters", &Variable::holds_characters)
        .def_prop_ro("is_ragged", &Variable::is_ragged);
    nb::class_<Stream>(module, "Stream", "The C contract's stream; tailrace.Stream is the one to use.")
        .def(nb::init<int, const std::string &, const std::string &, const std::string &>(), "comm"_a, "directory"_a, "name"_a,
             "options"_a)
        .def("define_dim", &Stream::define_dim, "name"_a, "length"_a)
        .def("define_var", &Stream::define_var, "name"_a, "type"_a, "dims"_a, "flags"_a)
        .def_prop_ro("dimensions", &Stream::dimensions)
        .def_prop_ro("variable_names", &Stream::variable_names)
        .def("variable", &Stream::variable, "name"_a, nb::keep_alive<0, 1>())
        .def("put_attr", &Stream::put_attr, "var"_a, "name"_a, "values"_a)
        .def("put_attr_texts", &Stream::put_attr_texts, "var"_a, "name"_a, "texts"_a)
        .def("put_attr_text", &Stream::put_attr_text, "var"_a, "name"_a, "text"_a)
        .def("begin_step", &Stream::begin_step, "time"_a)
        .def("put", &Stream::put, "variable"_a, "values"_a, "offset"_a)
        .def("put_indices", &Stream::put_indices, "variable"_a, "values"_a, "along"_a, "indices"_a)
        .def("put_replicated", &Stream::put_replicated, "variable"_a, "values"_a)
        .def("end_step", &Stream::end_step)
        .def("abandon_step", &Stream::abandon_step, "reason"_a, "status"_a)
        .def("flush", &Stream::flush)
        .def("close", &Stream::close)
        .def_prop_ro("closed", &Stream::closed)
        .def("step_count", &Stream::step_count)
        .def("report", &Stream::report);
}

}  // namespace tailrace::python
