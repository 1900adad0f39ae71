// C functions for Tailrace's own commands, which load this library to map paths by the same rules.
#include <string.h>

#include "place/paths.hpp"
#include "place/stage.hpp"

#define EXPORTED extern "C" [[gnu::visibility("default")]]

namespace tailrace::place {

EXPORTED const char* tailrace_place_problem(const void* rules, uint64_t bytes);
EXPORTED int64_t tailrace_place_physical(const void* rules, const char* path, char* to, int32_t* rule);
EXPORTED int64_t tailrace_place_logical(const void* rules, const char* path, char* to);
EXPORTED int64_t tailrace_place_staged(const void* rules, const char* path, char* to, int32_t* pattern);
EXPORTED int tailrace_place_is_tree(const void* rules, const char* folder, const char* name);

const char* tailrace_place_problem(const void* rules, uint64_t bytes) { return Rules::problem(rules, bytes); }

int64_t tailrace_place_physical(const void* rules, const char* path, char* to, int32_t* rule) {
    return static_cast<int64_t>(physical_path(Rules(rules), path, to, *rule));
}

int64_t tailrace_place_logical(const void* rules, const char* path, char* to) {
    return static_cast<int64_t>(logical_path(Rules(rules), path, to));
}

int64_t tailrace_place_staged(const void* rules, const char* path, char* to, int32_t* pattern) {
    const Rules all(rules);
    const Stage stage(all);
    const StageNode* const node = stage.is_there() ? stage.first_node() : nullptr;
    return node == nullptr ? 0 : static_cast<int64_t>(scratch_path(all, *node, path, to, *pattern));
}

int tailrace_place_is_tree(const void* rules, const char* folder, const char* name) {
    const auto bytes = [](const char* text) { return static_cast<uint32_t>(strlen(text)); };
    return is_tree_of(Rules(rules), folder, bytes(folder), name, bytes(name)) ? 1 : 0;
}

}  // namespace tailrace::place
