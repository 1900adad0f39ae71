// tailrace._core: the C contract as a Python extension. It uses only <tailrace/tailrace.h> and the two lists that it includes.
#include <mpi.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <tailrace/tailrace.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "array.hpp"
#include "errors.hpp"
#include "reader.hpp"
#include "stream.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tailrace::python {
namespace {

// Calls a function of the contract that returns text, without holding the GIL. Copies the text and frees it.
template <typename Call>
std::string text_from(Call call) {
    char *text = nullptr;
    int status;
    {
        nb::gil_scoped_release released;
        status = call(&text);
    }
    if (PyErr_Occurred()) {  // of a function of Python's that was called meanwhile
        tailrace_free(text);
        nb::raise_python_error();
    }
    check(status);
    std::string copy = text ? text : "";
    tailrace_free(text);
    return copy;
}

// A tailrace_progress that calls a Python function. An exception, such as that of Ctrl-C, stops the work and is raised afterwards.
int tell(uint64_t done, uint64_t all, void *function) {
    const nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) return 1;
    PyObject *answer = PyObject_CallFunction(static_cast<PyObject *>(function), "KK", static_cast<unsigned long long>(done),
                                             static_cast<unsigned long long>(all));
    Py_XDECREF(answer);
    return answer == nullptr ? 1 : 0;
}

const char *or_null(const std::optional<std::string> &text) { return text ? text->c_str() : nullptr; }

// Makes sure that MPI runs, for programs without mpi4py.
void initialise_mpi() {
    int initialised = 0;
    MPI_Initialized(&initialised);
    if (!initialised) {
        int provided = 0;
        if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) {
            fail(TAILRACE_MPI_FAILED, "MPI could not be initialised; start the program with mpirun, or pass comm=");
        }
        Py_AtExit([] {
            int finalised = 0;
            MPI_Finalized(&finalised);
            if (!finalised) MPI_Finalize();
        });
    }
}

// The Fortran handles of MPI_COMM_WORLD and of MPI_COMM_SELF.
int world() {
    initialise_mpi();
    return static_cast<int>(MPI_Comm_c2f(MPI_COMM_WORLD));
}
int alone() {
    initialise_mpi();
    return static_cast<int>(MPI_Comm_c2f(MPI_COMM_SELF));
}

std::string mpi_library() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    return text;
}

void define_text_functions(nb::module_ &module) {
    module.def(
        "plan",
        [](const std::string &request) { return text_from([&](char **json) { return tailrace_plan(request.c_str(), json); }); },
        "request"_a);
    module.def("keys", [] { return text_from([](char **json) { return tailrace_keys(json); }); });
    module.def(
        "describe_layout",
        [](const std::string &options) {
            return text_from([&](char **json) { return tailrace_describe_layout(options.c_str(), json); });
        },
        "options"_a);
    module.def(
        "list_streams",
        [](const std::string &directory, const std::optional<std::string> &name) {
            return text_from([&](char **json) { return tailrace_list(directory.c_str(), or_null(name), json); });
        },
        "directory"_a, "name"_a = nb::none());
    module.def(
        "verify",
        [](const std::string &directory, const std::string &name, bool deep) {
            return text_from([&](char **json) { return tailrace_verify(directory.c_str(), name.c_str(), deep ? 1 : 0, json); });
        },
        "directory"_a, "name"_a, "deep"_a);
    module.def(
        "repair",
        [](const std::string &directory, const std::string &name, bool take_over) {
            return text_from(
                [&](char **json) { return tailrace_repair(directory.c_str(), name.c_str(), take_over ? 1 : 0, json); });
        },
        "directory"_a, "name"_a, "take_over"_a);
    module.def(
        "rewind",
        [](const std::string &directory, const std::string &name, const std::string &to, bool take_over) {
            return text_from(
                [&](char **json) { return tailrace_rewind(directory.c_str(), name.c_str(), to.c_str(), take_over ? 1 : 0, json); });
        },
        "directory"_a, "name"_a, "to"_a, "take_over"_a);
    module.def(
        "adopt",
        [](const std::string &directory, const std::string &name, bool take_over) {
            return text_from([&](char **json) { return tailrace_adopt(directory.c_str(), name.c_str(), take_over ? 1 : 0, json); });
        },
        "directory"_a, "name"_a, "take_over"_a);
    module.def(
        "index",
        [](const std::string &directory, const std::string &name, bool take_over) {
            check(tailrace_index(directory.c_str(), name.c_str(), take_over ? 1 : 0));
        },
        "directory"_a, "name"_a, "take_over"_a);
    module.def(
        "combine",
        [](const std::string &directory, const std::string &name, const std::string &output, const std::string &options,
           const nb::callable &progress) {
            return text_from([&](char **json) {
                return tailrace_combine(directory.c_str(), name.c_str(), output.c_str(), options.c_str(), &tell, progress.ptr(),
                                        json);
            });
        },
        "directory"_a, "name"_a, "output"_a, "options"_a, "progress"_a);
    module.def(
        "convert",
        [](int comm, const std::string &from, const std::string &name, const std::string &to, const std::string &options,
           const nb::callable &progress) {
            return text_from([&](char **json) {
                return tailrace_convert_fortran(comm, from.c_str(), name.c_str(), to.c_str(), options.c_str(), &tell,
                                                progress.ptr(), json);
            });
        },
        "comm"_a, "source"_a, "name"_a, "target"_a, "options"_a, "progress"_a);
    module.def(
        "set_aside",
        [](int comm, int dedicated) {
            MPI_Fint compute = 0;
            int status;
            {
                nb::gil_scoped_release released;
                status = tailrace_set_aside_fortran(comm, dedicated, &compute);
            }
            check(status);
            return static_cast<int>(compute);
        },
        "comm"_a, "dedicated"_a);
    module.def("release", [](int compute) { check(tailrace_release_fortran(&compute)); }, "compute"_a);
    module.def("phase_begin", [](const std::string &name) { tailrace_phase_begin(name.c_str()); }, "name"_a);
    module.def("phase_end", [] { tailrace_phase_end(); });
    module.def(
        "journal_append",
        [](const std::string &path, const std::string &json, bool sync) {
            check(tailrace_journal_append(path.c_str(), json.c_str(), sync ? 1 : 0));
        },
        "path"_a, "json"_a, "sync"_a);
    module.def(
        "journal_read",
        [](const std::string &path) {
            uint64_t torn_bytes = 0;
            std::string json = text_from([&](char **text) { return tailrace_journal_read(path.c_str(), text, &torn_bytes); });
            return nb::make_tuple(json, torn_bytes);
        },
        "path"_a);
}

}  // namespace
}  // namespace tailrace::python

NB_MODULE(_core, module) {
    using namespace tailrace::python;
    nb::set_leak_warnings(false);  // at exit, the traceback of an exception may still refer to a stream: this is no leak
    module.attr("__version__") = tailrace_version();
    module.attr("TYPES") = nb::tuple(nb::cast(type_codes()));
    module.attr("MAX_DIMS") = TAILRACE_MAX_DIMS;
    define_errors(module);
    define_stream(module);
    define_reader(module);
    define_text_functions(module);
    module.def("world", &world);
    module.def("alone", &alone);
    module.def("mpi_library", &mpi_library);
}
