// Steps of a stream as one dataset: its arrays, and in which parts their values are. The index shows it, combine writes it whole.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/system.hpp"
#include "layout/placement.hpp"
#include "part/description.hpp"
#include "record/history.hpp"

namespace tailrace {

// The steps [first, last) of History::steps. The arrays are the variables in their order, then the lengths of ragged dimensions,
// then the times. Files of sources are paths below the stream's directory. An array without sources is not in the parts:
// write_known() writes it.
Description describe_steps(const History& history, const std::string& stream, size_t first, size_t last);

// The arrays that no part has: times and lengths, what the journal holds whole, and fill values of what no rank has put.
// `places` as places_of() has them; `block` holds the steps from `first` on.
void write_known(File& out, const Description& description, const std::vector<uint64_t>& places, const Placement& placement,
                 const StepBlock& block, const History& history, size_t first);

}  // namespace tailrace
