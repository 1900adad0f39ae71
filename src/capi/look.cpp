// Planning and looking: calls without a stream.
#include <tailrace/tailrace.h>

#include "base/journal.hpp"
#include "capi/guard.hpp"
#include "layout/keys.hpp"
#include "layout/plan.hpp"
#include "maintain/combine.hpp"
#include "maintain/repair.hpp"
#include "maintain/verify.hpp"
#include "view/catalog.hpp"

using tailrace::guard;
using tailrace::Json;
using tailrace::required;
using tailrace::Status;

namespace {

template <class Make>
int give(char** json, Make&& make) {
    return guard([&] {
        *required(json, "json") = nullptr;
        *json = tailrace::owned_text(Json(make()).dump(-1, ' ', false, Json::error_handler_t::replace));
    });
}

Json parse(const char* text, const char* what) {
    Json json = Json::parse(required(text, what), nullptr, false);
    if (json.is_discarded()) tailrace::fail(Status::BAD_ARGUMENT, "'", what, "' is not JSON: ", text);
    return json;
}

}  // namespace

extern "C" {

int tailrace_plan(const char* request, char** json) {
    return give(json, [&] { return tailrace::plan_json(parse(request, "request")); });
}

int tailrace_keys(char** json) {
    return give(json, [&] { return tailrace::keys_json(); });
}

int tailrace_describe_layout(const char* options, char** json) {
    return give(json, [&] {
        const std::vector<tailrace::Settings> settings = {tailrace::parse_options(options != nullptr ? options : "", "options")};
        const tailrace::StreamConfig config = tailrace::resolve(settings);
        tailrace::check_choices(config.layout);
        return Json{{"layout", tailrace::effective_json(config)}, {"given", tailrace::requested_json(settings)}};
    });
}

int tailrace_list(const char* directory, const char* name, char** json) {
    return give(json, [&] { return tailrace::list_streams(required(directory, "directory"), name != nullptr ? name : ""); });
}

int tailrace_verify(const char* directory, const char* name, int deep, char** json) {
    return give(json, [&] { return tailrace::verify_stream(required(directory, "directory"), required(name, "name"), deep != 0); });
}

int tailrace_repair(const char* directory, const char* name, char** json) {
    return give(json, [&] { return tailrace::repair_stream(required(directory, "directory"), required(name, "name")); });
}

int tailrace_index(const char* directory, const char* name) {
    return guard([&] { tailrace::index_stream(required(directory, "directory"), required(name, "name")); });
}

int tailrace_combine(const char* directory, const char* name, const char* output, const char* options, tailrace_progress progress,
                     void* context, char** json) {
    return give(json, [&] {
        const Json chosen = options != nullptr ? parse(options, "options") : Json::object();
        tailrace::CombineOptions how;
        how.threads = chosen.value("threads", 0u);
        how.replace = chosen.value("replace", false);
        how.sync = chosen.value("sync", false);
        if (progress != nullptr) how.progress = [=](uint64_t done, uint64_t all) { return progress(done, all, context) == 0; };
        return tailrace::combine_stream(required(directory, "directory"), required(name, "name"), required(output, "output"), how);
    });
}

int tailrace_journal_append(const char* path, const char* json, int sync) {
    return guard([&] { tailrace::Journal(required(path, "path")).append(parse(json, "json"), sync != 0); });
}

int tailrace_journal_read(const char* path, char** json, uint64_t* torn_bytes) {
    return give(json, [&] {
        const tailrace::JournalContent content = tailrace::read_journal(required(path, "path"));
        if (torn_bytes != nullptr) *torn_bytes = content.torn_bytes;
        return Json(content.lines);
    });
}

}  // extern "C"
