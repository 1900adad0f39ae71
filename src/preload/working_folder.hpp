// The path of the working directory, cached: the kernel is asked again only after a call that may have changed the directory or its
// name. getcwd takes about half of the time that placing may add to a call with a path.
#pragma once

#include <cstdint>

namespace tailrace::preload::working_folder {

// Writes the absolute path, without a zero byte. Returns its length in bytes; 0: the kernel reports no absolute path, or `room` is
// too small.
// Local; may be called in signal handlers and in children of vfork, whose directory is their own.
uint32_t put(char* to, uint32_t room);

// To be called after a call that may have changed the directory or its name.
void forget();

// Ends the caching: from now on the kernel is asked each time. To be called before a call that may give threads, or processes in
// the same memory, directories of their own.
void forget_for_good();

// While an object of this class exists, and `may_change` is true, the kernel is asked each time: the C library may change the
// directory.
class WhileUnknown {
public:
    explicit WhileUnknown(bool may_change);
    ~WhileUnknown();
    WhileUnknown(const WhileUnknown&) = delete;
    WhileUnknown& operator=(const WhileUnknown&) = delete;

private:
    const bool may_change_;
};

}  // namespace tailrace::preload::working_folder
