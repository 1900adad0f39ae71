// Keys, presets, tables and variables as JSON, and the settings of a stream.
#include "layout/keys.hpp"

namespace tailrace {

nlohmann::ordered_json effective_json(const StreamConfig& config) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    for (const Key& key : all_keys()) json[key.name] = key.get(config);
    return json;
}

nlohmann::ordered_json requested_json(const std::vector<Settings>& settings) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    for (const Settings& source : settings)
        for (const auto& [key, value] : source.values) json[key] = {{"value", value}, {"origin", source.origin}};
    return json;
}

nlohmann::ordered_json keys_json() {
    const StreamConfig defaults = resolve({});
    nlohmann::ordered_json json{{"keys", nlohmann::ordered_json::array()}, {"presets", nlohmann::ordered_json::array()}};
    for (const Key& key : all_keys())
        json["keys"].push_back(
            {{"name", key.name}, {"values", key.values}, {"default", key.get(defaults)}, {"meaning", key.meaning}});
    for (const Preset& preset : all_presets()) {
        StreamConfig config;
        const bool split = preset.name == "split";
        preset.apply(split ? 2 : 0, config.layout);
        nlohmann::ordered_json choices = nlohmann::ordered_json::object();
        for (const Key& key : all_keys())
            if (key.name == "files" || key.name == "writers" || key.name == "steps" || key.name == "tree" || key.name == "stage")
                choices[key.name] = key.get(config);
        if (split) choices["files"] = "N";
        json["presets"].push_back({{"name", split ? "split:N" : preset.name}, {"meaning", preset.meaning}, {"keys", choices}});
    }
    json["combinations"] = combinations_json();
    for (const ConfigTable& table : config_tables()) json["tables"].push_back({{"name", table.name}, {"meaning", table.meaning}});
    for (const EnvironmentVariable& variable : all_variables())
        json["variables"].push_back(
            {{"name", variable.name}, {"reader", variable.reader}, {"meaning", variable.meaning}, {"default", variable.otherwise}});
    return json;
}

}  // namespace tailrace
