#include "capi/end_of_process.hpp"

#include <cstdio>
#include <mutex>
#include <set>

#include "base/error.hpp"
#include "capi/handles.hpp"
#include "gather/agree.hpp"
#include "gather/at_finalize.hpp"
#include "stream/environment.hpp"

namespace tailrace {
namespace {

// What this process has opened. Settings may be for streams that other processes opened. So unused settings are reported only by
// rank 0 of MPI_COMM_WORLD, and only if all its streams are over all ranks, because it then knows every stream.
struct Opened {
    std::mutex mutex;
    std::set<std::string> names;
    bool knows_all = true;
};

Opened& opened() {
    static auto* const all = new Opened;  // MPI_Finalize may come after the destructors of this library
    return *all;
}

void tell(const std::string& what) {
    const std::string line = "tailrace: " + what + "\n";
    std::fputs(line.c_str(), stderr);  // in one call, because other processes write to stderr, too
}

// Calls leave_open() of all open streams. Local, because other ranks may be in any other call.
void leave_streams_open() {
    for (tailrace_stream* const stream : tailrace_stream::all()) {
        if (stream->output == nullptr) continue;
        std::string left;
        const auto error = attempt([&] { left = stream->output->leave_open(); });
        if (error) left = text("nothing more could be done for it: ", error->what());
        if (!left.empty())
            tell(text("stream '", stream->output->name(), "' in ", stream->output->directory(), " was not closed: ", left,
                      "; call tailrace_close before MPI_Finalize"));
    }
}

void tell_unused_settings() {
    const SettingsForStreams& read = settings_for_streams();
    const std::set<std::string>& names = opened().names;
    std::string unused;
    const auto add = [&](const std::string& what) { unused += (unused.empty() ? "" : ", ") + what; };
    for (const std::string& table : read.tables)
        if (!names.contains(table)) add(text("[stream.", table, "] of ", read.path));
    for (const auto& [variable, owner] : read.variables) {
        bool used = false;
        for (const std::string& name : names) used = used || owns_variable(name, owner);
        if (!used) add(variable);
    }
    if (unused.empty()) return;
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "'" : ", '") + name + "'";
    tell(text("no stream was opened for these settings: ", unused, "; opened were ", list));
}

void at_end() {
    attempt([] { leave_streams_open(); });
    int rank = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && opened().knows_all) attempt([] { tell_unused_settings(); });
}

}  // namespace

void note_opening(MPI_Comm comm, const std::string& name, uint64_t set_aside) {
    static const bool watched = (at_finalize(&at_end), true);
    (void)watched;
    const uint64_t ranks = size_of(comm), world = size_of(MPI_COMM_WORLD);
    const std::lock_guard lock(opened().mutex);
    opened().names.insert(name);
    if (ranks + set_aside != world) opened().knows_all = false;
}

}  // namespace tailrace
