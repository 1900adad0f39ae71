// Tailrace through its C contract: all presets, one file (or set of files) per step, and the default, which appends all steps to
// one file; with and without checksums.
#include <tailrace/tailrace.h>

#include "hdf5_reader.hpp"
#include "method.hpp"

namespace bench {
namespace {

class Tailrace : public Method {
public:
    // `keys`: the layout.
    explicit Tailrace(std::string keys) : keys_(std::move(keys)) {}

    void begin(const Run &run) override {
        Method::begin(run);
        const std::string options = keys_ + "\nmode = 'replace'\ndurability = '" + (run.durable ? "close" : "none") + "'" +
                                    (run.deflate > 0 ? "\ncompression = 'deflate:" + std::to_string(run.deflate) + "'" : "");
        check(tailrace_open(work().comm, run.directory.c_str(), stream_name, options.c_str(), &stream_), "tailrace_open");
        const auto shape = work().global();
        const char *dims[] = {"z", "y", "x"};
        for (int d = 0; d < 3; ++d)
            check(tailrace_define_dim(stream_, dims[d], shape[static_cast<size_t>(d)]), "tailrace_define_dim");
        const auto type = work().shape.element_bytes == 4 ? TAILRACE_F32 : TAILRACE_F64;
        for (int v = 0; v < work().shape.variables; ++v)
            check(tailrace_define_var(stream_, variable_name(v).c_str(), type, 3, dims, 0), "tailrace_define_var");
    }

    void write(int step) override {
        check(tailrace_begin_step(stream_, step), "tailrace_begin_step");
        const auto offset = work().offset(work().rank);
        for (int v = 0; v < work().shape.variables; ++v) {
            const tailrace_block block{work().block(step, v), offset.data(), work().shape.block.data(), nullptr};
            check(tailrace_put(stream_, variable_name(v).c_str(), 1, &block), "tailrace_put");
        }
        check(tailrace_end_step(stream_), "tailrace_end_step");
    }

    void end() override { check(tailrace_close(&stream_), "tailrace_close"); }

    // Reads as a user does: through the index, by the plain HDF5 library.
    std::string read(int step, int variable, int of_rank, void *block) override {
        const std::string path = run_.directory + "/" + stream_name + ".nc";
        const auto offset = work().offset(of_rank);
        const auto &count = work().shape.block;
        reader_.read(path, variable_name(variable), {static_cast<uint64_t>(step), offset[0], offset[1], offset[2]},
                     {1, count[0], count[1], count[2]}, work().shape.element_bytes, block);
        return path;
    }

    void end_reading() override { reader_.close(); }

private:
    static void check(int status, const char *call) {
        if (status != TAILRACE_OK)
            fail(std::string(call) + " failed (" + tailrace_status_name(status) + "): " + tailrace_error_message());
    }

    std::string keys_;
    tailrace_stream *stream_ = nullptr;
    Hdf5Reader reader_;
};

}  // namespace

void add_tailrace(Entries &entries) {
    for (const std::string preset : {"fpp", "hds", "shared", "single", "split:2", "node"})
        for (const bool checksum : {true, false}) {
            const std::string text = checksum ? "checksum = true" : "checksum = false";
            entries.push_back(
                {"tailrace_" + preset.substr(0, preset.find(':')), checksum ? "checksum" : "plain",
                 preset == "fpp" || preset == "hds" ? "rank"
                 : preset == "split:2"              ? "two"
                                                    : "one",
                 "layout = '" + preset + "', steps = 1, " + text + ", durability none (page cache) or close (fsynced)",
                 [preset, text] { return std::make_unique<Tailrace>("layout = '" + preset + "'\nsteps = 1\n" + text); }});
        }
    // The default layout, which no key chooses: one file, all steps.
    for (const bool checksum : {true, false}) {
        const std::string text = checksum ? "checksum = true" : "checksum = false";
        entries.push_back({"tailrace_append", checksum ? "checksum" : "plain", "grows",
                           "the default layout, " + text + ", durability none (page cache) or close (fsynced)",
                           [text] { return std::make_unique<Tailrace>(text); }});
    }
}

}  // namespace bench
