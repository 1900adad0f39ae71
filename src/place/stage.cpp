#include "place/stage.hpp"

#include <string.h>

#include "place/paths.hpp"

namespace tailrace::place {

bool has_path(const char* pattern, const char* path, uint32_t bytes) {
    // Where to continue when what follows the last star does not fit: one more character for the star. Of stars without slashes
    // only the last one counts, and it begins anew when the last `**` takes another character.
    const char *after_star = nullptr, *after_stars = nullptr;
    uint32_t star_at = 0, stars_at = 0;
    uint32_t at = 0;
    for (;;) {
        if (pattern[0] == '*' && pattern[1] == '*') {
            pattern += 2;
            while (*pattern == '*') ++pattern;
            if (*pattern == '/' && (at == 0 || path[at - 1] == '/')) ++pattern;  // `**/` may be nothing
            after_stars = pattern;
            stars_at = at;
            after_star = nullptr;
            continue;
        }
        if (*pattern == '*') {
            after_star = ++pattern;
            star_at = at;
            continue;
        }
        if (at == bytes && *pattern == '\0') return true;
        if (at < bytes && *pattern != '\0' && (*pattern == path[at] || (*pattern == '?' && path[at] != '/'))) {
            ++pattern;
            ++at;
            continue;
        }
        if (after_star != nullptr && star_at < bytes && path[star_at] != '/') {
            pattern = after_star;
            at = ++star_at;
        } else if (after_stars != nullptr && stars_at < bytes) {
            pattern = after_stars;
            after_star = nullptr;
            // Behind `**/` only the beginning of a name counts.
            const bool is_of_names = after_stars[-1] == '/';
            do ++stars_at;
            while (is_of_names && stars_at < bytes && path[stars_at - 1] != '/');
            if (is_of_names && path[stars_at - 1] != '/') return false;
            at = stars_at;
        } else {
            return false;
        }
    }
}

uint32_t Stage::below(Text folder, const char* path, uint32_t bytes) const {
    if (folder.bytes == 0 || bytes < folder.bytes + 2 || path[folder.bytes] != '/') return 0;
    return memcmp(path, text(folder), folder.bytes) == 0 ? folder.bytes + 1 : 0;
}

uint32_t Stage::below(const char* path, uint32_t bytes) const {
    const uint32_t found = below(record_->base, path, bytes);
    return found != 0 ? found : below(record_->base_as, path, bytes);
}

const StageNode* Stage::node(const char* name, uint64_t bytes) const {
    const StageNode* const all = rules_.stage_nodes();
    for (uint32_t n = 0; n < record_->node_count; ++n)
        if (all[n].name.bytes == bytes && memcmp(text(all[n].name), name, bytes) == 0) return all + n;
    return nullptr;
}

int32_t Stage::pattern_of(const char* below, uint32_t bytes) const {
    const char* pattern = text(record_->patterns);
    const char* const end = pattern + record_->patterns.bytes;
    for (int32_t number = 0; pattern < end; ++number, pattern += strlen(pattern) + 1)
        if (has_path(pattern, below, bytes)) return number;
    return -1;
}

const char* Stage::pattern(int32_t number) const {
    const char* pattern = text(record_->patterns);
    for (; number > 0; --number) pattern += strlen(pattern) + 1;
    return pattern;
}

uint64_t scratch_path(const Rules& rules, const StageNode& node, const char* path, char* to, int32_t& pattern) {
    const Stage stage(rules);
    const size_t bytes = strnlen(path, kPathRoom);
    if (!stage.is_there() || bytes >= kPathRoom) return 0;
    const uint32_t below = stage.below(path, static_cast<uint32_t>(bytes));
    if (below == 0) return 0;
    char placed[kPathRoom];
    int32_t rule = 0;
    pattern = stage.pattern_of(path + below, static_cast<uint32_t>(bytes) - below);
    if (pattern < 0 || physical_path(rules, path, placed, rule) != 0) return 0;
    const Text scratch = node.scratch;
    if (scratch.bytes + 1 + bytes - below >= kPathRoom) return 0;
    memcpy(to, stage.text(scratch), scratch.bytes);
    to[scratch.bytes] = '/';
    memcpy(to + scratch.bytes + 1, path + below, bytes - below + 1);
    return scratch.bytes + 1 + bytes - below;
}

uint64_t path_of_staged(const Rules& rules, const StageNode& node, const char* path, uint64_t bytes, char* to) {
    const Stage stage(rules);
    if (!stage.is_there()) return 0;
    const Text scratch = node.scratch, base = stage.record().base;
    if (bytes < scratch.bytes || memcmp(path, stage.text(scratch), scratch.bytes) != 0) return 0;
    if (bytes > scratch.bytes && path[scratch.bytes] != '/') return 0;
    const uint64_t rest = bytes - scratch.bytes;
    if (base.bytes + rest >= kPathRoom) return 0;
    memmove(to + base.bytes, path + scratch.bytes, rest);
    memcpy(to, stage.text(base), base.bytes);
    return base.bytes + rest;
}

}  // namespace tailrace::place
