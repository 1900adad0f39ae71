// What all ranks must give alike, as text: what each thing is, and its value on this rank. Made where ranks disagree.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tailrace {

using Facts = std::vector<std::pair<std::string, std::string>>;

}  // namespace tailrace
