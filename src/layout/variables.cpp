// Reads settings from environment variables, and lists all variables.
#include <algorithm>
#include <cctype>

#include "base/error.hpp"
#include "layout/keys.hpp"
#include "layout/value.hpp"

namespace tailrace {
namespace {

const std::string kPrefix = "TAILRACE_";

std::string upper(const std::string& name) {
    std::string result;
    for (const unsigned char c : name) result += std::isalnum(c) ? static_cast<char>(std::toupper(c)) : '_';
    return result;
}

[[noreturn]] void refuse_variable(const std::string& name) {
    std::vector<std::string> known;
    for (const Key& key : all_keys()) known.push_back(kPrefix + upper(key.name));
    for (const EnvironmentVariable& variable : all_variables())
        if (!variable.is_pattern) known.push_back(variable.name);
    fail(Status::BAD_CONFIG, "environment variable ", name, " is not a key; did you mean ", nearest(name, known),
         "? Known are TAILRACE_<KEY> and TAILRACE_<STREAM>_<KEY> with the keys ", joined(key_names(), ", "));
}

// Whether other parts of Tailrace read the variable, or module systems set it.
bool is_no_key(const std::string& name) {
    return std::ranges::any_of(all_variables(), [&](const EnvironmentVariable& variable) {
        return !variable.is_pattern && !variable.is_key && variable.name == name;
    });
}

struct KeyAndOwner {
    const Key* key = nullptr;
    std::string owner;  // a stream's name in capitals; "": all streams
};

// Splits a variable's name at the longest key that it ends with: TAILRACE_OUT_ALIGN_THRESHOLD is align_threshold of stream OUT.
// Throws if it ends with no key.
KeyAndOwner key_and_owner(const std::string& name) {
    const std::string rest = name.substr(kPrefix.size());
    KeyAndOwner found;
    for (const Key& candidate : all_keys()) {
        const std::string ending = upper(candidate.name);
        if (rest != ending && !rest.ends_with("_" + ending)) continue;
        if (found.key && found.key->name.size() > candidate.name.size()) continue;
        found = {&candidate, rest == ending ? "" : rest.substr(0, rest.size() - ending.size() - 1)};
    }
    if (!found.key || (found.owner.empty() && rest != upper(found.key->name))) refuse_variable(name);
    return found;
}

}  // namespace

std::span<const EnvironmentVariable> all_variables() {
    static const std::vector<EnvironmentVariable> variables{
#define TAILRACE_VARIABLE(name, reader, meaning, otherwise) {"TAILRACE_" #name, reader, meaning, otherwise, false, false},
#define TAILRACE_KEY_VARIABLE(name, reader, meaning, otherwise) {"TAILRACE_" #name, reader, meaning, otherwise, false, true},
#define TAILRACE_FOREIGN_VARIABLE(name) {"TAILRACE_" #name, "nothing", "set by module systems", "", false, false},
#define TAILRACE_VARIABLE_PATTERN(name, reader, meaning, otherwise) {name, reader, meaning, otherwise, true, false},
#include "environment/variables.def"
#undef TAILRACE_VARIABLE
#undef TAILRACE_KEY_VARIABLE
#undef TAILRACE_FOREIGN_VARIABLE
#undef TAILRACE_VARIABLE_PATTERN
    };
    return variables;
}

bool owns_variable(const std::string& stream, const std::string& owner) { return owner == upper(stream); }

std::map<std::string, std::string> owners_of_variables(const std::map<std::string, std::string>& environment) {
    std::map<std::string, std::string> owners;
    for (const auto& [name, value] : environment) {
        if (!name.starts_with(kPrefix) || is_no_key(name) || value.empty()) continue;
        const std::string owner = key_and_owner(name).owner;
        if (!owner.empty() && owner != "DEFAULT") owners[name] = owner;
    }
    return owners;
}

std::vector<Settings> parse_environment(const std::map<std::string, std::string>& environment, const std::string& stream) {
    Settings for_all{"environment", {}}, for_stream{"environment, stream " + stream, {}};
    StreamConfig tried;
    for (const auto& [name, value] : environment) {
        if (!name.starts_with(kPrefix) || is_no_key(name)) continue;
        const auto [key, owner] = key_and_owner(name);
        if (value.empty()) continue;  // an empty value counts as not set: in a shell, NAME= unsets the variable for one command
        set_key("environment variable " + name, key->name, value, tried);
        if (owner.empty() || owner == "DEFAULT")  // like [stream.default] of the file
            for_all.values.emplace_back(key->name, value);
        else if (owns_variable(stream, owner))
            for_stream.values.emplace_back(key->name, value);
    }
    std::vector<Settings> found;
    for (Settings* settings : {&for_all, &for_stream})
        if (!settings->values.empty()) found.push_back(std::move(*settings));
    return found;
}

}  // namespace tailrace
