#include "base/error.hpp"

namespace tailrace {

const char* status_name(int status) {
    switch (status) {
#define TAILRACE_STATUS(name, number, text, python) \
    case number: return #name;
#include <tailrace/status.def>
#undef TAILRACE_STATUS
        default: return nullptr;
    }
}

const char* status_text(int status) {
    switch (status) {
#define TAILRACE_STATUS(name, number, text, python) \
    case number: return text;
#include <tailrace/status.def>
#undef TAILRACE_STATUS
        default: return nullptr;
    }
}

}  // namespace tailrace
