#include "preload/placing.hpp"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "environment/variables.hpp"
#include "preload/staging.hpp"
#include "preload/working_folder.hpp"
#include "trace/memory.hpp"
#include "trace/raw.hpp"

namespace tailrace::preload::placing {
namespace {

namespace raw = trace::raw;

// Folders that were looked up and have no rule, by a hash of their text: most calls are for the same few folders.
constexpr uint32_t kKnown = 256;
constinit std::atomic<uint64_t> known_without_rule[kKnown] = {};

void complain(const char* path, const char* why) {
    char text[4096 + 256];
    uint64_t bytes = raw::put_text(text, "tailrace: files are not placed: ", sizeof text);
    bytes += raw::put_text(text + bytes, path, sizeof text - bytes);
    bytes += raw::put_text(text + bytes, ": ", sizeof text - bytes);
    bytes += raw::put_text(text + bytes, why, sizeof text - bytes);
    bytes += raw::put_text(text + bytes, "\n", sizeof text - bytes);
    raw::call(SYS_write, 2, raw::address(text), static_cast<int64_t>(bytes));
}

// Maps the rules. The file must belong to this user or to root, and no other user may write it.
const void* map_rules(const char* path, const char*& why) {
    const int64_t descriptor = raw::call(SYS_openat, AT_FDCWD, raw::address(path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    why = "the rules file cannot be opened; it must be on a file system that all nodes have";
    if (descriptor < 0) return nullptr;
    struct stat file;
    const void* memory = nullptr;
    constexpr int64_t kMost = 1 << 24;
    if (raw::call(SYS_fstat, descriptor, raw::address(&file)) != 0 || !S_ISREG(file.st_mode) || file.st_size > kMost)
        why = "no rules file";
    else if ((file.st_uid != 0 && file.st_uid != raw::call(SYS_geteuid)) || (file.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        why = "others can write the rules file, or it belongs to another user";
    else if (file.st_size == 0)
        why = "shorter than its header";
    else {
        memory = trace::map_memory(static_cast<uint64_t>(file.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
        why = memory == nullptr ? "no memory" : place::Rules::problem(memory, static_cast<uint64_t>(file.st_size));
    }
    raw::call(SYS_close, descriptor);
    return why == nullptr ? memory : nullptr;
}

void use(const place::Rules& rules, const void* memory, const char* path) {
    if (rules.count() == 0 && rules.stage() == nullptr) return;
    rules_memory.store(memory, std::memory_order_release);
    staging::begin(rules, path);
}

[[gnu::constructor(101)]] void begin() {
    const char* path = getenv(variable::PLACE);
    if (path == nullptr || *path == '\0') return;
    const char* why = nullptr;
    const void* memory = map_rules(path, why);
    if (why != nullptr)
        complain(path, why);
    else
        use(place::Rules(memory), memory, path);
}

uint32_t name_of(int64_t descriptor, char* to) {
    char link[48] = "/proc/self/fd/";
    raw::put_number(link + strlen(link), static_cast<uint64_t>(descriptor));
    const int64_t bytes = raw::call(SYS_readlinkat, AT_FDCWD, raw::address(link), raw::address(to), 4096);
    return bytes > 0 && to[0] == '/' ? static_cast<uint32_t>(bytes) : 0;
}

// Removes double slashes and `.`; false where there is `..`, whose meaning depends on links.
bool shorten(char* name, uint32_t& bytes) {
    uint32_t to = 0;
    for (uint32_t begin = 0; begin < bytes;) {
        if (name[begin] == '/') {
            ++begin;
            continue;
        }
        uint32_t end = begin;
        while (end < bytes && name[end] != '/') ++end;
        const uint32_t size = end - begin;
        if (size == 2 && name[begin] == '.' && name[begin + 1] == '.') return false;
        if (size != 1 || name[begin] != '.') {
            name[to++] = '/';
            memmove(name + to, name + begin, size);
            to += size;
        }
        begin = end;
    }
    bytes = to;
    return true;
}

}  // namespace

constinit std::atomic<const void*> rules_memory = nullptr;

uint32_t text_of_folder(int directory, const char* folder, uint32_t bytes, char* to) {
    uint32_t at = 0;
    if (bytes > 4096) return 0;
    if (bytes == 0 || *folder != '/') {
        if (directory == AT_FDCWD) {
            at = working_folder::put(to, 4096);
        } else {
            at = name_of(directory, to);
        }
        if (at == 0) return 0;
        if (bytes == 0) return at;
        if (at + 1 + bytes > kRoom) return 0;
        to[at++] = '/';
    }
    memcpy(to + at, folder, bytes);
    at += bytes;
    return shorten(to, at) ? at : 0;
}

uint32_t real_folder(int directory, const char* folder, uint32_t bytes, char* to) {
    if (bytes >= 4096) return 0;
    char text[4096];
    memcpy(text, folder, bytes);
    text[bytes] = '\0';
    const int64_t descriptor =
        raw::call(SYS_openat, directory, raw::address(bytes == 0 ? "." : text), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return 0;
    const uint32_t found = name_of(descriptor, to);
    raw::call(SYS_close, descriptor);
    return found;
}

void PlacedPath::lead(const char* path) {
    if (!raw::is_pointer(path)) return;
    const size_t bytes = strnlen(path, 4096);
    const auto* slash = static_cast<const char*>(memrchr(path, '/', bytes));
    const auto begin = static_cast<uint32_t>(slash == nullptr ? 0 : slash - path + 1);
    const char* const name = path + begin;
    const auto name_bytes = static_cast<uint32_t>(bytes - begin);
    if (bytes >= 4096 || name_bytes == 0) return;
    const place::Rules all = rules();
    place::NamedRule first;
    if (!all.has_rule_for(name, name_bytes, first)) return;
    char target[place::kTargetBytes];
    uint32_t target_bytes = 0;
    const uint32_t folder_bytes = begin == 1 ? 1 : begin == 0 ? 0 : begin - 1;
    uint32_t at = text_of_folder(directory_, path, folder_bytes, text_);
    const place::Rule* found = at > 0 ? all.find(first, text_, at, name, name_bytes, target, target_bytes) : nullptr;
    if (found == nullptr) {
        const uint64_t hash = at == 0 ? 0 : place::checksum(text_, at);
        std::atomic<uint64_t>& known = known_without_rule[hash % kKnown];
        if (hash != 0 && known.load(std::memory_order_relaxed) == hash) return;
        if (at == 0 || folder_bytes > 0) at = real_folder(directory_, path, folder_bytes, text_);
        if (at == 0) return;
        found = all.find(first, text_, at, name, name_bytes, target, target_bytes);
        if (found == nullptr) {
            if (hash != 0) known.store(hash, std::memory_order_relaxed);
            return;
        }
    }
    if (bytes + target_bytes + 2 > kRoom) return;
    memcpy(text_, path, begin);
    memcpy(text_ + begin, target, target_bytes);
    text_[begin + target_bytes] = '/';
    memcpy(text_ + begin + target_bytes + 1, name, name_bytes);
    text_[begin + target_bytes + 1 + name_bytes] = '\0';
    folder_ = begin;
    name_ = begin + target_bytes + 1;
    is_placed_ = true;
}

bool exists_at(int directory, const char* path) {
    struct stat file;
    return raw::call(SYS_newfstatat, directory, raw::address(path), raw::address(&file), AT_SYMLINK_NOFOLLOW) == 0;
}

unsigned kind_at(int directory, const char* path) {
    struct stat file;
    const bool is_there = raw::call(SYS_newfstatat, directory, raw::address(path), raw::address(&file), AT_SYMLINK_NOFOLLOW) == 0;
    return is_there ? file.st_mode & S_IFMT : 0;
}

void remove_at(int directory, const char* path) { raw::call(SYS_unlinkat, directory, raw::address(path), 0); }

void move_to_tree(const char* path) {
    constexpr int kNoReplace = 1;
    const PlacedPath placed(AT_FDCWD, path);
    if (placed.is_placed() && placed.make_folders())
        raw::call(SYS_renameat2, AT_FDCWD, raw::address(path), AT_FDCWD, raw::address(placed.physical()), kNoReplace);
}

bool PlacedPath::exists() const { return exists_at(directory_, text_); }

bool PlacedPath::make_folders() const {
    char folder[kRoom];
    memcpy(folder, text_, name_);
    constexpr int kAll = 0777;  // the process's umask takes from it
    for (uint32_t end = folder_; end < name_; ++end) {
        if (folder[end] != '/') continue;
        folder[end] = '\0';
        const int64_t result = raw::call(SYS_mkdirat, directory_, raw::address(folder), kAll);
        folder[end] = '/';
        if (result != 0 && result != -EEXIST) return false;
    }
    return true;
}

uint64_t make_logical(char* path, uint64_t bytes, uint64_t room) {
    if (!is_on() || bytes == 0 || *path != '/' || bytes >= kRoom) return bytes;
    if (const uint64_t at_target = staging::target_of(path, bytes, path, room)) return at_target;
    const auto* slash = static_cast<const char*>(memrchr(path, '/', bytes));
    const auto folder = static_cast<uint32_t>(slash - path);
    const auto name = static_cast<uint32_t>(bytes) - folder - 1;
    const uint32_t logical = rules().logical_folder(path, folder, slash + 1, name);
    if (logical == 0) return bytes;
    memmove(path + logical + 1, slash + 1, name);
    return uint64_t{logical} + 1 + name;
}

}  // namespace tailrace::preload::placing
