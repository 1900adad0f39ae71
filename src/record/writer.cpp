#include "record/writer.hpp"

#include <tailrace/tailrace.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "base/error.hpp"

namespace tailrace {
namespace {

std::string first_line_of(const char* path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::string variable_or_nothing(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

// The job's number, from the environment variables of Slurm, PBS, LSF, Flux, Fujitsu, OAR, Cobalt and Grid Engine.
std::string job_of_environment() {
    constexpr std::array kNames = {"SLURM_JOB_ID", "PBS_JOBID",  "LSB_JOBID",    "FLUX_JOB_ID",
                                   "PJM_JOBID",    "OAR_JOB_ID", "COBALT_JOBID", "JOB_ID"};
    for (const char* name : kNames)
        if (std::string job = variable_or_nothing(name); !job.empty()) return job;
    return "";
}

std::string clock_text(int64_t when_s) {
    const std::time_t when = when_s, now = std::time(nullptr);
    std::tm then{}, today{};
    ::localtime_r(&when, &then);
    ::localtime_r(&now, &today);
    const bool is_today = then.tm_year == today.tm_year && then.tm_yday == today.tm_yday;
    char text[32];
    std::strftime(text, sizeof text, is_today ? "%H:%M" : "%Y-%m-%d %H:%M", &then);
    return text;
}

template <class Value>
void take(const Json& json, const char* key, Value& value) {
    const auto found = json.find(key);
    if (found == json.end()) return;
    if constexpr (std::is_same_v<Value, std::string>) {
        if (found->is_string()) value = found->get<std::string>();
    } else if (found->is_number_integer()) {
        value = found->get<Value>();
    }
}

}  // namespace

Writer Writer::of_this_process(uint64_t nodes) {
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    Writer writer;
    writer.host = host;
    writer.boot = first_line_of("/proc/sys/kernel/random/boot_id");
    writer.process = static_cast<uint64_t>(::getpid());
    writer.nodes = nodes;
    writer.job = job_of_environment();
    writer.user = variable_or_nothing("USER");
    writer.since_s = std::time(nullptr);
    writer.version = TAILRACE_VERSION;
    return writer;
}

Writer Writer::of_json(const Json& json) {
    Writer writer;
    if (!json.is_object()) return writer;
    take(json, "host", writer.host);
    take(json, "boot", writer.boot);
    take(json, "process", writer.process);
    take(json, "nodes", writer.nodes);
    take(json, "job", writer.job);
    take(json, "user", writer.user);
    take(json, "since", writer.since_s);
    take(json, "version", writer.version);
    return writer;
}

Json Writer::json() const {
    return {{"host", host}, {"boot", boot}, {"process", process}, {"nodes", nodes},
            {"job", job},   {"user", user}, {"since", since_s},   {"version", version}};
}

std::string Writer::text() const {
    const std::string by = job.empty() ? (user.empty() ? "a run" : "a run of " + user) : "job " + job;
    return tailrace::text(by, " on ", host.empty() ? "an unknown node" : host, " (process ", process, ", since ",
                          clock_text(since_s), ")");
}

}  // namespace tailrace
