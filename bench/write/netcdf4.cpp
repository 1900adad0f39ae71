// NetCDF-4: one file by all ranks (independent or collective access), and a file per rank by the serial library.
#include "hdf5_reader.hpp"
#include "hints.hpp"
#include "method.hpp"

#include <netcdf.h>
#include <netcdf_par.h>

namespace bench {
namespace {

struct Settings {
    bool per_rank = false;
    bool collective = false;
    bool align = true;  // 1 MiB above 64 KiB
    Hints hints = {};
};

class Netcdf4 : public Method {
public:
    explicit Netcdf4(Settings settings) : settings_(std::move(settings)), info_(settings_.hints) {}

    void write(int step) override {
        path_ = path_of(step, work().rank);
        // The alignment is a setting of the library for files created afterwards; (1, 1) is none.
        check(settings_.align ? nc_set_alignment(64 << 10, 1 << 20) : nc_set_alignment(1, 1), "nc_set_alignment");
        int file = 0;
        if (settings_.per_rank)
            check(nc_create(path_.c_str(), NC_NETCDF4 | NC_CLOBBER, &file), "nc_create");
        else
            check(nc_create_par(path_.c_str(), NC_NETCDF4 | NC_CLOBBER, work().comm, info_.get(), &file), "nc_create_par");
        const std::vector<int> variables = define(file);
        const auto offset = settings_.per_rank ? work().offset(0) : work().offset(work().rank);
        const size_t start[] = {offset[0], offset[1], offset[2]};
        const size_t count[] = {work().shape.block[0], work().shape.block[1], work().shape.block[2]};
        for (int v = 0; v < work().shape.variables; ++v)
            check(nc_put_vara(file, variables[static_cast<size_t>(v)], start, count, work().block(step, v)), "nc_put_vara");
        check(nc_close(file), "nc_close");
        written(path_);
    }

    std::string read(int step, int variable, int of_rank, void *block) override {
        const std::string path = path_of(step, of_rank);
        const auto &count = work().shape.block;
        std::vector<uint64_t> offset{0, 0, 0};
        if (!settings_.per_rank) offset[0] = work().offset(of_rank)[0];
        reader_.read(path, variable_name(variable), offset, {count.begin(), count.end()}, work().shape.element_bytes, block);
        return path;
    }

    void end_reading() override { reader_.close(); }

private:
    std::string path_of(int step, int rank) const {
        return settings_.per_rank ? rank_path(step, rank, ".nc") : step_path(step, ".nc");
    }

    void check(int status, const char *call) const {
        if (status != NC_NOERR) fail(std::string(call) + " failed for " + path_ + ": " + nc_strerror(status));
    }

    std::vector<int> define(int file) const {
        int old_mode = 0;
        check(nc_set_fill(file, NC_NOFILL, &old_mode), "nc_set_fill");
        const auto shape = settings_.per_rank ? work().shape.block : work().global();
        int dims[3];
        const char *names[] = {"z", "y", "x"};
        for (int d = 0; d < 3; ++d) check(nc_def_dim(file, names[d], shape[static_cast<size_t>(d)], &dims[d]), "nc_def_dim");
        std::vector<int> variables;
        for (int v = 0; v < work().shape.variables; ++v) {
            int &id = variables.emplace_back();
            check(nc_def_var(file, variable_name(v).c_str(), work().shape.element_bytes == 4 ? NC_FLOAT : NC_DOUBLE, 3, dims, &id),
                  "nc_def_var");
            if (run_.deflate > 0) {
                const auto planes = chunk();
                const size_t extent[] = {planes[0], planes[1], planes[2]};
                check(nc_def_var_chunking(file, id, NC_CHUNKED, extent), "nc_def_var_chunking");
                check(nc_def_var_deflate(file, id, 1, 1, run_.deflate), "nc_def_var_deflate");
            } else {
                check(nc_def_var_chunking(file, id, NC_CONTIGUOUS, nullptr), "nc_def_var_chunking");
            }
            check(nc_def_var_fill(file, id, NC_NOFILL, nullptr), "nc_def_var_fill");
        }
        check(nc_enddef(file), "nc_enddef");
        if (settings_.per_rank) return variables;
        for (const int id : variables)
            check(nc_var_par_access(file, id, settings_.collective ? NC_COLLECTIVE : NC_INDEPENDENT), "nc_var_par_access");
        return variables;
    }

    Settings settings_;
    Info info_;
    std::string path_;
    Hdf5Reader reader_;
};

std::string settings_text(const Settings &settings) {
    std::string text = "contiguous, no fill";
    text += settings.align ? ", alignment 1 MiB above 64 KiB" : ", no alignment";
    if (settings.per_rank) return text + ", serial library";
    return text + (settings.collective ? ", collective access" : ", independent access") + hints_text(settings.hints);
}

}  // namespace

void add_netcdf4(Entries &entries) {
    const auto add = [&](const char *method, const char *variant, const Settings &settings) {
        entries.push_back({method, variant, settings.per_rank ? "rank" : "one", settings_text(settings),
                           [settings] { return std::make_unique<Netcdf4>(settings); }});
    };
    add("netcdf4_fpp", "aligned", {.per_rank = true});
    add("netcdf4_fpp", "packed", {.per_rank = true, .align = false});
    add("netcdf4", "independent-aligned", {.hints = hints_direct()});
    add("netcdf4", "independent-packed", {.align = false, .hints = hints_direct()});
    add("netcdf4", "collective-aligned-two-phase", {.collective = true, .hints = hints_two_phase()});
    add("netcdf4", "collective-aligned-direct", {.collective = true, .hints = hints_direct()});
    add("netcdf4", "collective-packed-direct", {.collective = true, .align = false, .hints = hints_direct()});
}

}  // namespace bench
