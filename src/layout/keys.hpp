// The configuration keys, each declared once: TOML, environment, Python, `tailrace keys` and the documentation are made from this
// list.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "layout/layout.hpp"

namespace tailrace {

// What happens to a step for which there is no room in memory.
enum class OverlapPolicy { block, drop, spill };

// What may be configured for a stream: its layout and how it is opened.
struct StreamConfig {
    Layout layout;
    std::string preset = "single";  // the preset that was named last
    std::string mode = "append";    // append | replace
    std::string time_name = "time";
    uint64_t exchange_bytes = 8u << 20;  // memory a writer offers to others' data: what fits into a shared cache is fastest
    uint64_t overlap_bytes = 1u << 30;   // of a rank's data that waits to be written
    OverlapPolicy overlap_policy = OverlapPolicy::block;
    std::string spill_directory = "/tmp";
    uint64_t keep_steps = 0;      // committed steps that stay; 0: all
    uint64_t ranks_per_node = 0;  // 0: as MPI says; otherwise ranks are grouped by this many (for tests and dry runs)
};

struct Key {
    std::string name;    // "files", "durability", ...
    std::string values;  // for people: "one | per-node | per-rank | N"
    std::string meaning;
    // Reads the value's text into the config; throws BAD_CONFIG naming key, value and remedy.
    std::function<void(const std::string& value, StreamConfig&)> set;
    std::function<std::string(const StreamConfig&)> get;
};

struct Preset {
    std::string name;  // "split" takes a number: split:N
    std::string meaning;
    std::function<void(uint64_t number, Layout&)> apply;  // sets files, writers, tree, stage; leaves the other choices
};

std::span<const Key> all_keys();
std::span<const Preset> all_presets();
// N files as a choice; one file is Kind::one, however it was said.
Files files_of_number(uint64_t number);

// One source of settings: where it is from (for messages: "tailrace.toml, [stream.history]") and its key -> value texts, in order.
struct Settings {
    std::string origin;
    std::vector<std::pair<std::string, std::string>> values;
};

// TOML text with keys at top level: options of an open call. Unknown keys and wrong types throw BAD_CONFIG with line and remedy.
Settings parse_options(const std::string& toml, const std::string& origin);
// The settings of a stream in a configuration file's text: [stream.default] then [stream.NAME]; {} where there is none.
// The whole file is checked, so that a typing error in any table is found.
std::vector<Settings> parse_config_file(const std::string& toml, const std::string& path, const std::string& stream);
// TAILRACE_<KEY> then TAILRACE_<STREAM>_<KEY> from an environment given as NAME -> value. TAILRACE_ names that are no key are
// refused with the nearest key, except those in `reserved_environment()`.
std::vector<Settings> parse_environment(const std::map<std::string, std::string>& environment, const std::string& stream);

// Later settings are stronger. Within one, "layout" (a preset) is applied before the single choices, whatever their order.
StreamConfig resolve(const std::vector<Settings>& settings);

// Names beginning with TAILRACE_ that are no keys.
std::span<const std::string> reserved_environment();

// All keys with their effective values as text, readable by the keys themselves: {key: value}; and only those that were asked for,
// with their origin: {key: {"value", "origin"}}.
nlohmann::ordered_json effective_json(const StreamConfig& config);
nlohmann::ordered_json requested_json(const std::vector<Settings>& settings);
// {"keys": [{"name", "values", "default", "meaning"}], "presets": [{"name", "meaning", "keys": {...}, "available": bool}],
// "combinations": combinations_json()}
nlohmann::ordered_json keys_json();
// [{"files", "writers", "steps", "tree", "refusal"}]: each combination, and why it is not written ("": it is).
nlohmann::ordered_json combinations_json();

// Throws BAD_LAYOUT for choices that contradict each other, with the remedy. Every layout that passes can be planned.
void check_choices(const Layout& layout);
// Throws UNSUPPORTED for choices that this version plans but does not write yet, naming those that it writes.
void check_available(const Layout& layout);
bool is_available(const Layout& layout);
// Both, and for keys of the stream that contradict its layout.
void check_config(const StreamConfig& config);

}  // namespace tailrace
