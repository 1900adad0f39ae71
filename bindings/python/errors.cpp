#include "errors.hpp"

#include <array>
#include <cctype>
#include <string_view>

namespace nb = nanobind;

namespace tailrace::python {
namespace {

struct StatusLine {
    int number;
    const char *name;
    const char *text;
    const char *builtin;
};

constexpr StatusLine kStatuses[] = {
#define TAILRACE_STATUS(name, number, text, python) {number, #name, text, #python},
#include <tailrace/status.def>
#undef TAILRACE_STATUS
};

// The exception classes, by status. They are never freed, like those of every extension.
std::array<PyObject *, TAILRACE_STATUS_END> exceptions{};
PyObject *base = nullptr;

// The class name of a status: BLOCK_OVERLAP -> BlockOverlap.
std::string class_name(std::string_view status) {
    std::string name;
    bool upper = true;
    for (char c : status) {
        if (c == '_') {
            upper = true;
            continue;
        }
        name += upper ? c : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        upper = false;
    }
    return name;
}

PyObject *new_exception(const std::string &name, const std::string &text, nb::handle bases, nb::dict members) {
    const std::string full_name = "tailrace." + name;
    PyObject *made = PyErr_NewExceptionWithDoc(full_name.c_str(), text.c_str(), bases.ptr(), members.ptr());
    if (!made) throw nb::python_error();
    return made;
}

}  // namespace

void define_errors(nb::module_ &module) {
    nb::dict members;
    members["status"] = nb::none();
    base = new_exception("Error", "Base of all errors of Tailrace; `status` is the name of the status in C.",
                         nb::handle(PyExc_Exception), members);
    module.attr("Error") = nb::borrow(base);

    nb::dict by_status;
    nb::module_ builtins = nb::module_::import_("builtins");
    for (const StatusLine &line : kStatuses) {
        if (line.number == TAILRACE_OK) continue;
        const std::string name = class_name(line.name);
        nb::dict own;
        own["status"] = line.name;
        nb::object bases = nb::make_tuple(nb::borrow(base), builtins.attr(line.builtin));
        exceptions.at(static_cast<size_t>(line.number)) = new_exception(name, line.text, bases, own);
        nb::object made = nb::borrow(exceptions[static_cast<size_t>(line.number)]);
        module.attr(name.c_str()) = made;
        by_status[line.name] = made;
    }
    module.attr("ERRORS") = by_status;
}

tailrace_status status_named(const std::string &name) {
    for (const StatusLine &line : kStatuses)
        if (line.name == name) return static_cast<tailrace_status>(line.number);
    return TAILRACE_INTERNAL;
}

std::string contract_text(const std::string &text) {
    std::string marked;
    for (const char byte : text) byte == '\0' ? marked.append("\xC0\x80") : marked.append(1, byte);
    return marked;
}

void check(int status) {
    if (status == TAILRACE_OK) return;
    const bool known = status > 0 && status < TAILRACE_STATUS_END && exceptions[static_cast<size_t>(status)];
    PyErr_SetString(known ? exceptions[static_cast<size_t>(status)] : base, tailrace_error_message());
    throw nb::python_error();
}

void fail(tailrace_status status, const std::string &message) {
    PyErr_SetString(exceptions.at(static_cast<size_t>(status)), message.c_str());
    throw nb::python_error();
}

void fail_type(const std::string &message) {
    PyErr_SetString(PyExc_TypeError, message.c_str());
    throw nb::python_error();
}

}  // namespace tailrace::python
