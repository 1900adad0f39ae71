// What NAME.nc shows of its subindexes, and what a subindex shows of its parts.
#pragma once

#include <vector>

#include "part/description.hpp"
#include "view/subindexes.hpp"

namespace tailrace {

// The sources of a variable in the steps [first, last) of History::steps, as boxes of the subindexes' arrays. `definitions`: of the
// last run. Files are paths below the stream's directory.
std::vector<Source> sources_in_subindexes(const History& history, size_t variable, const Definitions& definitions, size_t first,
                                          size_t last, const std::vector<Subindex>& subindexes);

// A subindex has the variables that its parts have, at their places in the whole array; it may have elements that no part of it
// has. A ragged variable has its steps there beside each other, not one behind the other. Files are paths below its directory.
Description describe_subindex(const History& history, const std::string& stream, const Subindex& subindex);

}  // namespace tailrace
