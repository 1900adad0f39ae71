// NetCDF-4 in parallel, independent or collective access, from the one file that it wrote.
#include "hints.hpp"
#include "method.hpp"

#include <netcdf.h>
#include <netcdf_par.h>

namespace bench {
namespace {

class Netcdf4 : public Method {
public:
    Netcdf4(bool collective, const Hints &hints) : collective_(collective), info_(hints) {}

    void read(const Restart &restart, const std::string &folder) override {
        const std::string path = step_path(folder, 0, ".nc");
        const auto check = [&](int status, const char *call) {
            if (status != NC_NOERR) fail(std::string(call) + " failed for " + path + ": " + nc_strerror(status));
        };
        const auto &[offset, counted] = restart.slab;
        const size_t start[] = {offset[0], offset[1], offset[2]};
        const size_t count[] = {counted[0], counted[1], counted[2]};
        int file = 0;
        check(nc_open_par(path.c_str(), NC_NOWRITE, restart.comm, info_.get(), &file), "nc_open_par");
        for (int v = 0; v < restart.shape.variables; ++v) {
            int id = 0;
            check(nc_inq_varid(file, variable_name(v).c_str(), &id), "nc_inq_varid");
            check(nc_var_par_access(file, id, collective_ ? NC_COLLECTIVE : NC_INDEPENDENT), "nc_var_par_access");
            check(nc_get_vara(file, id, start, count, restart.of_variable(v)), "nc_get_vara");
        }
        check(nc_close(file), "nc_close");
    }

private:
    bool collective_;
    Info info_;
};

}  // namespace

void add_netcdf4(Entries &entries) {
    const auto add = [&](bool collective, const NamedHints &hints) {
        const std::string access = collective ? "collective" : "independent";
        entries.push_back({"netcdf4", access + "-" + hints.name, "netcdf4:independent-aligned",
                           access + " access" + hints_text(hints.hints),
                           [=] { return std::make_unique<Netcdf4>(collective, hints.hints); }});
    };
    for (const NamedHints &hints : reading_hints) add(true, hints);
    add(false, reading_hints[0]);
}

}  // namespace bench
