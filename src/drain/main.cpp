// The program tailraced: carries files from scratch to their target. Prints one JSON object a line.
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/own_descriptor.hpp"
#include "stage/drain.hpp"

#include <fcntl.h>
#include <sys/file.h>

namespace tailrace {
namespace {

constexpr char kUsage[] =
    "usage: tailraced copy SCRATCH TARGET [--sink mirror|bundle] [--bundle-bytes N] [--files N] [--wait SECONDS]\n";

void print(const Json& line) {
    std::puts(line.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
    std::fflush(stdout);
}

// Bytes of a name that are not printable ASCII, and "%", as %XX: a name may have any byte, JSON may not.
std::string escaped(const std::string& name) {
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

}  // namespace
}  // namespace tailrace

int main(int count, char** words) {
    using namespace tailrace;
    try {
        if (count >= 4 && std::strcmp(words[1], "copy") == 0) return copy(words[2], parse(count, words));
        std::fputs(kUsage, stderr);
        return 2;
    } catch (const Error& error) {
        print({{"kind", "error"}, {"status", status_name(static_cast<int>(error.status()))}, {"message", error.what()}});
    } catch (const std::exception& error) {
        print({{"kind", "error"}, {"status", "INTERNAL"}, {"message", error.what()}});
    }
    return 2;
}
