#include "place/rules.hpp"

#include <string.h>

#include <initializer_list>

namespace tailrace::place {
namespace {

constexpr uint64_t kMostNumber = 1000000000000000000u;  // longer numbers are no numbers of steps or ranks: no rule has them

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Compares a name with a pattern. A text field takes as few characters as possible. What has failed once is not tried again, so the
// time is bounded by the product of both lengths.
struct Matcher {
    const char* memory;
    const Token* tokens;
    uint32_t count;
    const char* name;
    uint32_t bytes;
    Fields& fields;
    uint32_t cleared = 0;  // rows of `failed` that are in use
    uint64_t failed[kMostTokens][(kNameBytes + 64) / 64];

    Matcher(const char* memory_, const Token* tokens_, uint32_t count_, const char* name_, uint32_t bytes_, Fields& fields_)
        : memory(memory_), tokens(tokens_), count(count_), name(name_), bytes(bytes_), fields(fields_) {}

    bool has_failed(uint32_t t, uint32_t at) {
        for (; cleared <= t; ++cleared) memset(failed[cleared], 0, sizeof failed[cleared]);
        return (failed[t][at / 64] >> (at % 64) & 1) != 0;
    }

    bool matches(uint32_t t, uint32_t at) {
        for (; t < count; ++t) {
            const Token& token = tokens[t];
            if (token.kind == Kind::literal) {
                if (token.text.bytes > bytes - at || memcmp(name + at, memory + token.text.at, token.text.bytes) != 0) return false;
                at += token.text.bytes;
            } else if (token.kind == Kind::number) {
                Field& field = fields.of[token.field];
                field = {at, 0, 0};
                for (; at < bytes && is_digit(name[at]); ++at, ++field.bytes) {
                    field.number = field.number * 10 + static_cast<uint64_t>(name[at] - '0');
                    if (field.number >= kMostNumber) return false;
                }
                if (field.bytes == 0) return false;
            } else {
                return matches_any(t, at);
            }
        }
        return at == bytes;
    }

    bool matches_any(uint32_t t, uint32_t at) {
        Field& field = fields.of[tokens[t].field];
        if (t + 1 == count) {
            field = {at, bytes - at, 0};
            return at < bytes;
        }
        if (has_failed(t, at)) return false;
        for (uint32_t end = at + 1; end <= bytes; ++end) {
            if (tokens[t + 1].kind == Kind::literal && (end == bytes || name[end] != memory[tokens[t + 1].text.at])) continue;
            if (tokens[t + 1].kind == Kind::number && end > at + 1 && is_digit(name[end - 1]) && end < bytes && is_digit(name[end]))
                continue;  // a number begins at its first digit
            if (matches(t + 1, end)) {
                field = {at, end - at, 0};
                return true;
            }
        }
        failed[t][at / 64] |= uint64_t{1} << (at % 64);
        return false;
    }
};

// Writes text to a bounded place; what does not fit makes `is_full`.
struct Output {
    char* to;
    uint32_t bytes = 0;
    bool is_full = false;

