// One exception for everything that ends an operation: a status of status.def and a text that names what, where and the remedy.
#pragma once

#include <cstdint>
#include <optional>
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

// The name of a status and its phrase in status.def; nullptr for a number that is not a status.
const char* status_name(int status);
const char* status_text(int status);

// Who caused an error. Code that reacts to an error checks its origin, never the text of the message.
enum class Origin : uint8_t {
    one_rank,           // the arguments, memory or files of the rank that found it
    several_ranks,      // ranks that do not fit together; the message names them
    background_writer,  // one rank could not write a step for which end_step had already returned (overlap)
    writer_ranks,       // ranks that write for others (writers = dedicated:N); the message says so
};

class Error : public std::runtime_error {
public:
    Error(Status status, const std::string& message, Origin origin = Origin::one_rank, std::optional<uint64_t> rank = std::nullopt)
        : std::runtime_error(message), status_(status), origin_(origin), rank_(rank) {}
    Status status() const { return status_; }
    Origin origin() const { return origin_; }
    // The rank, in the user's communicator, that found the error. Known once the ranks have agreed on the error.
    std::optional<uint64_t> rank() const { return rank_; }

private:
    Status status_;
    Origin origin_;
    std::optional<uint64_t> rank_;
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
