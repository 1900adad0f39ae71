// Tailrace through its C contract, from the files of several presets.
#include <tailrace/tailrace.h>

#include "method.hpp"

namespace bench {
namespace {

class Tailrace : public Method {
public:
    void read(const Restart &restart, const std::string &folder) override {
        tailrace_reader *reader = nullptr;
        check(tailrace_open_read(restart.comm, folder.c_str(), stream_name, &reader), "tailrace_open_read");
        for (int v = 0; v < restart.shape.variables; ++v) {
            const tailrace_target target{restart.of_variable(v), restart.slab.offset.data(), restart.slab.count.data(), nullptr};
            check(tailrace_get(reader, variable_name(v).c_str(), 1, &target), "tailrace_get");
        }
        check(tailrace_close_read(&reader), "tailrace_close_read");
    }

private:
    static void check(int status, const char *call) {
        if (status != TAILRACE_OK)
            fail(std::string(call) + " failed (" + tailrace_status_name(status) + "): " + tailrace_error_message());
    }
};

}  // namespace

void add_tailrace(Entries &entries) {
    for (const std::string preset : {"fpp", "hds", "shared", "single", "split"})
        entries.push_back({"tailrace_" + preset, "default", "tailrace_" + preset + ":checksum",
                           "tailrace_open_read, tailrace_get for each array, tailrace_close_read",
                           [] { return std::make_unique<Tailrace>(); }});
}

}  // namespace bench
