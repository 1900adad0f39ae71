// The counts that all processes of a run on this node share, in a file of its scratch folder (place/scratch_counts.hpp). Without
// that file nothing is counted.
#pragma once

#include <stdint.h>

#include <atomic>

#include "place/scratch_counts.hpp"

namespace tailrace::preload::counts {

// Called once. `scratch`: the folder of this run on this node.
void begin(const char* scratch);

void add_on_scratch();                   // a file that is made on scratch
void add_at_target(const char* below);   // a file that is made at the target, because scratch is too full; its path below the base
void add_unanswered(const char* below);  // a name that is absent, while a node that may have it did not answer
std::atomic<uint32_t>* agent_is_silent();  // null: not known
place::NamesLock* names_lock();            // null: files are not delivered while the program runs

}  // namespace tailrace::preload::counts
