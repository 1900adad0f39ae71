// Marks in a program. What they mark is seen by whoever records the calls: the tracer takes these names over.
#include <tailrace/tailrace.h>

extern "C" {

int tailrace_phase_begin(const char*) { return TAILRACE_OK; }

int tailrace_phase_end(void) { return TAILRACE_OK; }
}
