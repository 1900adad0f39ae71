// The configuration keys, each declared once: TOML, environment, Python, `tailrace keys` and the documentation use this
// list.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "environment/variables.hpp"
#include "layout/layout.hpp"

namespace tailrace {

// What happens to a step for which there is no room in memory.
enum class OverlapPolicy { block, drop, spill };

// What may be configured for a stream: its layout and how it is opened.
struct StreamConfig {
    Layout layout;
    std::string preset = "single";        // the preset that was named last
    std::string mode = "append";          // append | replace | resume
    std::optional<double> resume_before;  // mode = resume: drops steps at or after this time; none: that of the first new step
    std::string time_name = "time";
    uint64_t exchange_bytes = 8u << 20;  // memory of a writer for other ranks' data; fastest if it fits into a shared cache
    uint64_t overlap_bytes = 1u << 30;   // memory of a rank for data that waits to be written
    OverlapPolicy overlap_policy = OverlapPolicy::block;
    std::string spill_directory = "/tmp";
    std::string scratch = "auto";          // with stage = scratch: the folder of the node, as the user has written it
    uint64_t min_free_bytes = 1ull << 30;  // of it; with less, parts are written at the target
    uint64_t keep_steps = 0;               // how many of the last committed steps are kept; 0: all
    bool takes_over = false;               // writes the stream even if another run seems to write it
    uint64_t ranks_per_node = 0;           // groups ranks by this many, for tests and dry runs; 0: MPI's nodes
    // Not a key, but found when the stream is opened: the clients of the file system share no cache.
    bool flushes_before_vote = false;
};

struct Key {
    std::string name;    // "files", "durability", ...
    std::string values;  // as text for users: "one | per-node | per-rank | N"
    std::string meaning;
    // Reads the value's text into the config; throws BAD_CONFIG naming key, value and remedy.
    std::function<void(const std::string& value, StreamConfig&)> set;
    std::function<std::string(const StreamConfig&)> get;
};

struct Preset {
    std::string name;  // "split" takes a number: split:N
    std::string meaning;
    std::function<void(uint64_t number, Layout&)> apply;  // sets files, writers, tree, stage; keeps the other choices
};

std::span<const Key> all_keys();
std::vector<std::string> key_names();
const Key* find_key(const std::string& name);  // null: there is none
// Sets the key's value in `config`. Errors begin with `origin`, which says where the setting is from.
void set_key(const std::string& origin, const std::string& name, const std::string& value, StreamConfig& config);
std::span<const Preset> all_presets();
// The choice Files for a number of files: Kind::one for 1, else Kind::number.
Files files_of_number(uint64_t number);

// Settings of one source: its name for messages ("tailrace.toml, [stream.history]"), and keys with their values' text, in order.
struct Settings {
    std::string origin;
    std::vector<std::pair<std::string, std::string>> values;
};

// A table at the top level of tailrace.toml. The reader of a stream's settings takes [stream] and passes over the others.
struct ConfigTable {
    std::string name, meaning;
};
std::span<const ConfigTable> config_tables();

// A line of the list in environment/variables.def.
struct EnvironmentVariable {
    std::string name, reader, meaning, otherwise;  // otherwise: what holds where it is not set
    bool is_pattern, is_key;                       // the name is a pattern, TAILRACE_<KEY>; a key that is also read elsewhere
};
std::span<const EnvironmentVariable> all_variables();

// Reads the options of an open call: TOML text with keys at top level. Unknown keys and wrong types throw BAD_CONFIG with line and
// remedy.
Settings parse_options(const std::string& toml, const std::string& origin);
// The settings of a stream in the text of a configuration file: [stream.default], then [stream.NAME]; {} where there is none.
// Throws BAD_CONFIG for a typing error in any stream's table, and for what is at the top level and not in config_tables().
std::vector<Settings> parse_config_file(const std::string& toml, const std::string& path, const std::string& stream);
// Reads TAILRACE_<KEY>, then TAILRACE_<STREAM>_<KEY>, from an environment given as NAME -> value. Throws BAD_CONFIG, with the
// nearest name, for a TAILRACE_ name that is neither a key nor in all_variables().
std::vector<Settings> parse_environment(const std::map<std::string, std::string>& environment, const std::string& stream);

// The streams that have a table of their own in the text of a configuration file, [stream.default] left out.
std::vector<std::string> streams_in_config_file(const std::string& toml, const std::string& path);
// The variables TAILRACE_<STREAM>_<KEY> of an environment, and <STREAM> of each.
std::map<std::string, std::string> owners_of_variables(const std::map<std::string, std::string>& environment);
// Whether <STREAM> of a variable is this stream.
bool owns_variable(const std::string& stream, const std::string& owner);

// Merges settings into the configuration in force. Later ones override earlier ones. Within one source, "layout" (a preset) is
// applied before the single choices, whatever their order.
StreamConfig resolve(const std::vector<Settings>& settings);

// All keys with the text of their effective values, which set_key() can read again: {key: value}.
nlohmann::ordered_json effective_json(const StreamConfig& config);
// Only the keys that are set, with their origin: {key: {"value", "origin"}}.
nlohmann::ordered_json requested_json(const std::vector<Settings>& settings);
// {"keys": [{"name", "values", "default", "meaning"}], "presets": [{"name", "meaning", "keys": {...}}],
// "combinations": combinations_json(), "tables": [{"name", "meaning"}], "variables": [{"name", "reader", "meaning", "default"}]}
nlohmann::ordered_json keys_json();
// [{"files", "writers", "steps", "tree", "refusal"}]: each combination, and why it is refused ("": it is accepted).
nlohmann::ordered_json combinations_json();

// Throws BAD_LAYOUT for choices that contradict each other, with the remedy. Every layout that passes can be planned.
void check_choices(const Layout& layout);
// Does the check above, and throws BAD_LAYOUT for keys of the stream that contradict its layout.
void check_config(const StreamConfig& config);

}  // namespace tailrace
