// Where settings come from: TOML text, the configuration file, the environment; and what they come to together.
#include <toml++/toml.h>
#include <algorithm>
#include <cctype>
#include <sstream>

#include "base/error.hpp"
#include "layout/keys.hpp"
#include "layout/value.hpp"

namespace tailrace {
namespace {

const std::string kEnvironmentPrefix = "TAILRACE_";

std::vector<std::string> key_names() {
    std::vector<std::string> names;
    for (const Key& key : all_keys()) names.push_back(key.name);
    return names;
}

const Key* find_key(const std::string& name) {
    for (const Key& key : all_keys())
        if (key.name == name) return &key;
    return nullptr;
}

// The key's value set in `config`; errors say where the setting is from.
void set_from(const std::string& origin, const std::string& name, const std::string& value, StreamConfig& config) {
    const Key* key = find_key(name);
    if (!key) {
        const auto names = key_names();
        fail(Status::BAD_CONFIG, origin, ": unknown key '", name, "'; did you mean '", nearest(name, names),
             "'? The keys are: ", joined(names, ", "));
    }
    try {
        key->set(value, config);
    } catch (const Error& error) {
        throw Error(error.status(), origin + ": " + error.what());
    }
}

std::string at_line(const std::string& origin, const toml::source_region& source) {
    return text(origin, ", line ", source.begin.line);
}

toml::table parse_toml(const std::string& toml_text, const std::string& origin) {
    try {
        return toml::parse(toml_text);
    } catch (const toml::parse_error& error) {
        fail(Status::BAD_CONFIG, at_line(origin, error.source()), ": not TOML: ", error.description());
    }
}

// A value as text, whether it was written as a string, a whole number or a boolean (on, off).
std::string value_text(const std::string& origin, std::string_view key, const toml::node& node) {
    if (const auto* string = node.as_string()) return string->get();
    if (const auto* number = node.as_integer()) return std::to_string(number->get());
    if (const auto* boolean = node.as_boolean()) return boolean->get() ? "on" : "off";
    std::ostringstream type;
    type << node.type();
    fail(Status::BAD_CONFIG, at_line(origin, node.source()), ": ", key, " is of TOML type ", type.str(),
         "; write a string, a whole number, or true or false");
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
        const std::string value = find_key(name) ? value_text(file, name, *node) : "";
        set_from(at_line(file, key->source()), name, value, tried);
        settings.values.emplace_back(name, value);
    }
    return settings;
}

std::string upper(const std::string& name) {
    std::string result;
    for (const unsigned char c : name) result += std::isalnum(c) ? static_cast<char>(std::toupper(c)) : '_';
    return result;
}

[[noreturn]] void unknown_environment(const std::string& name) {
    std::vector<std::string> known;
    for (const Key& key : all_keys()) known.push_back(kEnvironmentPrefix + upper(key.name));
    for (const std::string& reserved : reserved_environment()) known.push_back(reserved);
    fail(Status::BAD_CONFIG, "environment variable ", name, " is no key; did you mean ", nearest(name, known),
         "? Known are TAILRACE_<KEY> and TAILRACE_<STREAM>_<KEY> with the keys ", joined(key_names(), ", "));
}

}  // namespace

std::span<const std::string> reserved_environment() {
    static const std::vector<std::string> names{
        "TAILRACE_CONFIG",        // the configuration file, instead of tailrace.toml in the working directory
        "TAILRACE_TRACE",         // the folder for logs of a recorded run (src/trace)
        "TAILRACE_TRACE_BYTES",   // how much log each of its processes may write
        "TAILRACE_BARRIERS",      // calls that its ranks meet before (src/preload)
        "TAILRACE_CACHE",         // where studies keep prepared input
        "TAILRACE_LIBRARY",       // the library that the Python package loads
        "TAILRACE_BUILD",         // the build folder that the tests and benches take programs from
        "TAILRACE_RESUME_STATE",  // where the test run notes what has passed
        // What module systems set for each package they load.
        "TAILRACE_ROOT",
        "TAILRACE_DIR",
        "TAILRACE_HOME",
        "TAILRACE_PREFIX",
        "TAILRACE_VERSION",
        "TAILRACE_BASE",
        "TAILRACE_INC",
        "TAILRACE_LIB",
        "TAILRACE_BIN",
    };
    return names;
}

