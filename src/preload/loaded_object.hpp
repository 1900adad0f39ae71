// The program or library that contains an address. Found without the loader's lock if the C library can do this (from glibc 2.35
// on).
#pragma once

namespace tailrace::preload {

struct LoadedObject {
    const char* begin = nullptr;  // where it is loaded
    const char* path = nullptr;   // nullptr: the address is in no program or library
};

// Called once before loaded_object(), at a point where the loader's lock may be taken.
void prepare_loaded_objects();

LoadedObject loaded_object(const void* address);

}  // namespace tailrace::preload
