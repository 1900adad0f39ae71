// What of a run's definitions would change the meaning of steps that earlier runs stored.
#pragma once

#include <string>

#include "record/definitions.hpp"

namespace tailrace {

// Whether and where a run cannot continue with these definitions: dimensions, variables and types of `earlier` stay as they are, in
// their order; new ones may stand behind them. Empty: it can.
std::string difference_in_structure(const Definitions& earlier, const Definitions& now);

// The first attribute that says what stored values mean and is not the same, with its variable and both values. Empty: the steps
// of both mean the same. Their structures must fit.
std::string difference_in_meaning(const Definitions& earlier, const Definitions& now);

}  // namespace tailrace
