// The rules that say where the files of unmodified programs go: a flat file, read in place. `tailrace run` compiles it from
// [place] and [stage] of tailrace.toml; the preload maps it into every process. Needs no C++ library, allocates nothing, throws
// nothing.
//
// A rule has a folder, a pattern for names of files in it, and a target: folders below that folder. It maps the logical path
// FOLDER/NAME to the physical path FOLDER/TARGET/NAME, by a pure function of the name.
#pragma once

#include <stdint.h>

namespace tailrace::place {

constexpr char kMagic[8] = {'T', 'R', 'P', 'L', 'A', 'C', 'E', '\n'};
constexpr uint32_t kVersion = 3;  // 2: has rules of [stage]; 3: a scratch for each node
constexpr uint32_t kMostFields = 8, kMostTokens = 32, kMostRules = 256;
constexpr uint32_t kNameBytes = 255;     // the longest file name, as in the kernel
constexpr uint32_t kTargetBytes = 1024;  // room for what a target expands to
constexpr uint32_t kNoField = ~0u;

// ---- the file: little endian, offsets from its beginning ------------------------------------------------------------------------

struct Header {
    char magic[8];
    uint32_t version, bytes;  // of the whole file
    uint64_t checksum;        // FNV-1a of all bytes behind this field
    uint32_t rules;           // number of rules
    uint32_t stage;           // offset of the StageRecord; 0: no file is staged
};

struct Text {
    uint32_t at, bytes;
};

struct Rule {
    Text title;         // the rule's name in messages
    Text folder;        // absolute, without links, without a slash at its end
    Text folder_as;     // the same folder as the user has written it; empty: no other text
    uint32_t is_below;  // 1: the rule is also for all folders below
    uint32_t most;      // the most entries that a number field may make in a directory; at least 2
    uint32_t split;     // the number field that the target does not use; its higher digits make the last directories
    uint32_t pattern, pattern_tokens;
    uint32_t target, target_tokens;
    uint32_t reserved;
};

enum class Kind : uint32_t {
    literal = 1,   // in both: `text`
    any = 2,       // in a pattern: at least one character; in a target: the characters that it matched
    number = 3,    // in a pattern: digits; in a target: the digits as written, or levels of digits if the number is >= `most`
    quotient = 4,  // in a target: the number divided by `divisor`
    rest = 5,      // in a target: the number modulo `divisor`
    hash = 6,      // in a target: a hash of the whole name, below `divisor`
    slash = 7,     // in a target: the next level
};

struct Token {
    Kind kind;
    uint32_t field;
    union {
        Text text;
        uint64_t divisor;
    };
};

// The scratch folder of a run on one node.
struct StageNode {
    Text name;               // the node's name, as uname() returns it. Empty: no program runs, the rules only explain paths
    Text scratch;            // absolute, without links, for this run alone
    uint64_t device, inode;  // of the folder `scratch`
};

// [stage]: files below `base` whose paths match a pattern are made on the scratch of their node, at SCRATCH/PATH BELOW BASE.
struct StageRecord {
    Text base;      // absolute, without links, without a slash at its end
    Text base_as;   // the same folder as the user has written it; empty: no other text
    Text patterns;  // patterns of paths below base; each ends in a zero byte
    uint64_t min_free_bytes;
    uint32_t nodes, node_count;  // offset of the first StageNode, and their number; on other nodes no file is staged
};

// ---- reading --------------------------------------------------------------------------------------------------------------------

struct Field {
    uint32_t begin, bytes;
    uint64_t number;
};

struct Fields {
    Field of[kMostFields];
};

// The first rule whose pattern matches a name, and the fields of the name by that pattern.
struct NamedRule {
    uint32_t rule;
    Fields fields;
};

// The rules in memory, which must outlive this object.
class Rules {
public:
    // Checks `bytes` bytes at `memory`. Returns a text that says what is wrong; nullptr: they are valid rules.
    static const char* problem(const void* memory, uint64_t bytes);

    // `memory` must be valid: problem() returned nullptr.
    explicit Rules(const void* memory) : memory_(static_cast<const char*>(memory)) {}

    uint32_t count() const { return header().rules; }
    const Rule& rule(uint32_t number) const { return reinterpret_cast<const Rule*>(memory_ + sizeof(Header))[number]; }

    const char* folder_of(const Rule& rule) const { return text(rule.folder); }
    const StageRecord* stage() const {
        return header().stage == 0 ? nullptr : reinterpret_cast<const StageRecord*>(memory_ + header().stage);
    }
    const StageNode* stage_nodes() const { return reinterpret_cast<const StageNode*>(memory_ + stage()->nodes); }
    const char* text(Text text) const { return memory_ + text.at; }

    // Whether the rule's pattern matches a file name; if so, sets `fields`.
    bool has_name(const Rule& rule, const char* name, uint32_t bytes, Fields& fields) const;
    // Whether the rule is for files in this folder. `folder` is absolute.
    bool has_folder(const Rule& rule, const char* folder, uint32_t bytes) const;
    // Writes the target of a name that matches the rule. Returns its length in bytes, at most kTargetBytes; 0: the file is not
    // placed.
    uint32_t put_target(const Rule& rule, const char* name, uint32_t bytes, const Fields& fields, char* to) const;
    // Whether a directory of the rule's folder may belong to its tree.
    bool is_tree(const Rule& rule, const char* directory, uint32_t bytes) const;

    // Whether any rule's pattern matches the name, whatever the folder; most names match none. Sets `first`.
    bool has_rule_for(const char* name, uint32_t bytes, NamedRule& first) const;
    // The rule for a name in a folder, and its target; nullptr: none. `first`: the result of has_rule_for(), which saves comparing
    // the name with that rule again.
    const Rule* find(const NamedRule& first, const char* folder, uint32_t folder_bytes, const char* name, uint32_t name_bytes,
                     char* target, uint32_t& target_bytes) const;
    // The same for any name.
    const Rule* find(const char* folder, uint32_t folder_bytes, const char* name, uint32_t name_bytes, char* target,
                     uint32_t& target_bytes) const;
    // The length in bytes of the logical folder of a file in this physical folder; 0: the file is in no tree.
    uint32_t logical_folder(const char* folder, uint32_t folder_bytes, const char* name, uint32_t name_bytes) const;

private:
    const Header& header() const { return *reinterpret_cast<const Header*>(memory_); }
    const Token* tokens(uint32_t at) const { return reinterpret_cast<const Token*>(memory_ + at); }

    const char* memory_;
};

uint64_t checksum(const void* memory, uint64_t bytes);

}  // namespace tailrace::place
