// What of a run's definitions would change the meaning of steps that earlier runs stored.
#pragma once

#include <string>

#include "record/definitions.hpp"

namespace tailrace {

// Whether an attribute of this name says what stored values mean. Its value then stays as long as the stream has steps.
bool changes_meaning(const std::string& attribute);

// Whether and where a run cannot continue with these definitions: dimensions, variables and types of `earlier` stay as they are, in
// their order; new ones may stand behind them. Empty: it can.
std::string difference_in_structure(const Definitions& earlier, const Definitions& now);

// The first such attribute whose value is not the same, with its variable and both values. Empty: the steps of both mean the same.
// Their structures must fit.
std::string difference_in_meaning(const Definitions& earlier, const Definitions& now);

}  // namespace tailrace
