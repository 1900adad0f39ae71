// Element types, from types.def: the same numbers as in the C contract.
#pragma once

#include <cstdint>

namespace tailrace {

enum class Type : int {
#define TAILRACE_TYPE(name, number, bytes, c, numpy, fortran) name = (number),
#include <tailrace/types.def>
#undef TAILRACE_TYPE
};

constexpr bool is_type(int number) {
    switch (number) {
#define TAILRACE_TYPE(name, number, bytes, c, numpy, fortran) case number:
#include <tailrace/types.def>
#undef TAILRACE_TYPE
        return true;
        default: return false;
    }
}

constexpr uint64_t type_bytes(Type type) {
    switch (type) {
#define TAILRACE_TYPE(name, number, bytes, c, numpy, fortran) \
    case Type::name: return bytes;
#include <tailrace/types.def>
#undef TAILRACE_TYPE
    }
    return 0;
}

// The numpy code of a type, such as "f4": its name in JSON and in messages.
constexpr const char* type_code(Type type) {
    switch (type) {
#define TAILRACE_TYPE(name, number, bytes, c, numpy, fortran) \
    case Type::name: return numpy;
#include <tailrace/types.def>
#undef TAILRACE_TYPE
    }
    return "";
}

}  // namespace tailrace
