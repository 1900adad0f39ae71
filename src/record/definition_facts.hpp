// Definitions as texts, for the message when ranks have different definitions.
#pragma once

#include "base/facts.hpp"
#include "record/definitions.hpp"

namespace tailrace {

// Dimensions, variables and attributes, in the order of definition. Names of dimensions are in C's or Fortran's order, as set by
// set_notation().
Facts definition_facts(const Definitions& definitions);

// The value of an attribute as text: 'K' or f8 [1.5, 2].
std::string value_text(const Attribute& attribute);

}  // namespace tailrace
