// Steps of a stream as one dataset: its arrays, and the parts that have their values. The index and the combined file are made from
// this dataset.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "layout/placement.hpp"
#include "part/description.hpp"
#include "record/history.hpp"
#include "view/subindexes.hpp"

namespace tailrace {

// Describes the steps [first, last) of History::steps; without steps and time if the stream has only static arrays. The arrays are
// the variables in their order, then the lengths of ragged dimensions, then the times. Files of sources are paths below the
// stream's directory. An array without sources is in no part: write_arrays_without_sources() writes it.
// `subindexes`: index files between the dataset and the parts; none: the sources are the parts.
Description describe_steps(const History& history, const std::string& stream, size_t first, size_t last,
                           const std::vector<Subindex>& subindexes = {});

// The fill value of a variable in the dataset, or empty.
std::vector<std::byte> fill_in_dataset(const History& history, size_t variable);

// Writes the arrays that no part has: times, lengths, coordinates of the journal, and fill values of variables that no rank has
// put. `places`: as places_of() returns them. `block`: the steps from History::steps[first] on.
void write_arrays_without_sources(File& out, const Description& description, const std::vector<uint64_t>& places,
                                  const Placement& placement, const StepBlock& block, const History& history, size_t first);

}  // namespace tailrace
