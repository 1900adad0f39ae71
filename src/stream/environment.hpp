// Where a stream's settings come from: the options of the call, the configuration file, the environment.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/journal.hpp"
#include "gather/communicator.hpp"
#include "layout/keys.hpp"

namespace tailrace {

// Settings for single streams that this process has read: tables of the configuration file, and variables.
struct SettingsForStreams {
    std::string path;                              // of the configuration file
    std::set<std::string> tables;                  // names of streams that have a table in the file
    std::map<std::string, std::string> variables;  // environment variable -> the stream's name in capitals
};
const SettingsForStreams& settings_for_streams();

// Local. Reads all sources of settings, the weakest first, and returns them as JSON, which rank 0 broadcasts.
Json gather_settings(const std::string& stream, const std::string& options);
std::vector<Settings> settings_of(const Json& json);
// Collective. Returns the settings of rank 0 on all ranks. Throws if the ranks open different streams.
Json agree_settings(const Communicator& ranks, const std::string& directory, const std::string& stream, const std::string& options);

}  // namespace tailrace
