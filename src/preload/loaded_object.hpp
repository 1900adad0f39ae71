// The program or library that an address belongs to, without the loader's lock where the C library can tell it so (glibc 2.35).
#pragma once

namespace tailrace::preload {

struct LoadedObject {
    const char* begin = nullptr;  // where it is loaded
    const char* path = nullptr;   // nullptr: the address is in none
};

// Called once, where the loader's lock may be taken.
void prepare_loaded_objects();

LoadedObject loaded_object(const void* address);

}  // namespace tailrace::preload
