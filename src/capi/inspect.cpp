// C functions that report what is on storage: streams, their condition, journals.
#include <tailrace/tailrace.h>

#include "base/journal.hpp"
#include "capi/json_text.hpp"
#include "maintain/verify.hpp"
#include "view/catalog.hpp"

using tailrace::Json;
using tailrace::required;
using tailrace::return_json;

extern "C" {

int tailrace_list(const char* directory, const char* name, char** json) {
    return return_json(
        json, [&] { return tailrace::list_streams(required(directory, "directory"), tailrace::optional_text(name, "name")); });
}

int tailrace_verify(const char* directory, const char* name, int deep, char** json) {
    return return_json(
        json, [&] { return tailrace::verify_stream(required(directory, "directory"), required(name, "name"), deep != 0); });
}

int tailrace_journal_append(const char* path, const char* json, int sync) {
    return tailrace::guard(
        [&] { tailrace::Journal(required(path, "path")).append(tailrace::parse_json(json, "json"), sync != 0); });
}

int tailrace_journal_read(const char* path, char** json, uint64_t* torn_bytes) {
    return return_json(json, [&] {
        const tailrace::JournalContent content = tailrace::read_journal(required(path, "path"));
        if (torn_bytes != nullptr) *torn_bytes = content.torn_bytes;
        return Json(content.lines);
    });
}

}  // extern "C"
