// Things that must be equal on all ranks, as pairs of texts: what the thing is, and its value on this rank. Made only when ranks
// disagree, for the message.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tailrace {

using Facts = std::vector<std::pair<std::string, std::string>>;

}  // namespace tailrace
