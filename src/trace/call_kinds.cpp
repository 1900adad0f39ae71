#include "trace/call_kinds.hpp"

#include <array>
#include <string_view>

namespace tailrace::trace {
namespace {

consteval Role role_of(std::string_view name, std::string_view group) {
    if (name == "rename") return Role::renames;
    if (group == "phase") return Role::marks_phase;
    if (group == "process" || name == "MPI_Init" || name == "MPI_Init_thread") return Role::process;
    if (group == "close") return Role::closes;
    return group == "collective" ? Role::collective : Role::none;
}

consteval CallKind kind_of_group(std::string_view name, std::string_view group) {
    const bool reads = group.ends_with("read"), writes = group.ends_with("write");
    return {reads ? Direction::read : writes ? Direction::write : Direction::none, role_of(name, group)};
}

constexpr std::array<CallKind, kCallNumbers> kKinds = [] {
    std::array<CallKind, kCallNumbers> kinds = {};
#define TAILRACE_CALL(name, number, group) kinds[number] = kind_of_group(#name, #group);
#include "trace/calls.def"
#undef TAILRACE_CALL
    return kinds;
}();

}  // namespace

const CallKind& kind_of(uint16_t call) { return kKinds[call < kCallNumbers ? call : 0]; }

}  // namespace tailrace::trace
