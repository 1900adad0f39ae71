#include "stream/environment.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/checksum.hpp"
#include "base/file.hpp"
#include "base/paths.hpp"
#include "gather/agree.hpp"
#include "gather/disagreement.hpp"
#include "layout/name.hpp"

extern char** environ;

namespace tailrace {
namespace {

std::map<std::string, std::string> environment() {
    std::map<std::string, std::string> all;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        const size_t equals = text.find('=');
        if (equals != std::string::npos) all[text.substr(0, equals)] = text.substr(equals + 1);
    }
    return all;
}

std::mutex settings_mutex;  // different threads may open streams

SettingsForStreams& settings_read() {
    static auto* const settings = new SettingsForStreams;  // MPI_Finalize may come after the destructors of this library
    return *settings;
}

}  // namespace

const SettingsForStreams& settings_for_streams() { return settings_read(); }

Json gather_settings(const std::string& stream, const std::string& options) {
    std::vector<Settings> sources = {parse_options(options, "options of tailrace_open")};
    const char* named = std::getenv(variable::CONFIG);
    const std::string path = named != nullptr ? named : "tailrace.toml";
    if (named != nullptr || path_exists(path)) {
        const std::string toml = File::open_users_file(path).read_all();
        for (Settings& settings : parse_config_file(toml, path, stream)) sources.push_back(std::move(settings));
        const std::lock_guard lock(settings_mutex);
        settings_read().path = path;
        for (std::string& name : streams_in_config_file(toml, path)) settings_read().tables.insert(std::move(name));
    }
    const std::map<std::string, std::string> variables = environment();
    for (Settings& settings : parse_environment(variables, stream)) sources.push_back(std::move(settings));
    const std::lock_guard lock(settings_mutex);
    settings_read().variables.merge(owners_of_variables(variables));
    Json json = Json::array();
    for (const Settings& settings : sources) json.push_back({{"origin", settings.origin}, {"values", settings.values}});
    return json;
}

std::vector<Settings> settings_of(const Json& json) {
    std::vector<Settings> sources;
    for (const Json& entry : json) {
        Settings settings{entry.at("origin"), {}};
        for (const Json& pair : entry.at("values")) settings.values.emplace_back(pair.at(0), pair.at(1));
        sources.push_back(std::move(settings));
    }
    return sources;
}

Json agree_settings(const Communicator& ranks, const std::string& directory, const std::string& stream,
                    const std::string& options) {
    Json agreed;
    run_or_end_job(ranks.size() > 1, [&] {
        std::string settings;
        const auto error = attempt([&] {
            check_stream_name(stream);
            settings = ranks.rank() == 0 ? gather_settings(stream, options).dump() : "";
        });
        const std::string place = directory + "/" + stream;
        const OpenVote vote{.place = Checksum::of(place.data(), place.size()),
                            .options = Checksum::of(options.data(), options.size())};
        const auto facts = [&] {
            std::string lines = options;
            std::ranges::replace(lines, '\n', ';');
            return Facts{
                {"the directory", "'" + directory + "'"}, {"the name", "'" + stream + "'"}, {"the text", "'" + lines + "'"}};
        };
        agreed = Json::parse(
            with_facts(ranks, facts, [&] { return agree_on_text(ranks, vote, error, [&] { return std::move(settings); }); }));
    });
    return agreed;
}

}  // namespace tailrace
