// Reads settings from TOML text and from the configuration file, and merges them into the configuration in force.
#include <toml++/toml.h>
#include <algorithm>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "layout/keys.hpp"
#include "layout/value.hpp"

namespace tailrace {
namespace {

std::string at_line(const std::string& origin, const toml::source_region& source) {
    return text(origin, ", line ", source.begin.line);
}

toml::table parse_toml(const std::string& toml_text, const std::string& origin) {
    try {
        return toml::parse(toml_text);
    } catch (const toml::parse_error& error) {
        fail(Status::BAD_CONFIG, at_line(origin, error.source()), ": this is not valid TOML: ", error.description());
    }
}

// A value as text, whether it was written as a string, a number or a boolean (on, off).
std::string value_text(const std::string& origin, std::string_view key, const toml::node& node) {
    if (const auto* string = node.as_string()) return string->get();
    if (const auto* number = node.as_integer()) return std::to_string(number->get());
    if (const auto* number = node.as_floating_point()) return real_text(number->get());
    if (const auto* boolean = node.as_boolean()) return boolean->get() ? "on" : "off";
    std::ostringstream type;
    type << node.type();
    fail(Status::BAD_CONFIG, at_line(origin, node.source()), ": ", key, " is of TOML type ", type.str(),
         "; write a string, a number, or true or false");
}

// All keys of one table, in the order of the text, each checked.
Settings settings_of(const toml::table& table, const std::string& file, const std::string& origin) {
    std::vector<std::pair<const toml::key*, const toml::node*>> entries;
    for (auto&& [key, node] : table) entries.emplace_back(&key, &node);
    std::ranges::sort(entries, {}, [](const auto& entry) {
        const auto begin = entry.first->source().begin;
        return std::pair(begin.line, begin.column);
    });
    Settings settings{origin, {}};
    StreamConfig tried;
    for (const auto& [key, node] : entries) {
        const std::string name(key->str());
        const std::string value = find_key(name) != nullptr ? value_text(file, name, *node) : "";
        set_key(at_line(file, key->source()), name, value, tried);
        settings.values.emplace_back(name, value);
    }
    return settings;
}

// The keys of [stage] that hold for streams, too.
Settings stage_settings(const toml::table& file, const std::string& path) {
    Settings settings{path + ", [stage]", {}};
    const toml::table* stage = file["stage"].as_table();
    if (stage == nullptr) return settings;
    StreamConfig tried;
    for (const std::string key : {"scratch", "min_free"}) {
        const toml::node* node = stage->get(key);
        const auto* value = node != nullptr ? node->as_string() : nullptr;
        if (value == nullptr || value->get().empty()) continue;  // `tailrace run` checks the table
        set_key(at_line(path, node->source()) + ", [stage]", key, value->get(), tried);
        settings.values.emplace_back(key, value->get());
    }
    return settings;
}

// Throws BAD_CONFIG for what may not be at the top level of a configuration file: only declared tables may.
void check_top_level(const std::string& where, const std::string& name, const toml::node& node) {
    std::vector<std::string> tables;
    for (const ConfigTable& table : config_tables()) tables.push_back(table.name);
    if (std::ranges::find(tables, name) != tables.end()) {
        if (node.is_table() || (name != "stream" && node.is_array_of_tables())) return;
        const std::string head = name == "stream" ? "stream.NAME" : name;
        fail(Status::BAD_CONFIG, where, ": '", name, "' is a table and has no value; write [", head, "] and its keys below it");
    }
    if (node.is_table() || node.is_array_of_tables())
        fail(Status::BAD_CONFIG, where, ": unknown table [", name, "]; did you mean [", nearest(name, tables),
             "]? The tables are: ", joined(tables, ", "));
    const std::vector<std::string> keys = key_names();
    fail(Status::BAD_CONFIG, where, ": key '", name, "' stands outside of a table; did you mean '", nearest(name, keys),
         "' under [stream.default] or [stream.NAME]?");
}

// Sets the defaults of keys that are not given: one file, appended along time, which one rank of each node writes. With a preset,
// or with `keep`, each file has one step by default: `keep` removes old steps together with their files.
void complete(const std::set<std::string>& given, StreamConfig& config) {
    Layout& layout = config.layout;
    const bool has_preset = given.contains("layout");
    if (!has_preset && !given.contains("files") && !given.contains("writers")) config.preset = "collective";
    if (!has_preset && !given.contains("writers") && layout.files.kind == Files::Kind::one)
        layout.writers = {Writers::Kind::per_node};
    if (!has_preset && !given.contains("steps") && config.keep_steps == 0 && layout.stage == Stage::none)
        layout.steps = Layout::kAllSteps;
}

}  // namespace

std::span<const ConfigTable> config_tables() {
    static const std::vector<ConfigTable> tables{
        {"stream", "[stream.default] and [stream.NAME]: the keys of all streams and of one"},
        {"trace", "recorded runs; reserved"},
        {"place", "where an unchanged program's files go; reserved"},
        {"stage", "files that are written on node-local scratch first; its keys scratch and min_free hold for streams, too"},
        {"machine", "file systems, servers, links and nodes; reserved"},
        {"ensemble", "many runs of a program; reserved"},
    };
    return tables;
}

Settings parse_options(const std::string& toml, const std::string& origin) {
    return settings_of(parse_toml(toml, origin), origin, origin);
}

std::vector<Settings> parse_config_file(const std::string& toml, const std::string& path, const std::string& stream) {
    const toml::table file = parse_toml(toml, path);
    for (auto&& [key, node] : file) check_top_level(at_line(path, key.source()), std::string(key.str()), node);
    std::vector<Settings> found;
    if (Settings stage = stage_settings(file, path); !stage.values.empty()) found.push_back(std::move(stage));
    const toml::table* streams = file["stream"].as_table();
    if (!streams) return found;

    std::map<std::string, Settings> tables;
    for (auto&& [key, node] : *streams) {
        const std::string name(key.str());
        if (!node.is_table())
            fail(Status::BAD_CONFIG, at_line(path, key.source()), ": '", name,
                 "' stands in [stream] itself; put keys under [stream.default] or [stream.NAME]");
        tables[name] = settings_of(*node.as_table(), path, path + ", [stream." + name + "]");
    }
    if (tables.contains("default")) found.push_back(tables["default"]);
    if (stream != "default" && tables.contains(stream)) found.push_back(tables[stream]);
    return found;
}

std::vector<std::string> streams_in_config_file(const std::string& toml, const std::string& path) {
    const toml::table file = parse_toml(toml, path);
    std::vector<std::string> names;
    if (const toml::table* streams = file["stream"].as_table())
        for (auto&& [key, node] : *streams)
            if (key.str() != "default") names.emplace_back(key.str());
    return names;
}

StreamConfig resolve(const std::vector<Settings>& settings) {
    StreamConfig config;
    std::set<std::string> given;
    for (const Settings& source : settings)
        for (const bool preset : {true, false})
            for (const auto& [key, value] : source.values)
                if ((key == "layout") == preset) {
                    set_key(source.origin, key, value, config);
                    given.insert(key);
                }
    complete(given, config);
    return config;
}

}  // namespace tailrace
