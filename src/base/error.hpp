// One exception for everything that ends an operation: a status of status.def and a text that names what, where and the remedy.
#pragma once

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace tailrace {

enum class Status : int {
#define TAILRACE_STATUS(name, number, text, python) name = (number),
#include <tailrace/status.def>
#undef TAILRACE_STATUS
};

// The name and the phrase of a status; nullptr for a number that is none.
const char* status_name(int status);
const char* status_text(int status);

class Error : public std::runtime_error {
public:
    Error(Status status, const std::string& message) : std::runtime_error(message), status_(status) {}
    Status status() const { return status_; }

private:
    Status status_;
};

// Puts values together as text: text("part ", 3, " of ", path).
template <class... Parts>
std::string text(Parts&&... parts) {
    std::ostringstream out;
    (out << ... << std::forward<Parts>(parts));
    return out.str();
}

template <class... Parts>
[[noreturn]] void fail(Status status, Parts&&... parts) {
    throw Error(status, text(std::forward<Parts>(parts)...));
}

}  // namespace tailrace
