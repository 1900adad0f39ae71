// The text of the working directory. The kernel is asked once; a call that may change the directory or its name makes the next one
// ask again. getcwd costs about half of what placing may cost a call with a path.
#pragma once

#include <cstdint>

namespace tailrace::preload::working_folder {

// Writes the absolute path, without a zero. Returns its bytes; 0 where the kernel has none, or no absolute one, or `room` is less.
// Local; may be called in signal handlers and in children of vfork, whose directory is their own.
uint32_t put(char* to, uint32_t room);

// To be called after a call that may have changed the directory or its name.
void forget();

// To be called before a call after which threads or processes with this memory may have directories of their own: from now on the
// kernel is asked each time.
void forget_for_good();

// As long as it lives the kernel is asked each time, where `changes`: the C library may change the directory by itself.
class Unknown {
public:
    explicit Unknown(bool changes);
    ~Unknown();
    Unknown(const Unknown&) = delete;
    Unknown& operator=(const Unknown&) = delete;

private:
    const bool changes_;
};

}  // namespace tailrace::preload::working_folder
