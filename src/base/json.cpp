#include "base/json.hpp"

#include <array>
#include <cmath>

#include "base/error.hpp"

namespace tailrace {
namespace {

std::string shown(const Json& value) {
    if (value.is_structured()) return value.is_array() ? "a list" : "an object";
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    constexpr size_t kMost = 40;
    if (text.size() > kMost) text.replace(kMost, std::string::npos, "...");
    return text;
}

// The position behind the string that begins at `at`.
size_t end_of_string(std::string_view json, size_t at) {
    for (++at; at < json.size() && json[at] != '"'; ++at)
        if (json[at] == '\\') ++at;
    return at + 1;
}

}  // namespace

const char* beyond_limits(std::string_view json) {
    if (json.size() > JsonLimits::bytes) return "it is longer than 2 GiB";
    std::array<size_t, JsonLimits::depth + 1> keys{};
    size_t depth = 0;
    for (size_t at = 0; at < json.size();) {
        switch (json[at]) {
            case '"': at = end_of_string(json, at); continue;
            case '[':
            case '{':
                if (++depth > JsonLimits::depth) return "its lists and objects are more than 32 deep";
                keys[depth] = 0;
                break;
            case ']':
            case '}':
                if (depth > 0) --depth;
                break;
            case ':':
                if (++keys[depth] > JsonLimits::keys) return "an object in it has more than 4096 keys";
                break;
            default: break;
        }
        ++at;
    }
    return nullptr;
}

Json parse_json(std::string_view text) {
    if (beyond_limits(text) != nullptr) return Json(Json::value_t::discarded);
    return Json::parse(text, nullptr, false);
}

uint64_t count_of(const Json& value, const char* what) {
    if (!value.is_number_integer() || (!value.is_number_unsigned() && value.get<int64_t>() < 0))
        fail(Status::CORRUPT, what, " is ", shown(value), ", not an integer of at least 0");
    return value.get<uint64_t>();
}

uint64_t count_at(const Json& object, const char* key) {
    const Json& value = object.at(key);
    if (value.is_number_unsigned()) return value.get<uint64_t>();
    return count_of(value, text("the key '", key, "'").c_str());
}

uint64_t count_at(const Json& object, const char* key, uint64_t absent) {
    return object.contains(key) ? count_at(object, key) : absent;
}

std::vector<uint64_t> counts_of(const Json& list, const char* what) {
    if (!list.is_array()) fail(Status::CORRUPT, what, " is ", shown(list), ", not a list of integers");
    std::vector<uint64_t> counts;
    counts.reserve(list.size());
    for (const Json& value : list) counts.push_back(count_of(value, what));
    return counts;
}

double real_at(const Json& object, const char* key) {
    const Json& value = object.at(key);
    if (!value.is_number() || !std::isfinite(value.get<double>()))
        fail(Status::CORRUPT, "the key '", key, "' is ", shown(value), ", not a finite number");
    return value.get<double>();
}

}  // namespace tailrace
