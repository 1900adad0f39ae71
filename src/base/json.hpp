// JSON text that may come from anybody: the one place where it is parsed, with limits, and strict getters of its values.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tailrace {

using Json = nlohmann::ordered_json;

// Text beyond a limit is refused before anything is made of it. RATIONALE: 200,000 lists in each other exhaust the stack of what
// goes through the values, and an object finds its keys one by one, so that many of them take quadratic time.
struct JsonLimits {
    static constexpr uint64_t bytes = uint64_t{1} << 31;
    static constexpr size_t depth = 32;   // of lists and objects; a run line has 7
    static constexpr size_t keys = 4096;  // of one object; the layout of a run has some 30
};

// Why the text is beyond a limit; nullptr where it is not.
const char* beyond_limits(std::string_view json);

// The value; is_discarded() for text that is not JSON, or beyond a limit.
Json parse_json(std::string_view text);

// An integer from 0 to 2^64 - 1, and no other kind of value: Json itself takes -1 for 2^64 - 1, and 1.5 for 1. Throws CORRUPT with
// `what`, such as "the key 'files'".
uint64_t count_of(const Json& value, const char* what);
// The same of object[key], and of a list of such numbers. Throws what Json throws where there is no such key.
uint64_t count_at(const Json& object, const char* key);
uint64_t count_at(const Json& object, const char* key, uint64_t absent);
std::vector<uint64_t> counts_of(const Json& list, const char* what);
// A number that is finite.
double real_at(const Json& object, const char* key);

}  // namespace tailrace
