// PnetCDF from the one file that it wrote: one array after the other, or all posted and read by one wait.
#include "hints.hpp"
#include "method.hpp"

#include <pnetcdf.h>

namespace bench {
namespace {

enum class Calls { get_all, get_independent, iget };

class Pnetcdf : public Method {
public:
    Pnetcdf(Calls calls, const Hints &hints) : calls_(calls), info_(hints) {}

    void read(const Restart &restart, const std::string &folder) override {
        path_ = step_path(folder, 0, ".nc");
        const auto at = [](uint64_t number) { return static_cast<MPI_Offset>(number); };
        const auto &[offset, counted] = restart.slab;
        const MPI_Offset start[] = {at(offset[0]), at(offset[1]), at(offset[2])};
        const MPI_Offset count[] = {at(counted[0]), at(counted[1]), at(counted[2])};
        const MPI_Offset elements = at(restart.slab.elements());
        int file = 0;
        check(ncmpi_open(restart.comm, path_.c_str(), NC_NOWRITE, info_.get(), &file), "ncmpi_open");
        if (calls_ == Calls::get_independent) check(ncmpi_begin_indep_data(file), "ncmpi_begin_indep_data");
        for (int v = 0; v < restart.shape.variables; ++v) {
            int id = 0;
            check(ncmpi_inq_varid(file, variable_name(v).c_str(), &id), "ncmpi_inq_varid");
            std::byte *to = restart.of_variable(v);
            switch (calls_) {
                case Calls::get_all:
                    check(ncmpi_get_vara_all(file, id, start, count, to, elements, MPI_DOUBLE), "ncmpi_get_vara_all");
                    break;
                case Calls::get_independent:
                    check(ncmpi_get_vara(file, id, start, count, to, elements, MPI_DOUBLE), "ncmpi_get_vara");
                    break;
                case Calls::iget:
                    check(ncmpi_iget_vara(file, id, start, count, to, elements, MPI_DOUBLE, nullptr), "ncmpi_iget_vara");
            }
        }
        if (calls_ == Calls::iget) check(ncmpi_wait_all(file, NC_REQ_ALL, nullptr, nullptr), "ncmpi_wait_all");
        if (calls_ == Calls::get_independent) check(ncmpi_end_indep_data(file), "ncmpi_end_indep_data");
        check(ncmpi_close(file), "ncmpi_close");
    }

private:
    void check(int status, const char *call) const {
        if (status != NC_NOERR) fail(std::string(call) + " failed for " + path_ + ": " + ncmpi_strerror(status));
    }

    Calls calls_;
    Info info_;
    std::string path_;
};

}  // namespace

void add_pnetcdf(Entries &entries) {
    const auto add = [&](const char *method, const char *before, Calls calls, const char *text, const NamedHints &hints) {
        entries.push_back({method, before + std::string(hints.name), "pnetcdf:aligned-direct", text + hints_text(hints.hints),
                           [=] { return std::make_unique<Pnetcdf>(calls, hints.hints); }});
    };
    for (const NamedHints &hints : reading_hints) {
        add("pnetcdf_get", "", Calls::get_all, "CDF-5, get_vara_all for each array", hints);
        add("pnetcdf_iget", "", Calls::iget, "CDF-5, iget_vara then wait_all", hints);
        if (hints.name == std::string("two-phase")) continue;  // a setting of collective reads
        add("pnetcdf_get", "independent-", Calls::get_independent, "CDF-5, get_vara for each array", hints);
    }
}

}  // namespace bench