    void put(const char* from, uint32_t count) {
        if (count > kTargetBytes - bytes) {
            is_full = true;
            return;
        }
        memcpy(to + bytes, from, count);
        bytes += count;
    }
    void put(char c) { put(&c, 1); }
    void put_number(uint64_t number, uint64_t largest) {  // with as many digits as the largest; 0: as many as it has
        char digits[20];
        uint32_t at = sizeof digits;
        do {
            digits[--at] = static_cast<char>('0' + number % 10);
            number /= 10;
            largest /= 10;
        } while (number != 0 || largest != 0);
        put(digits + at, sizeof digits - at);
    }
    // kLEVELS/DIGIT/DIGIT...: the number in base `most`, without its last `left_out` digits. A number with another count of digits
    // is below another first directory, so that no directory has more than `most` numbers.
    void put_levels(uint64_t number, uint64_t most, uint32_t left_out) {
        uint64_t digits[64];
        uint32_t count = 0;
        for (; number != 0; number /= most) digits[count++] = number % most;
        put('k');
        put_number(count, 0);
        while (count > left_out) {
            put('/');
            put_number(digits[--count], 0);
        }
    }
};

void put_token(const Token& token, const Rule& rule, const char* memory, const char* name, uint32_t bytes, const Fields& fields,
               Output& out) {
    const Field& field = fields.of[token.field < kMostFields ? token.field : 0];
    switch (token.kind) {
        case Kind::literal: out.put(memory + token.text.at, token.text.bytes); break;
        case Kind::any: out.put(name + field.begin, field.bytes); break;
        case Kind::number:
            if (field.number < rule.most)
                out.put(name + field.begin, field.bytes);
            else
                out.put_levels(field.number, rule.most, 0);
            break;
        case Kind::quotient: out.put_number(field.number / token.divisor, 0); break;
        case Kind::rest: out.put_number(field.number % token.divisor, token.divisor - 1); break;
        case Kind::hash: {
            const uint64_t hash = checksum(name, bytes);
            out.put_number((hash ^ hash >> 32) % token.divisor, token.divisor - 1);
            break;
        }
        case Kind::slash: out.put('/'); break;
    }
}

bool is_dots(const char* name, uint32_t bytes) { return name[0] == '.' && (bytes == 1 || (bytes == 2 && name[1] == '.')); }

constexpr uint32_t kNone = ~0u;

uint32_t digits_at(const char* name, uint32_t bytes) {
    uint32_t count = 0;
    while (count < bytes && is_digit(name[count])) ++count;
    return count;
}

}  // namespace

bool Rules::has_name(const Rule& rule, const char* name, uint32_t bytes, Fields& fields) const {
    if (bytes == 0 || bytes > kNameBytes || is_dots(name, bytes)) return false;
    Matcher matcher(memory_, tokens(rule.pattern), rule.pattern_tokens, name, bytes, fields);
    return matcher.matches(0, 0);
}

bool Rules::has_folder(const Rule& rule, const char* folder, uint32_t bytes) const {
    for (const Text& own : {rule.folder, rule.folder_as}) {
        if (own.bytes == 0 || bytes < own.bytes || memcmp(folder, text(own), own.bytes) != 0) continue;
        if (bytes == own.bytes) return true;
        if (rule.is_below == 0 || folder[own.bytes] != '/') continue;
        // Folders of the tree have no tree of their own.
        for (uint32_t begin = own.bytes + 1, end; begin < bytes; begin = end + 1) {
            const void* slash = memchr(folder + begin, '/', bytes - begin);
            end = slash == nullptr ? bytes : static_cast<uint32_t>(static_cast<const char*>(slash) - folder);
            if (is_tree(rule, folder + begin, end - begin)) return false;
        }
        return true;
    }
    return false;
}

uint32_t Rules::put_target(const Rule& rule, const char* name, uint32_t bytes, const Fields& fields, char* to) const {
    Output out = {to};
    for (uint32_t t = 0; t < rule.target_tokens; ++t) {
        const uint32_t before = out.bytes;
        put_token(tokens(rule.target)[t], rule, memory_, name, bytes, fields, out);
        // A text field alone may be `.` or `..`.
        const bool begins_level = before == 0 || to[before - 1] == '/';
        const bool ends_level = t + 1 == rule.target_tokens || tokens(rule.target)[t + 1].kind == Kind::slash;
        if (begins_level && ends_level && out.bytes > before && is_dots(to + before, out.bytes - before)) return 0;
    }
    if (rule.split != kNoField && fields.of[rule.split].number >= rule.most) {
        if (out.bytes > 0) out.put('/');
        out.put_levels(fields.of[rule.split].number, rule.most, 1);
    }
    return out.is_full ? 0 : out.bytes;
}

bool Rules::is_tree(const Rule& rule, const char* directory, uint32_t bytes) const {
    uint32_t at = 0;
    const Token* all = tokens(rule.target);
    for (uint32_t t = 0; t < rule.target_tokens && all[t].kind != Kind::slash; ++t) {
        const Token& token = all[t];
        uint32_t taken = kNone;
        if (token.kind == Kind::literal) {
            if (token.text.bytes <= bytes - at && memcmp(directory + at, text(token.text), token.text.bytes) == 0)
                taken = token.text.bytes;
        } else if (token.kind == Kind::any) {
            return at < bytes;  // what follows is not looked at
        } else {
            const uint32_t prefix = token.kind == Kind::number && at < bytes && directory[at] == 'k' ? 1 : 0;
            const uint32_t digits = digits_at(directory + at + prefix, bytes - at - prefix);
            if (digits > 0) taken = digits + prefix;
        }
        if (taken == kNone) return false;
        at += taken;
    }
    if (rule.target_tokens > 0) return at == bytes;
    return bytes > 1 && directory[0] == 'k' && digits_at(directory + 1, bytes - 1) == bytes - 1;
}

bool Rules::has_rule_for(const char* name, uint32_t bytes, NamedRule& first) const {
    for (first.rule = 0; first.rule < count(); ++first.rule)
        if (has_name(rule(first.rule), name, bytes, first.fields)) return true;
    return false;
}

const Rule* Rules::find(const NamedRule& first, const char* folder, uint32_t folder_bytes, const char* name, uint32_t name_bytes,
                        char* target, uint32_t& target_bytes) const {
    Fields other;
    for (uint32_t r = first.rule; r < count(); ++r) {
        const Rule& candidate = rule(r);
        // The folder first: it is one comparison, where the name is one for each token.
        if (!has_folder(candidate, folder, folder_bytes)) continue;
        if (r != first.rule && !has_name(candidate, name, name_bytes, other)) continue;
        target_bytes = put_target(candidate, name, name_bytes, r == first.rule ? first.fields : other, target);
        return target_bytes > 0 ? &candidate : nullptr;
    }
    return nullptr;
}

const Rule* Rules::find(const char* folder, uint32_t folder_bytes, const char* name, uint32_t name_bytes, char* target,
                        uint32_t& target_bytes) const {
    NamedRule first;
    if (!has_rule_for(name, name_bytes, first)) return nullptr;
    return find(first, folder, folder_bytes, name, name_bytes, target, target_bytes);
}

uint32_t Rules::logical_folder(const char* folder, uint32_t folder_bytes, const char* name, uint32_t name_bytes) const {
    char target[kTargetBytes];
    Fields fields;
    for (uint32_t r = 0; r < count(); ++r) {
        if (!has_name(rule(r), name, name_bytes, fields)) continue;
        const uint32_t bytes = put_target(rule(r), name, name_bytes, fields, target);
        if (bytes == 0 || bytes + 1 >= folder_bytes || folder[folder_bytes - bytes - 1] != '/') continue;
        const uint32_t logical = folder_bytes - bytes - 1;
        if (memcmp(folder + logical + 1, target, bytes) != 0) continue;
        char first[kTargetBytes];
        uint32_t first_bytes = 0;
        // An earlier rule may have the same name.
        if (find(folder, logical, name, name_bytes, first, first_bytes) == &rule(r)) return logical;
    }
    return 0;
}

}  // namespace tailrace::place
