// The program tailraced: carries files from scratch to their target, says how far that is, and reads bundles. Prints JSON, one
// object a line.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/own_descriptor.hpp"
#include "base/shell_word.hpp"
#include "base/system_error.hpp"
#include "stage/bundle_set.hpp"
#include "stage/drain.hpp"
#include "stage/earlier_bundles.hpp"
#include "stage/early_copier.hpp"
#include "stage/escaped_name.hpp"
#include "stage/extract.hpp"
#include "stage/frames.hpp"
#include "stage/leftovers.hpp"
#include "stage/sink.hpp"
#include "stage/status.hpp"
#include "stage/stop.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tailrace {
namespace {

constexpr char kUsage[] =
    "usage: tailraced copy SCRATCH TARGET [--sink mirror|bundle] [--bundle-bytes N] [--compression zstd[:N]]\n"
    "                      [--files N] [--wait SECONDS] [--torn FILE]\n"
    "       tailraced announce SCRATCH TARGET [--sink mirror|bundle] [--bundle-bytes N] [--compression zstd[:N]]\n"
    "       tailraced beside SCRATCH TARGET [--quiet SECONDS] [--once] [--parent PROCESS]\n"
    "       tailraced give SCRATCH TARGET --parent PROCESS\n"
    "       tailraced names FOLDER LIST [--asks-other-nodes]\n"
    "       tailraced take FOLDER BASE --parent PROCESS\n"
    "       tailraced status SCRATCH [--wait SECONDS]\n"
    "       tailraced scavenge FOLDER [--remove] [--any-node]\n"
    "       tailraced list BUNDLE|FOLDER [NAME...]\n"
    "       tailraced contents BUNDLE|FOLDER\n"
    "       tailraced extract BUNDLE|FOLDER INTO [NAME...]\n";

void print(const Json& line) {
    std::puts(line.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
    std::fflush(stdout);
}

Json described(const char* kind, const DrainProgress& progress, double seconds) {
    return {{"kind", kind},
            {"files", progress.files},
            {"bytes", progress.bytes},
            {"entries", progress.entries},
            {"bundles", progress.bundles},
            {"copied_again", progress.copied_again},
            {"early_files", progress.early_files},
            {"early_bytes", progress.early_bytes},
            {"seconds", seconds}};
}

Json described_left(const std::vector<Left>& left) {
    Json all = Json::array();
    for (const Left& one : left) all.push_back({{"path", escaped_name(one.path)}, {"why", one.why}});
    return all;
}

uint64_t number(const char* text_of) {
    char* end = nullptr;
    const unsigned long long value = std::strtoull(text_of, &end, 10);
    if (end == text_of || *end != 0) fail(Status::BAD_ARGUMENT, "'", text_of, "' is not a whole number");
    return value;
}

// Reads paths from a file; each ends in a zero byte.
std::vector<std::string> names_in_file(const std::string& path) {
    const std::string all = File::open_read(path).read_all();
    std::vector<std::string> names;
    for (size_t begin = 0, end; (end = all.find('\0', begin)) != std::string::npos; begin = end + 1)
        names.push_back(all.substr(begin, end - begin));
    return names;
}

DrainOptions parse(int count, char** words) {
    DrainOptions options{.target = words[3]};
    for (int at = 4; at < count; at += 2) {
        const std::string key = words[at];
        if (at + 1 == count) fail(Status::BAD_ARGUMENT, "option ", key, " needs a value; ", kUsage);
        const char* const value = words[at + 1];
        if (key == "--sink")
            options.sink = value;
        else if (key == "--bundle-bytes")
            options.shipment_bytes = std::max<uint64_t>(number(value), 1);
        else if (key == "--compression")
            options.compression = value;
        else if (key == "--files")
            options.shipment_files = number(value);
        else if (key == "--torn")
            options.torn = names_in_file(value);
        else if (key == "--wait")
            options.wait_s = std::strtod(value, nullptr);
        else
            fail(Status::BAD_ARGUMENT, "unknown option ", key, "; ", kUsage);
    }
    check_sink(options.sink);
    if (zstd_level_of(options.compression) > 0 && options.sink != "bundle")
        fail(Status::BAD_ARGUMENT, "--compression is for bundles: add --sink bundle, or remove it");
    return options;
}

int copy(const std::string& folder, const DrainOptions& options) {
    stop_on_signals();
    Leases leases;
    Scratch scratch(folder, leases);
    const OwnDescriptor lock = scratch.lock();
    const double began_s = seconds_now();
    double next_s = began_s;
    const auto report = [&](const DrainProgress& progress) {
        constexpr double kPause = 0.2;
        if (seconds_now() < next_s) return;
        next_s = seconds_now() + kPause;
        print(described("progress", progress, seconds_now() - began_s));
    };
    Drain drain(scratch, options, report);
    const DrainProgress progress = drain.run();
    Json end = described("end", progress, seconds_now() - began_s);
    end["early_stopped_because"] = progress.early_stopped_because;
    end["left"] = described_left(progress.left);
    end["torn"] = Json::array();
    for (const std::string& path : progress.torn) end["torn"].push_back(escaped_name(path));
    print(end);
    return progress.left.empty() ? 0 : 1;
}

// Announces the drain of the parent process, which holds the lock and will drain the folder when it ends.
int announce(const std::string& folder, const DrainOptions& options) {
    Leases leases;
    Scratch scratch(folder, leases);
    Drain drain(scratch, options, [](const DrainProgress&) {});
    drain.announce(static_cast<uint64_t>(::getppid()));
    print({{"kind", "end"}});
    return 0;
}

// The kernel kills this process when its parent ends. False: the parent has ended already.
bool end_with(uint64_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    return static_cast<uint64_t>(::getppid()) == parent;
}

// Reads groups of names from the standard input: each name ends in a zero byte, and an empty name ends a group. Prints an answer
// for each group: what `answer` returns, or why it has failed. Ends with its input.
int answer_groups(const char* kind, const std::function<Json(const std::vector<std::string>&)>& answer) {
    std::vector<std::string> names;
    for (std::string name; std::getline(std::cin, name, '\0');) {
        if (!name.empty()) {
            names.push_back(std::move(name));
            continue;
        }
        Json line = {{"kind", kind}};
        try {
            line.update(answer(names));
        } catch (const Error& error) {
            line.update({{"why", error.what()}});
        }
        print(line);
        names.clear();
    }
    return 0;
}

// A name that ends so asks for the names in a folder; `//` alone: in the top folder.
constexpr std::string_view kNamesIn = "//";

std::string folder_of(const std::string& name) { return name.substr(0, name.size() - kNamesIn.size()); }

// Delivers files while the program runs, for the parent process, which holds the lock. One name alone may ask for the closed files
// of a folder.
int give(const std::string& folder, const DrainOptions& options) {
    Leases leases;
    Scratch scratch(folder, leases);
    Drain drain(scratch, options, [](const DrainProgress&) {});
    return answer_groups("given", [&](const std::vector<std::string>& names) -> Json {
        if (names.size() == 1 && names.front().ends_with(kNamesIn)) {
            Json listed = Json::array();
            for (const std::string& name : scratch.closed_files_in(folder_of(names.front()))) listed.push_back(escaped_name(name));
            return {{"names", listed}};
        }
        const Given given = drain.give(names);
        Json open = Json::array();
        for (const std::string& path : given.open) open.push_back(escaped_name(path));
        return {{"files", given.files}, {"bytes", given.bytes}, {"open", open}, {"left", described_left(given.left)}};
    });
}

// Takes files out of the bundles of a folder, for the parent process. A name that ends with a slash is a folder: all files below it
// are taken. A name that begins with one is noted as taken only. Two slashes at the end ask for the names in a folder.
int take(const std::string& folder, const std::string& base) {
    allow_most_open_files();  // all bundles of a folder are open at once
    EarlierBundles bundles(folder);
    // The other names of a hard link may be in the bundle still, or changed by the program.
    Extraction extraction(base, Extraction::HardLinks::copied);
    return answer_groups("taken", [&](const std::vector<std::string>& names) -> Json {
        std::vector<Left> left;
        Json listed = Json::array();
        const uint64_t files = extraction.files(), bytes = extraction.bytes();
        const auto attempt_with = [&left](const std::string& name, const std::function<void()>& work) {
            try {
                work();
            } catch (const Error& error) {
                left.push_back({name, error.what()});
            }
        };
        const auto take_one = [&](const std::string& name) { bundles.take(base, name, extraction); };
        for (const std::string& name : names) {
            if (name.ends_with(kNamesIn)) {
                for (const auto& [found, kind] : bundles.names_in(folder_of(name)))
                    listed.push_back(Json::array({escaped_name(found), kind == ItemKind::symbolic_link}));
            } else if (name.starts_with('/')) {
                attempt_with(name, [&] { bundles.leave(name.substr(1)); });
            } else if (name.ends_with('/')) {
                for (const std::string& below : bundles.names_below(name.substr(0, name.size() - 1)))
                    attempt_with(below, [&] { take_one(below); });
            } else {
                attempt_with(name, [&] { take_one(name); });
            }
        }
        return {{"files", extraction.files() - files},
                {"bytes", extraction.bytes() - bytes},
                {"names", listed},
                {"left", described_left(left)}};
    });
}

// Writes the list of the names in the bundles of a folder, for the preload.
int list_names(const std::string& folder, const std::string& path, bool asks_other_nodes) {
    allow_most_open_files();  // all bundles of a folder are open at once
    write_names(folder, path, asks_other_nodes);
    print({{"kind", "end"}});
    return 0;
}

// Uses only processor and disk time that the program leaves unused. The thread that gives leases up keeps the normal priority.
void take_low_priority() {
    constexpr int kLowest = 19, kOwn = 0, kOfProcess = 1, kIdle = 3 << 13;  // linux/ioprio.h
    ::setpriority(PRIO_PROCESS, kOwn, kLowest);
    ::syscall(SYS_ioprio_set, kOfProcess, kOwn, kIdle);
}

// Copies while the program runs, for the parent process, which holds the lock. Runs until it is killed, or the parent ends.
int copy_beside(const std::string& folder, int count, char** words) {
    EarlyOptions options{.target = words[3]};
    for (int at = 4; at < count; ++at) {
        const std::string key = words[at];
        if (key == "--once") {
            options.is_once = true;
            continue;
        }
        if (++at == count) fail(Status::BAD_ARGUMENT, "option ", key, " needs a value; ", kUsage);
        if (key == "--quiet") {
            options.quiet_s = std::strtod(words[at], nullptr);
        } else if (key == "--parent") {
            if (!end_with(number(words[at]))) return 1;
        } else {
            fail(Status::BAD_ARGUMENT, "unknown option ", key, "; ", kUsage);
        }
    }
    Leases leases;
    take_low_priority();
    Scratch scratch(folder, leases);
    EarlyCopier(scratch, options).run();
    print({{"kind", "end"}});
    return 0;
}

// The names on the command line, without slashes at the end; if there are none, one empty name, which means all.
std::vector<std::string> names_of(int count, char** words, int first) {
    std::vector<std::string> names(words + std::min(first, count), words + count);
    for (std::string& name : names)
        while (name.size() > 1 && name.ends_with('/')) name.pop_back();
    if (names.empty()) names.emplace_back();
    return names;
}

int show_status(const std::string& folder, int count, char** words) {
    bool is_in_time = true;
    if (count == 5 && std::strcmp(words[3], "--wait") == 0)
        is_in_time = wait_for_drain(folder, std::strtod(words[4], nullptr));
    else if (count != 3)
        fail(Status::BAD_ARGUMENT, kUsage);
    const DrainStatus status = status_of(folder);
    print({{"kind", "status"},
           {"outcome", outcome_name(status.outcome)},
           {"is_in_time", is_in_time},
           {"process", status.process},
           {"target", escaped_name(status.target)},
           {"sink", status.form.sink},
           {"bundle_bytes", status.form.bundle_bytes},
           {"compression", status.form.compression},
           {"started_s", status.started_s},
           {"ended_s", status.ended_s},
           {"delivered_files", status.delivered_files},
           {"delivered_bytes", status.delivered_bytes},
           {"staged_files", status.staged_files},
           {"staged_bytes", status.staged_bytes},
           {"oldest_s", status.oldest_s},
           {"to_remove", status.to_remove},
           {"early_files", status.early.files},
           {"early_bytes", status.early.bytes},
           {"stopped_because", status.stopped_because},
           {"early_stopped_because", status.early.stopped_because},
           {"left", described_left(status.left)}});
    return 0;
}

int search_leftovers(const std::string& folder, int count, char** words) {
    ScavengeOptions options;
    for (int at = 3; at < count; ++at) {
        const std::string word = words[at];
        if (word != "--remove" && word != "--any-node") fail(Status::BAD_ARGUMENT, "unknown option ", word, "; ", kUsage);
        (word == "--remove" ? options.remove : options.any_node) = true;
    }
    const uint64_t unreadable = scavenge(folder, options, [](const Leftover& found) {
        print({{"kind", "leftover"},
               {"path", escaped_name(found.path)},
               {"of", kind_name(found.kind)},
               {"state", state_name(found.state)},
               {"node", found.node},
               {"made_s", found.made_s},
               {"files", found.files},
               {"bytes", found.bytes},
               {"removed", found.is_removed}});
    });
    print({{"kind", "end"}, {"unreadable_folders", unreadable}});
    return 0;
}

void print_member(const BundleReader& bundle, const Member& member) {
    constexpr const char* kKinds[] = {"file", "symbolic_link", "hard_link", "folder"};
    print({{"kind", "member"},
           {"name", escaped_name(member.name)},
           {"type", kKinds[static_cast<int>(member.kind)]},
           {"link", escaped_name(member.link)},
           {"mode", member.mode},
           {"bytes", member.data_bytes},
           {"mtime_ns", member.mtime_ns},
           {"data_at", member.data_at},
           {"bundle", escaped_name(bundle.path())}});
}

int list(const std::string& path, const std::vector<std::string>& names) {
    const double began_s = seconds_now();
    uint64_t shown = 0;
    const Members members = each_member_of(path, names, [&](const BundleReader& bundle, const Member& member) {
        print_member(bundle, member);
        ++shown;
    });
    print({{"kind", "end"},
           {"members", members.all},
           {"taken", members.taken},
           {"shown", shown},
           {"seconds", seconds_now() - began_s}});
    return 0;
}

// Prints each member, and behind the line of a file its bytes in pieces. Each piece has a line before it, so that an error may come
// in the place of any. The bytes of a file with several names come behind each of them.
int print_contents(const std::string& path) {
    const auto print_one = [](const BundleReader& bundle, const Member& member) {
        const Member file = file_of(bundle, member);
        Member shown = member;
        shown.data_bytes = file.kind == ItemKind::file ? file.data_bytes : 0;
        print_member(bundle, shown);
        if (shown.data_bytes == 0) return;
        each_piece_of(bundle, file, [](std::span<const char> piece) {
            print({{"kind", "piece"}, {"bytes", piece.size()}});
            if (std::fwrite(piece.data(), 1, piece.size(), stdout) != piece.size()) fail_system("write", "standard output", errno);
        });
    };
    each_member_of(path, {""}, print_one, MemberOrder::position);
    print({{"kind", "end"}});
    return 0;
}

int extract(const std::string& path, const std::string& folder, const std::vector<std::string>& names) {
    const double began_s = seconds_now();
    Extraction extraction(folder);
    const auto make = [&](const BundleReader& bundle, const Member& member) { extraction.make(bundle, member); };
    const Members members = each_member_of(path, names, make, MemberOrder::position);
    print({{"kind", "end"},
           {"members", members.all},
           {"taken", members.taken},
           {"files", extraction.files()},
           {"bytes", extraction.bytes()},
           {"seconds", seconds_now() - began_s}});
    return 0;
}

}  // namespace
}  // namespace tailrace

