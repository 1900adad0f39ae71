// JSON text from files that may be damaged or malicious: the only place where it is parsed, with limits, and strict getters of its
// values.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tailrace {

using Json = nlohmann::ordered_json;

// Text beyond a limit is refused before it is parsed. RATIONALE: 200,000 nested lists exhaust the stack of recursive functions, and
// an object finds its keys one by one, so that many keys take quadratic time.
struct JsonLimits {
    static constexpr uint64_t bytes = uint64_t{1} << 31;
    static constexpr size_t depth = 32;   // of lists and objects; a run line has 7
    static constexpr size_t keys = 4096;  // of one object; the layout of a run has some 30
};

// Which limit the text exceeds, as a phrase; nullptr if it exceeds none.
const char* beyond_limits(std::string_view json);

// Parses the text. The result is_discarded() if the text is not JSON or exceeds a limit.
Json parse_json(std::string_view text);

// An integer from 0 to 2^64 - 1, and no other kind of value: Json itself takes -1 for 2^64 - 1, and 1.5 for 1. Throws CORRUPT with
// `what`, such as "the key 'files'".
uint64_t count_of(const Json& value, const char* what);
// count_of() for object[key]. If the key is missing, throws what Json throws, or returns `absent`.
uint64_t count_at(const Json& object, const char* key);
uint64_t count_at(const Json& object, const char* key, uint64_t absent);
// count_of() for each number of a list.
std::vector<uint64_t> counts_of(const Json& list, const char* what);
// The finite number object[key].
double real_at(const Json& object, const char* key);

}  // namespace tailrace
