// Where a stream's settings come from: the options of the call, the configuration file, the environment.
#pragma once

#include <string>
#include <vector>

#include "base/journal.hpp"
#include "gather/communicator.hpp"
#include "layout/keys.hpp"

namespace tailrace {

// Reads all sources, weakest first, on the rank that calls it. As JSON, to be sent to the others.
Json gather_settings(const std::string& stream, const std::string& options);
std::vector<Settings> settings_of(const Json& json);
// Collective. Those of rank 0, on all; throws where the ranks mean different streams.
Json agree_settings(const Communicator& ranks, const std::string& directory, const std::string& stream, const std::string& options);

}  // namespace tailrace
