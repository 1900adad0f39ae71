// Where a stream's settings come from: the options of the call, the configuration file, the environment.
#pragma once

#include <string>
#include <vector>

#include "base/journal.hpp"
#include "layout/keys.hpp"

namespace tailrace {

// Reads all sources, weakest first, on the rank that calls it. As JSON, to be sent to the others.
Json gather_settings(const std::string& stream, const std::string& options);
std::vector<Settings> settings_of(const Json& json);

}  // namespace tailrace
