// C functions that change a stream while no process writes to it: repair, rewind, adopt, index, combine.
#include <tailrace/tailrace.h>

#include "capi/json_text.hpp"
#include "maintain/adopt.hpp"
#include "maintain/combine.hpp"
#include "maintain/repair.hpp"
#include "maintain/rewind.hpp"
#include "view/catalog.hpp"

using tailrace::Json;
using tailrace::required;
using tailrace::return_json;

extern "C" {

int tailrace_repair(const char* directory, const char* name, int take_over, char** json) {
    return return_json(
        json, [&] { return tailrace::repair_stream(required(directory, "directory"), required(name, "name"), take_over != 0); });
}

int tailrace_rewind(const char* directory, const char* name, const char* to, int take_over, char** json) {
    return return_json(json, [&] {
        const Json chosen = tailrace::parse_json(required(to, "to"), "to");
        tailrace::RewindTo where;
        for (const auto& [key, value] : chosen.items()) {
            if (key == "before" && value.is_number())
                where.before = value.get<double>();
            else if (key == "steps" && value.is_number_unsigned())
                where.steps = value.get<uint64_t>();
            else
                fail(tailrace::Status::BAD_ARGUMENT, "argument 'to': \"", key, "\": ", value.dump(),
                     R"( is not possible; write {"before": TIME} or {"steps": N})");
        }
        return tailrace::rewind_stream(required(directory, "directory"), required(name, "name"), where, take_over != 0);
    });
}

int tailrace_adopt(const char* directory, const char* name, int take_over, char** json) {
    return return_json(
        json, [&] { return tailrace::adopt_stream(required(directory, "directory"), required(name, "name"), take_over != 0); });
}

int tailrace_index(const char* directory, const char* name, int take_over) {
    return tailrace::guard(
        [&] { tailrace::index_stream(required(directory, "directory"), required(name, "name"), take_over != 0); });
}

int tailrace_combine(const char* directory, const char* name, const char* output, const char* options, tailrace_progress progress,
                     void* context, char** json) {
    return return_json(json, [&] {
        const Json chosen = options != nullptr ? tailrace::parse_json(options, "options") : Json::object();
        tailrace::CombineOptions how;
        how.threads = chosen.value("threads", 0u);
        how.replace = chosen.value("replace", false);
        how.sync = chosen.value("sync", false);
        if (progress != nullptr) how.progress = [=](uint64_t done, uint64_t all) { return progress(done, all, context) == 0; };
        return tailrace::combine_stream(required(directory, "directory"), required(name, "name"), required(output, "output"), how);
    });
}

}  // extern "C"
