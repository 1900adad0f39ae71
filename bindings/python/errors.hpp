// The Python exceptions, one for each line of status.def, made when the extension is imported.
#pragma once

#include <nanobind/nanobind.h>
#include <tailrace/tailrace.h>

#include <string>

namespace tailrace::python {

// Adds `Error` and its subclasses to the module, and `ERRORS`, a dict from status name to class.
void define_errors(nanobind::module_ &module);

// The status of a name such as "BAD_SHAPE"; INTERNAL for others.
tailrace_status status_named(const std::string &name);

// A text for the C contract. C would end it at a zero byte within it, so that byte becomes C0 80, which the contract refuses.
std::string contract_text(const std::string &text);

// Raises the exception of `status` with the library's text; returns only for TAILRACE_OK. Needs the GIL.
void check(int status);

// Raises the exception of `status` with a text of the binding's own.
[[noreturn]] void fail(tailrace_status status, const std::string &message);

// Raises TypeError. Only this failure has no status, because in C the compiler checks types.
[[noreturn]] void fail_type(const std::string &message);

}  // namespace tailrace::python
