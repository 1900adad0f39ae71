// The names of the variables of placing, as constants: getenv(variable::PLACE). Needs no C++ library.
#pragma once

namespace tailrace::variable {

#define TAILRACE_VARIABLE(name, reader, meaning, otherwise) inline constexpr const char* name = "TAILRACE_" #name;
#include "environment/placing_variables.def"
#undef TAILRACE_VARIABLE

}  // namespace tailrace::variable
