// The sources of NAME.nc in its subindexes, and those of a subindex in its parts.
#pragma once

#include <vector>

#include "part/description.hpp"
#include "view/subindexes.hpp"

namespace tailrace {

// The sources of a variable in the steps [first, last) of History::steps, as boxes of the subindexes' arrays. `definitions`: of the
// last run. Files are paths below the stream's directory.
std::vector<Source> sources_in_subindexes(const History& history, size_t variable, const Definitions& definitions, size_t first,
                                          size_t last, const std::vector<Subindex>& subindexes);

// Describes a subindex. It has the variables of its parts, each with the shape of the whole array, even if its parts have only some
// of the elements. Each step of a ragged variable begins at index 0 there, not behind the step before. Files are paths below the
// subindex's directory.
Description describe_subindex(const History& history, const std::string& stream, const Subindex& subindex);

}  // namespace tailrace
