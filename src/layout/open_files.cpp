#include "layout/open_files.hpp"

#include "base/error.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kOthers = 24;  // other open files of the reading program: libraries, terminals, sockets

std::string layout_with_few_files(const Layout& layout, uint64_t parts) {
    const bool parts_are_few = parts + kOthers <= kUsualOpenFiles;
    if (parts_are_few) return layout.files.kind == Files::Kind::one ? "steps = 'all'" : "steps = 'all', or layout = 'shared'";
    return "layout = 'shared' and steps = 'all', or files = N with a small N";
}

}  // namespace

std::string note_of_open_files(const Layout& layout, uint64_t parts, uint64_t files) {
    if (files + kOthers <= kUsualOpenFiles) return "";
    return text("a program that reads all of NAME.nc keeps ", files, " files open, and the usual limit is ", kUsualOpenFiles,
                ": it gets fill values for files that it cannot open. Raise the limit (`ulimit -n`), read with tailrace.open_read, "
                "or write fewer files: ",
                layout_with_few_files(layout, parts), "; `tailrace convert` does so with a stream that is there");
}

}  // namespace tailrace