int main(int count, char** words) {
    using namespace tailrace;
    try {
        if (count >= 4 && std::strcmp(words[1], "copy") == 0) return copy(words[2], parse(count, words));
        if (count >= 4 && std::strcmp(words[1], "announce") == 0) return announce(words[2], parse(count, words));
        if (count >= 4 && std::strcmp(words[1], "beside") == 0) return copy_beside(words[2], count, words);
        if (count == 6 && std::strcmp(words[1], "give") == 0 && std::strcmp(words[4], "--parent") == 0)
            return end_with(number(words[5])) ? give(words[2], {.target = words[3]}) : 1;
        if (count == 6 && std::strcmp(words[1], "take") == 0 && std::strcmp(words[4], "--parent") == 0)
            return end_with(number(words[5])) ? take(words[2], words[3]) : 1;
        if ((count == 4 || count == 5) && std::strcmp(words[1], "names") == 0) return list_names(words[2], words[3], count == 5);
        if (count >= 3 && std::strcmp(words[1], "status") == 0) return show_status(words[2], count, words);
        if (count >= 3 && std::strcmp(words[1], "scavenge") == 0) return search_leftovers(words[2], count, words);
        if (count >= 3 && std::strcmp(words[1], "list") == 0) return list(words[2], names_of(count, words, 3));
        if (count == 3 && std::strcmp(words[1], "contents") == 0) return print_contents(words[2]);
        if (count >= 4 && std::strcmp(words[1], "extract") == 0) return extract(words[2], words[3], names_of(count, words, 4));
        std::fputs(kUsage, stderr);
        return 2;
    } catch (const Error& error) {
        print({{"kind", "error"}, {"status", status_name(static_cast<int>(error.status()))}, {"message", error.what()}});
    } catch (const std::exception& error) {
        print({{"kind", "error"}, {"status", "INTERNAL"}, {"message", error.what()}});
    }
    return 2;
}
