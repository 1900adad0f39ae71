// The names of environment variables, as constants: getenv(variable::TRACE). Needs no C++ library: preloaded code uses it, too.
#pragma once

namespace tailrace::variable {

#define TAILRACE_VARIABLE(name, reader, meaning, otherwise) inline constexpr const char* name = "TAILRACE_" #name;
#define TAILRACE_KEY_VARIABLE(name, reader, meaning, otherwise) inline constexpr const char* name = "TAILRACE_" #name;
#define TAILRACE_FOREIGN_VARIABLE(name)
#define TAILRACE_VARIABLE_PATTERN(name, reader, meaning, otherwise)
#include "environment/variables.def"
#undef TAILRACE_VARIABLE
#undef TAILRACE_KEY_VARIABLE
#undef TAILRACE_FOREIGN_VARIABLE
#undef TAILRACE_VARIABLE_PATTERN

}  // namespace tailrace::variable
