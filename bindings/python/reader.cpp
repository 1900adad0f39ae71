#include "reader.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "array.hpp"
#include "errors.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tailrace::python {

Reader::Reader(int fortran_comm, const std::string &directory, const std::string &name) : name_(name) {
    int status;
    {
        nb::gil_scoped_release released;
        status = tailrace_open_read_fortran(static_cast<MPI_Fint>(fortran_comm), contract_text(directory).c_str(),
                                            contract_text(name).c_str(), &reader_);
    }
    check(status);
}

tailrace_reader *Reader::opened() const {
    if (!reader_) fail(TAILRACE_BAD_ORDER, "the reader of stream '" + name_ + "' is closed; open it again");
    return reader_;
}

void Reader::select_step(int64_t step) {
    opened();
    int status;
    {
        nb::gil_scoped_release released;
        status = tailrace_select_step(reader_, step);
    }
    check(status);
}

void Reader::verify_reads(bool on) { check(tailrace_verify_reads(opened(), on ? 1 : 0)); }

std::string Reader::inquire() {
    const char *json = nullptr;
    check(tailrace_inquire(opened(), &json));
    return json;
}

void Reader::get(const std::string &var, nb::handle into, const std::vector<uint64_t> &offset) {
    opened();
    tailrace_type type;
    int ndims = 0;
    check(tailrace_inquire_var(reader_, var.c_str(), &type, &ndims, nullptr, nullptr));
    Array array(into, true);
    if (array.type() != type)
        fail_type("variable '" + var + "' holds " + type_code(type) + ", the array to read into " + type_code(array.type()));
    if (array.shape().size() != static_cast<size_t>(ndims) || offset.size() != static_cast<size_t>(ndims))
        fail(TAILRACE_BAD_SHAPE, "variable '" + var + "' has " + std::to_string(ndims) + " dimensions, the array to read into " +
                                     text_of(array.shape()) + " at offset " + text_of(offset));
    int status;
    {
        nb::gil_scoped_release released;
        const tailrace_target target{array.writable_data(), offset.data(), array.shape().data(), array.strides_bytes().data()};
        status = tailrace_get(reader_, var.c_str(), 1, &target);
    }
    check(status);
}

void Reader::get_indices(const std::string &var, const std::string &along, nb::handle indices, nb::handle into) {
    opened();
    const Array list(indices);
    std::optional<Array> array;
    try {
        tailrace_type type;
        int ndims = 0;
        check(tailrace_inquire_var(reader_, contract_text(var).c_str(), &type, &ndims, nullptr, nullptr));
        array.emplace(into, true);
        if (array->type() != type)
            fail_type("variable '" + var + "' holds " + type_code(type) + ", the array to read into " + type_code(array->type()));
        if (array->shape().size() != static_cast<size_t>(ndims))
            fail(TAILRACE_BAD_SHAPE, "variable '" + var + "' has " + std::to_string(ndims) +
                                         " dimensions, the array to read into " + text_of(array->shape()));
    } catch (...) {
        refuse_indices(var, along);
        throw;
    }
    int status;
    {
        nb::gil_scoped_release released;
        status =
            tailrace_get_indices(reader_, contract_text(var).c_str(), contract_text(along).c_str(), list.shape().at(0),
                                 static_cast<const uint64_t *>(list.data()), array->writable_data(), array->strides_bytes().data());
    }
    check(status);
}

void Reader::refuse_indices(const std::string &var, const std::string &along) {
    opened();
    nb::gil_scoped_release released;
    tailrace_get_indices(reader_, contract_text(var).c_str(), contract_text(along).c_str(), 1, nullptr, nullptr, nullptr);
}

void Reader::get_shared(const std::string &var, nb::handle into) {
    opened();
    Array array(into, true);
    if (!array.dense()) fail_type("variable '" + var + "' is read whole into a contiguous array");
    int status;
    {
        nb::gil_scoped_release released;
        status = tailrace_get_shared(reader_, var.c_str(), array.writable_data());
    }
    check(status);
}

void Reader::close() {
    if (!reader_) return;
    int status;
    {
        nb::gil_scoped_release released;
        status = tailrace_close_read(&reader_);
    }
    reader_ = nullptr;
    check(status);
}

void define_reader(nb::module_ &module) {
    nb::class_<Reader>(module, "Reader", "The C contract's reader; tailrace.Reader is the one to use.")
        .def(nb::init<int, const std::string &, const std::string &>(), "comm"_a, "directory"_a, "name"_a)
        .def("select_step", &Reader::select_step, "step"_a)
        .def("verify_reads", &Reader::verify_reads, "on"_a)
        .def("inquire", &Reader::inquire)
        .def("get", &Reader::get, "var"_a, "into"_a, "offset"_a)
        .def("get_indices", &Reader::get_indices, "var"_a, "along"_a, "indices"_a, "into"_a)
        .def("refuse_indices", &Reader::refuse_indices, "var"_a, "along"_a)
        .def("get_shared", &Reader::get_shared, "var"_a, "into"_a)
        .def("close", &Reader::close)
        .def_prop_ro("closed", &Reader::closed);
}

}  // namespace tailrace::python
