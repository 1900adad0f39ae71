// JSON that functions of tailrace.h take and return as text.
#pragma once

#include "base/journal.hpp"
#include "capi/guard.hpp"

namespace tailrace {

// Calls `make` within guard() and returns its JSON in *json, as text that the caller frees with tailrace_free.
template <class Make>
int return_json(char** json, Make&& make) {
    return guard([&] {
        *required(json, "json") = nullptr;
        *json = owned_text(Json(make()).dump(-1, ' ', false, Json::error_handler_t::replace));
    });
}

inline Json parse_json(const char* text, const char* argument) {
    if (const char* why = beyond_limits(required(text, argument)); why != nullptr)
        fail(Status::BAD_ARGUMENT, "'", argument, "' is JSON that is not read: ", why);
    Json json = tailrace::parse_json(std::string_view(text));
    if (json.is_discarded()) fail(Status::BAD_ARGUMENT, "'", argument, "' is not JSON: ", text);
    return json;
}

}  // namespace tailrace
