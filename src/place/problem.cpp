// Checks a rules file before it is used, so that no reader needs to check bounds later.
#include <string.h>

#include "place/rules.hpp"

namespace tailrace::place {

uint64_t checksum(const void* memory, uint64_t bytes) {
    constexpr uint64_t kOffset = 14695981039346656037u, kPrime = 1099511628211u;
    uint64_t hash = kOffset;
    for (uint64_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<const unsigned char*>(memory)[i]) * kPrime;
    return hash;
}

namespace {

constexpr uint64_t kBehindChecksum = 24;
constexpr uint32_t kMostFolderBytes = 4096;

struct Bounds {
    const char* memory;
    uint64_t bytes;

    bool has(uint64_t at, uint64_t length) const { return at <= bytes && length <= bytes - at; }
    bool has(Text text, uint32_t most) const { return text.bytes <= most && has(text.at, text.bytes); }
    bool has_tokens(uint32_t at, uint32_t count) const {
        return count <= kMostTokens && at % alignof(Token) == 0 && has(at, count * sizeof(Token));
    }
    const Token* tokens(uint32_t at) const { return reinterpret_cast<const Token*>(memory + at); }
    bool has_char(Text text, char wanted) const { return memchr(memory + text.at, wanted, text.bytes) != nullptr; }
    bool is_literal(const Token& token) const {
        return token.kind == Kind::literal && token.text.bytes > 0 && has(token.text, kNameBytes) && !has_char(token.text, '/') &&
               !has_char(token.text, '\0');
    }
};

// Reads the kinds of the fields of a pattern; false: the pattern is invalid.
bool read_pattern(const Bounds& in, const Rule& rule, Kind* kinds) {
    if (rule.pattern_tokens == 0 || !in.has_tokens(rule.pattern, rule.pattern_tokens)) return false;
    for (uint32_t t = 0; t < rule.pattern_tokens; ++t) {
        const Token& token = in.tokens(rule.pattern)[t];
        if (token.kind == Kind::literal) {
            if (!in.is_literal(token)) return false;
            continue;
        }
        if (token.kind != Kind::any && token.kind != Kind::number) return false;
        if (token.field >= kMostFields || kinds[token.field] != Kind::literal) return false;
        kinds[token.field] = token.kind;
    }
    return true;
}

bool is_target(const Bounds& in, const Rule& rule, const Kind* kinds) {
    if (!in.has_tokens(rule.target, rule.target_tokens)) return false;
    bool is_begin = true;  // of a level, which must not be empty
    for (uint32_t t = 0; t < rule.target_tokens; ++t) {
        const Token& token = in.tokens(rule.target)[t];
        switch (token.kind) {
            case Kind::literal:
                if (!in.is_literal(token)) return false;
                break;
            case Kind::any:
                if (token.field >= kMostFields || kinds[token.field] == Kind::literal) return false;
                break;
            case Kind::number:
                if (token.field >= kMostFields || kinds[token.field] != Kind::number) return false;
                break;
            case Kind::quotient:
            case Kind::rest:
                if (token.field >= kMostFields || kinds[token.field] != Kind::number || token.divisor == 0) return false;
                break;
            case Kind::hash:
                if (token.divisor == 0) return false;
                break;
            case Kind::slash:
                if (is_begin || t + 1 == rule.target_tokens) return false;
                break;
            default: return false;
        }
        is_begin = token.kind == Kind::slash;
    }
    return true;
}

bool is_rule(const Bounds& in, const Rule& rule) {
    Kind kinds[kMostFields];
    for (Kind& kind : kinds) kind = Kind::literal;  // no field
    if (!in.has(rule.title, kMostFolderBytes) || !in.has(rule.folder, kMostFolderBytes)) return false;
    if (!in.has(rule.folder_as, kMostFolderBytes) || rule.folder.bytes == 0 || in.memory[rule.folder.at] != '/') return false;
    if (rule.most < 2 || rule.is_below > 1) return false;
    if (!read_pattern(in, rule, kinds) || !is_target(in, rule, kinds)) return false;
    if (rule.split != kNoField && (rule.split >= kMostFields || kinds[rule.split] != Kind::number)) return false;
    return rule.target_tokens > 0 || rule.split != kNoField;
}

bool is_absolute(const Bounds& in, Text text) {
    return text.bytes > 1 && in.has(text, kMostFolderBytes) && in.memory[text.at] == '/' && !in.has_char(text, '\0') &&
           in.memory[text.at + text.bytes - 1] != '/';
}

bool has_nodes(const Bounds& in, const StageRecord& stage) {
    constexpr uint32_t kMostNodes = 1 << 16, kMostNameBytes = 64;
    if (stage.node_count > kMostNodes || stage.nodes % alignof(StageNode) != 0) return false;
    if (!in.has(stage.nodes, stage.node_count * sizeof(StageNode))) return false;
    const auto* const nodes = reinterpret_cast<const StageNode*>(in.memory + stage.nodes);
    for (uint32_t n = 0; n < stage.node_count; ++n)
        if (!in.has(nodes[n].name, kMostNameBytes) || !is_absolute(in, nodes[n].scratch)) return false;
    return true;
}

bool is_stage(const Bounds& in, uint32_t at) {
    constexpr uint32_t kMostPatternBytes = 1 << 20;
    if (at % alignof(StageRecord) != 0 || !in.has(at, sizeof(StageRecord))) return false;
    const StageRecord& stage = *reinterpret_cast<const StageRecord*>(in.memory + at);
    if (!is_absolute(in, stage.base) || (stage.base_as.bytes != 0 && !is_absolute(in, stage.base_as))) return false;
    if (!has_nodes(in, stage) || !in.has(stage.patterns, kMostPatternBytes)) return false;
    return stage.patterns.bytes > 0 && in.memory[stage.patterns.at + stage.patterns.bytes - 1] == '\0';
}

}  // namespace

const char* Rules::problem(const void* memory, uint64_t bytes) {
    if (bytes < sizeof(Header)) return "shorter than its header";
    Header header;
    memcpy(&header, memory, sizeof header);
    if (memcmp(header.magic, kMagic, sizeof kMagic) != 0) return "not a rules file";
    if (header.version != kVersion)
        return "of another version of Tailrace: start the command again with `tailrace run` of this version";
    if (header.bytes != bytes) return "its length is not the one that it names";
    const char* const begin = static_cast<const char*>(memory);
    if (checksum(begin + kBehindChecksum, bytes - kBehindChecksum) != header.checksum) return "its checksum is wrong";
    const Bounds in = {begin, bytes};
    if (header.rules > kMostRules || !in.has(sizeof(Header), header.rules * sizeof(Rule))) return "its rules do not fit in it";
    const Rules rules(memory);
    for (uint32_t r = 0; r < header.rules; ++r)
        if (!is_rule(in, rules.rule(r))) return "a rule in it has no meaning";
    if (header.stage != 0 && !is_stage(in, header.stage)) return "its record of [stage] has no meaning";
    return nullptr;
}

}  // namespace tailrace::place
