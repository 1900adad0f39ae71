// tailrace._journal: lines of the project's journals for Python programs that need no MPI.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "base/journal.hpp"

namespace nb = nanobind;

NB_MODULE(_journal, module) {
    using namespace nb::literals;
    module.attr("version") = TAILRACE_JOURNAL_VERSION;
    module.def(
        "line",
        [](const std::string& object) {
            const std::string line = tailrace::journal_line_of(object);
            return nb::bytes(line.data(), line.size());
        },
        "object"_a, "The bytes of a line: the text of a JSON object that has at least one key, with its checksum and a newline.");
    module.def(
        "is_intact", [](nb::bytes line) { return tailrace::is_intact_line({line.c_str(), line.size()}); }, "line"_a,
        "Whether the bytes are one line with the right checksum.");
}
