// Which file a descriptor is open on, and the full names of files, as ids of the log.
#pragma once

#include <cstdint>

namespace tailrace::preload {

constexpr int kHere = -100;  // AT_FDCWD

// Of an open descriptor, also one that somebody else has opened.
uint64_t file_of(int descriptor);
// As the call names it, relative names below `directory`; 0 for no name.
uint64_t file_of(const char* path, int directory = kHere);

void opened(int descriptor, uint64_t file);
void closed(int descriptor);
void closed(unsigned first, unsigned last);
void copied(int from, int to);

}  // namespace tailrace::preload
