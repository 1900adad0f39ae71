// Finds what in a run's definitions would change the meaning of steps that earlier runs stored.
#pragma once

#include <string>

#include "record/definitions.hpp"

namespace tailrace {

// The first difference that prevents a run from appending: `now` must begin with the dimensions, variables and types of `earlier`
// in their order; new ones may follow. Empty: there is none.
std::string difference_in_structure(const Definitions& earlier, const Definitions& now);

// The first attribute that gives stored values their meaning and is different, with its variable and both values. Empty: there is
// none. difference_in_structure() must be empty.
std::string difference_in_meaning(const Definitions& earlier, const Definitions& now);

}  // namespace tailrace
