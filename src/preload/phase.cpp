// Records phases that the program marks by tailrace_phase_begin and tailrace_phase_end. Without the tracer these two do nothing.
#include <string.h>

#include "preload/mpi.hpp"

namespace tailrace::preload {
namespace {

Word phase(const Words& words, FindFunction find, const void* return_address, Call name) {
    const Site site = site_of(return_address);
    insert_barrier(name, site);
    const auto* text = name == Call::phase_begin ? reinterpret_cast<const char*>(words.at[0]) : nullptr;
    Traced call(name);
    call.record(0, {.detail = site.name}, text == nullptr ? 0 : trace::name_id(text, strnlen(text, 1000)));
    return call_words(find(site.object), words);
}

}  // namespace

LIBRARY_HOOK(tailrace_phase_begin, phase, Call::phase_begin)
LIBRARY_HOOK(tailrace_phase_end, phase, Call::phase_end)

}  // namespace tailrace::preload
