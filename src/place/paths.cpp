#include "place/paths.hpp"

#include <string.h>

namespace tailrace::place {
namespace {

struct Parts {
    uint32_t folder, name, bytes;  // bytes of the folder; where the name begins; all bytes
};

bool cut(const char* path, Parts& parts) {
    const size_t bytes = strnlen(path, kPathRoom);
    const char* const slash = bytes < kPathRoom ? static_cast<const char*>(memrchr(path, '/', bytes)) : nullptr;
    if (slash == nullptr) return false;
    parts = {static_cast<uint32_t>(slash - path), static_cast<uint32_t>(slash - path) + 1, static_cast<uint32_t>(bytes)};
    return parts.name < parts.bytes;
}

}  // namespace

uint64_t physical_path(const Rules& rules, const char* path, char* to, int32_t& rule) {
    Parts parts;
    char target[kTargetBytes];
    uint32_t bytes = 0;
    if (!cut(path, parts)) return 0;
    const char* const name = path + parts.name;
    const uint32_t name_bytes = parts.bytes - parts.name;
    const Rule* const found = rules.find(path, parts.folder, name, name_bytes, target, bytes);
    if (found == nullptr || parts.bytes + bytes + 2 > kPathRoom) return 0;
    rule = static_cast<int32_t>(found - &rules.rule(0));
    memcpy(to, path, parts.name);
    memcpy(to + parts.name, target, bytes);
    to[parts.name + bytes] = '/';
    memcpy(to + parts.name + bytes + 1, name, name_bytes + 1);
    return uint64_t{parts.bytes} + bytes + 1;
}

uint64_t logical_path(const Rules& rules, const char* path, char* to) {
    Parts parts;
    if (!cut(path, parts)) return 0;
    const uint32_t name_bytes = parts.bytes - parts.name;
    const uint32_t folder = rules.logical_folder(path, parts.folder, path + parts.name, name_bytes);
    if (folder == 0) return 0;
    memmove(to, path, folder + 1);  // with the slash behind it
    memmove(to + folder + 1, path + parts.name, name_bytes);
    to[folder + 1 + name_bytes] = '\0';
    return uint64_t{folder} + 1 + name_bytes;
}

bool is_tree_of(const Rules& rules, const char* folder, uint32_t folder_bytes, const char* name, uint32_t name_bytes) {
    for (uint32_t r = 0; r < rules.count(); ++r)
        if (rules.has_folder(rules.rule(r), folder, folder_bytes) && rules.is_tree(rules.rule(r), name, name_bytes)) return true;
    return false;
}

bool has_rule(const Rules& rules, const char* folder, uint32_t bytes) {
    for (uint32_t r = 0; r < rules.count(); ++r)
        if (rules.has_folder(rules.rule(r), folder, bytes)) return true;
    return false;
}

}  // namespace tailrace::place
