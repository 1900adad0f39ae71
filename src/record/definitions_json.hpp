// Definitions as JSON, as the run lines of the journal contain them.
#pragma once

#include "base/journal.hpp"
#include "record/definitions.hpp"

namespace tailrace {

// A list of {"name", "text"}; {"name", "text", "texts"} for a list of texts; {"name", "type", "hex"} for the bytes of numbers, so
// that no bit is lost, NaN included. Text that is not UTF-8 is stored as bytes, too, and so is the fill value of text, which may be
// any byte.
Json attributes_json(const std::vector<Attribute>& attributes);
Json definitions_json(const Definitions& definitions);
// Throws what Json throws, and CORRUPT or BAD_ARGUMENT, for JSON that definitions_json() did not make.
Definitions definitions_of(const Json& json, Definitions::Spelling spelling = Definitions::Spelling::as_stored);

}  // namespace tailrace
