// Definitions as JSON, as the run lines of the journal contain them.
#pragma once

#include "base/journal.hpp"
#include "record/definitions.hpp"

namespace tailrace {

Json definitions_json(const Definitions& definitions);
// Throws what Json throws, and CORRUPT or BAD_ARGUMENT, for JSON that definitions_json() did not make.
Definitions definitions_of(const Json& json, Definitions::Spelling spelling = Definitions::Spelling::as_stored);

}  // namespace tailrace