Settings parse_options(const std::string& toml, const std::string& origin) {
    return settings_of(parse_toml(toml, origin), origin, origin);
}

std::vector<Settings> parse_config_file(const std::string& toml, const std::string& path, const std::string& stream) {
    const toml::table file = parse_toml(toml, path);
    for (auto&& [key, node] : file)
        if (key.str() != "stream" || !node.is_table())
            fail(Status::BAD_CONFIG, at_line(path, key.source()), ": '", key.str(),
                 "' stands outside of a stream's table; put keys under [stream.default] or [stream.NAME]");
    const toml::table* streams = file["stream"].as_table();
    if (!streams) return {};

    std::map<std::string, Settings> tables;
    for (auto&& [key, node] : *streams) {
        const std::string name(key.str());
        if (!node.is_table())
            fail(Status::BAD_CONFIG, at_line(path, key.source()), ": '", name,
                 "' stands in [stream] itself; put keys under [stream.default] or [stream.NAME]");
        tables[name] = settings_of(*node.as_table(), path, path + ", [stream." + name + "]");
    }
    std::vector<Settings> found;
    if (tables.contains("default")) found.push_back(tables["default"]);
    if (stream != "default" && tables.contains(stream)) found.push_back(tables[stream]);
    return found;
}

std::vector<Settings> parse_environment(const std::map<std::string, std::string>& environment, const std::string& stream) {
    Settings for_all{"environment", {}}, for_stream{"environment, stream " + stream, {}};
    StreamConfig tried;
    const auto reserved = reserved_environment();
    for (const auto& [name, value] : environment) {
        if (!name.starts_with(kEnvironmentPrefix) || std::ranges::find(reserved, name) != reserved.end()) continue;
        const std::string rest = name.substr(kEnvironmentPrefix.size());
        const Key* key = nullptr;
        std::string owner;
        for (const Key& candidate : all_keys()) {
            // The longest key that fits: TAILRACE_OUT_ALIGN_THRESHOLD is align_threshold of stream OUT.
            const std::string ending = upper(candidate.name);
            if (rest != ending && !rest.ends_with("_" + ending)) continue;
            if (key && key->name.size() > candidate.name.size()) continue;
            key = &candidate;
            owner = rest == ending ? "" : rest.substr(0, rest.size() - ending.size() - 1);
        }
        if (!key || (owner.empty() && rest != upper(key->name))) unknown_environment(name);
        if (value.empty()) continue;  // as a shell unsets for one command
        set_from("environment variable " + name, key->name, value, tried);
        if (owner.empty() || owner == "DEFAULT")  // as [stream.default] of the file
            for_all.values.emplace_back(key->name, value);
        else if (owner == upper(stream))
            for_stream.values.emplace_back(key->name, value);
    }
    std::vector<Settings> found;
    for (Settings* settings : {&for_all, &for_stream})
        if (!settings->values.empty()) found.push_back(std::move(*settings));
    return found;
}

StreamConfig resolve(const std::vector<Settings>& settings) {
    StreamConfig config;
    for (const Settings& source : settings)
        for (const bool preset : {true, false})
            for (const auto& [key, value] : source.values)
                if ((key == "layout") == preset) set_from(source.origin, key, value, config);
    return config;
}

nlohmann::ordered_json requested_json(const std::vector<Settings>& settings) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    for (const Settings& source : settings)
        for (const auto& [key, value] : source.values) json[key] = {{"value", value}, {"origin", source.origin}};
    return json;
}

}  // namespace tailrace
