// The program tailraced: carries files from scratch to their target, and reads bundles. Prints one JSON object a line.
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/own_descriptor.hpp"
#include "stage/drain.hpp"
#include "stage/extract.hpp"

#include <fcntl.h>
#include <sys/file.h>

namespace tailrace {
namespace {

constexpr char kUsage[] =
    "usage: tailraced copy SCRATCH TARGET [--sink mirror|bundle] [--bundle-bytes N] [--files N] [--wait SECONDS]\n"
    "       tailraced list BUNDLE [NAME...]\n"
    "       tailraced extract BUNDLE FOLDER [NAME...]\n";

void print(const Json& line) {
    std::puts(line.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
    std::fflush(stdout);
}

// Bytes of a name that are not printable ASCII, and "%", as %XX: a name may have any byte, JSON may not.
std::string escaped(std::string_view name) {
    std::string out;
    for (const char c : name) {
        char code[4];
        const bool is_plain = c > ' ' - 1 && c < 0x7f && c != '%';
        if (!is_plain) std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(c));
        out += is_plain ? std::string(1, c) : std::string(code);
    }
    return out;
}

Json described(const char* kind, const DrainProgress& progress, double seconds) {
    return {{"kind", kind},
            {"files", progress.files},
            {"bytes", progress.bytes},
            {"entries", progress.entries},
            {"bundles", progress.bundles},
            {"copied_again", progress.copied_again},
            {"seconds", seconds}};
}

uint64_t number(const char* text_of) {
    char* end = nullptr;
    const unsigned long long value = std::strtoull(text_of, &end, 10);
    if (end == text_of || *end != 0) fail(Status::BAD_ARGUMENT, text_of, " is no number");
    return value;
}

DrainOptions parse(int count, char** words) {
    DrainOptions options{.target = words[3]};
    for (int at = 4; at < count; at += 2) {
        const std::string key = words[at];
        if (at + 1 == count) fail(Status::BAD_ARGUMENT, key, " has no value; ", kUsage);
        const char* const value = words[at + 1];
        if (key == "--sink")
            options.sink = value;
        else if (key == "--bundle-bytes")
            options.shipment_bytes = std::max<uint64_t>(number(value), 1);
        else if (key == "--files")
            options.shipment_files = number(value);
        else if (key == "--wait")
            options.wait_s = std::strtod(value, nullptr);
        else
            fail(Status::BAD_ARGUMENT, "unknown option ", key, "; ", kUsage);
    }
    if (options.sink != "mirror" && options.sink != "bundle")
        fail(Status::BAD_ARGUMENT, "there is no sink '", options.sink, "': choose mirror or bundle");
    return options;
}

int copy(const std::string& folder, const DrainOptions& options) {
    Leases leases;
    Scratch scratch(folder, leases);
    const OwnDescriptor lock("open", scratch.state_path() + "/lock", O_RDWR | O_CREAT | O_NOFOLLOW);
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
        fail(Status::IN_USE, folder, " is being drained by another process of this node: wait for it, or end it");
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
    Json left = Json::array();
    for (const Left& one : progress.left) left.push_back({{"path", escaped(one.path)}, {"why", one.why}});
    end["left"] = left;
    print(end);
    return progress.left.empty() ? 0 : 1;
}

// A folder may be written with a slash at its end. Without names: all.
std::vector<std::string> names_of(int count, char** words, int first) {
    std::vector<std::string> names(words + std::min(first, count), words + count);
    for (std::string& name : names)
        while (name.size() > 1 && name.ends_with('/')) name.pop_back();
    if (names.empty()) names.emplace_back();
    return names;
}

void print_member(const Member& member) {
    constexpr const char* kKinds[] = {"file", "symbolic_link", "hard_link", "folder"};
    print({{"kind", "member"},
           {"name", escaped(member.name)},
           {"type", kKinds[static_cast<int>(member.kind)]},
           {"link", escaped(member.link)},
           {"mode", member.mode},
           {"bytes", member.data_bytes},
           {"mtime_ns", member.mtime_ns},
           {"data_at", member.data_at}});
}

int list(const std::string& path, const std::vector<std::string>& names) {
    const double began_s = seconds_now();
    const BundleReader bundle(path);
    uint64_t shown = 0;
    for (const std::string& name : names) shown += each_member(bundle, name, print_member);
    print({{"kind", "end"}, {"members", bundle.count()}, {"shown", shown}, {"seconds", seconds_now() - began_s}});
    return 0;
}

int extract(const std::string& path, const std::string& folder, const std::vector<std::string>& names) {
    const double began_s = seconds_now();
    const BundleReader bundle(path);
    Extraction extraction(bundle, folder);
    for (const std::string& name : names) extraction.take(name);
    print({{"kind", "end"},
           {"members", bundle.count()},
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
        if (count >= 3 && std::strcmp(words[1], "list") == 0) return list(words[2], names_of(count, words, 3));
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
