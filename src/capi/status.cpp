#include <tailrace/tailrace.h>

#include <cstdlib>
#include <cstring>

#include "capi/guard.hpp"

namespace tailrace {
namespace {

constexpr const char* kZeroByte = "\xC0\x80";  // as bindings write it; no UTF-8 text has these bytes

}  // namespace

std::string& last_message() {
    thread_local std::string message;
    return message;
}

int keep(const Error& error, const Caller* caller) {
    const int status = static_cast<int>(error.status());
    const std::string whose = caller != nullptr && caller->ranks > 1 ? text("rank ", caller->rank, ": ") : "";
    last_message() = text(status_text(status), ": ", whose, error.what());
    return status;
}

const char* required(const char* text, const char* name) {
    if (text == nullptr) fail(Status::BAD_ARGUMENT, "argument '", name, "' is NULL");
    if (const char* zero = std::strstr(text, kZeroByte); zero != nullptr)
        fail(Status::BAD_ARGUMENT, "argument '", name, "' has a zero byte behind '", std::string(text, zero),
             "': a name or text of NetCDF cannot have one; leave it out");
    return text;
}

char* owned_text(const std::string& text) {
    char* copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    return copy;
}

}  // namespace tailrace

extern "C" {

const char* tailrace_error_message(void) { return tailrace::last_message().c_str(); }

const char* tailrace_status_name(int status) {
    const char* name = tailrace::status_name(status);
    return name != nullptr ? name : "UNKNOWN";
}

const char* tailrace_version(void) { return TAILRACE_VERSION; }

void tailrace_free(char* text) { std::free(text); }

}  // extern "C"
