// C functions for plans and layouts: what would be written, and with which keys.
#include "layout/plan.hpp"

#include <tailrace/tailrace.h>

#include "capi/json_text.hpp"
#include "layout/keys.hpp"
#include "stream/planned_files.hpp"

using tailrace::Json;
using tailrace::return_json;

extern "C" {

int tailrace_plan(const char* request, char** json) {
    return return_json(json, [&] {
        const Json submitted = tailrace::parse_json(request, "request");
        auto answer = tailrace::plan_json(submitted);
        tailrace::StreamConfig config;
        const tailrace::PlanRequest planned = tailrace::plan_request(submitted, config);
        const tailrace::PlannedFiles files = tailrace::planned_files(planned, config, submitted);
        answer["metadata_bytes"] = files.metadata_bytes;
        answer["index_bytes"] = files.index_bytes;
        answer["index_files"] = files.index_files;
        answer["journal_bytes"] = files.journal_bytes;
        const auto parts = answer["files"].get<uint64_t>(), arrays = answer["bytes"].get<uint64_t>();
        answer["stored"] = {{"files", parts + files.index_files + 1},
                            {"bytes", arrays + files.metadata_bytes + files.index_bytes + files.journal_bytes}};
        return answer;
    });
}

int tailrace_keys(char** json) {
    return return_json(json, [&] { return tailrace::keys_json(); });
}

int tailrace_describe_layout(const char* options, char** json) {
    return return_json(json, [&] {
        const std::vector<tailrace::Settings> settings = {tailrace::parse_options(options != nullptr ? options : "", "options")};
        const tailrace::StreamConfig config = tailrace::resolve(settings);
        tailrace::check_choices(config.layout);
        return Json{{"layout", tailrace::effective_json(config)}, {"given", tailrace::requested_json(settings)}};
    });
}

}  // extern "C"
