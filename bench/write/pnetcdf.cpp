// PnetCDF: all variables of a step posted with iput, written by one wait; classic format with 64-bit data (CDF-5, big endian).
#include "hints.hpp"
#include "method.hpp"

#include <pnetcdf.h>

namespace bench {
namespace {

struct Settings {
    bool per_rank = false;
    bool collective = true;  // wait_all; else independent wait
    Hints hints = {};
};

class Pnetcdf : public Method {
public:
    explicit Pnetcdf(Settings settings) : settings_(std::move(settings)), info_(settings_.hints) {}

    void write(int step) override {
        path_ = path_of(step, work().rank);
        const MPI_Comm comm = settings_.per_rank ? MPI_COMM_SELF : work().comm;
        int file = 0;
        check(ncmpi_create(comm, path_.c_str(), NC_CLOBBER | NC_64BIT_DATA, info_.get(), &file), "ncmpi_create");
        const std::vector<int> variables = define(file);
        const auto offset = settings_.per_rank ? work().offset(0) : work().offset(work().rank);
        const MPI_Offset start[] = {at(offset[0]), at(offset[1]), at(offset[2])};
        const MPI_Offset count[] = {at(work().shape.block[0]), at(work().shape.block[1]), at(work().shape.block[2])};
        const auto elements = static_cast<MPI_Offset>(work().shape.block_elements());
        const MPI_Datatype type = work().shape.element_bytes == 4 ? MPI_FLOAT : MPI_DOUBLE;
        if (!settings_.collective) check(ncmpi_begin_indep_data(file), "ncmpi_begin_indep_data");
        for (int v = 0; v < work().shape.variables; ++v)
            check(ncmpi_iput_vara(file, variables[static_cast<size_t>(v)], start, count, work().block(step, v), elements, type,
                                  nullptr),
                  "ncmpi_iput_vara");
        if (settings_.collective)
            check(ncmpi_wait_all(file, NC_REQ_ALL, nullptr, nullptr), "ncmpi_wait_all");
        else
            check(ncmpi_wait(file, NC_REQ_ALL, nullptr, nullptr), "ncmpi_wait");
        if (!settings_.collective) check(ncmpi_end_indep_data(file), "ncmpi_end_indep_data");
        check(ncmpi_close(file), "ncmpi_close");
        written(path_);
    }

    std::string read(int step, int variable, int of_rank, void *block) override {
        open_for_reading(path_of(step, of_rank));
        int id = 0;
        check(ncmpi_inq_varid(reading_, variable_name(variable).c_str(), &id), "ncmpi_inq_varid");
        const auto offset = settings_.per_rank ? work().offset(0) : work().offset(of_rank);
        const MPI_Offset start[] = {at(offset[0]), at(offset[1]), at(offset[2])};
        const MPI_Offset count[] = {at(work().shape.block[0]), at(work().shape.block[1]), at(work().shape.block[2])};
        check(ncmpi_get_vara_all(reading_, id, start, count, block, static_cast<MPI_Offset>(work().shape.block_elements()),
                                 work().shape.element_bytes == 4 ? MPI_FLOAT : MPI_DOUBLE),
              "ncmpi_get_vara_all");
        return path_;
    }

    void end_reading() override {
        if (reading_ >= 0) check(ncmpi_close(reading_), "ncmpi_close");
        reading_ = -1;
    }

private:
    std::string path_of(int step, int rank) const {
        return settings_.per_rank ? rank_path(step, rank, ".nc") : step_path(step, ".nc");
    }

    static MPI_Offset at(uint64_t number) { return static_cast<MPI_Offset>(number); }

    void check(int status, const char *call) const {
        if (status != NC_NOERR) fail(std::string(call) + " failed for " + path_ + ": " + ncmpi_strerror(status));
    }

    std::vector<int> define(int file) const {
        const auto shape = settings_.per_rank ? work().shape.block : work().global();
        int dims[3];
        const char *names[] = {"z", "y", "x"};
        for (int d = 0; d < 3; ++d)
            check(ncmpi_def_dim(file, names[d], at(shape[static_cast<size_t>(d)]), &dims[d]), "ncmpi_def_dim");
        std::vector<int> variables;
        for (int v = 0; v < work().shape.variables; ++v)
            check(ncmpi_def_var(file, variable_name(v).c_str(), work().shape.element_bytes == 4 ? NC_FLOAT : NC_DOUBLE, 3, dims,
                                &variables.emplace_back()),
                  "ncmpi_def_var");
        check(ncmpi_enddef(file), "ncmpi_enddef");  // fill mode is off unless asked for
        return variables;
    }

    void open_for_reading(const std::string &path) {
        if (reading_ >= 0 && path == path_) return;
        end_reading();
        path_ = path;
        check(ncmpi_open(MPI_COMM_SELF, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &reading_), "ncmpi_open");
    }

    Settings settings_;
    Info info_;
    std::string path_;
    int reading_ = -1;
};

Hints with_alignment(Hints hints) {
    hints["nc_var_align_size"] = "1048576";
    hints["nc_header_align_size"] = "1048576";
    hints["nc_in_place_swap"] = "enable";
    return hints;
}

Hints packed(Hints hints) {
    hints["nc_var_align_size"] = "4096";
    hints["nc_in_place_swap"] = "enable";
    return hints;
}

}  // namespace

void add_pnetcdf(Entries &entries) {
    const auto add = [&](const char *method, const char *variant, const Settings &settings) {
        entries.push_back({method, variant, settings.per_rank ? "rank" : "one",
                           std::string("CDF-5, no fill, iput_vara then ") + (settings.collective ? "wait_all" : "wait") +
                               hints_text(settings.hints),
                           [settings] { return std::make_unique<Pnetcdf>(settings); }});
    };
    add("pnetcdf_fpp", "aligned", {.per_rank = true, .hints = with_alignment(hints_direct())});
    add("pnetcdf_fpp", "packed", {.per_rank = true, .hints = packed(hints_direct())});
    add("pnetcdf", "aligned-two-phase", {.hints = with_alignment(hints_two_phase())});
    add("pnetcdf", "aligned-direct", {.hints = with_alignment(hints_direct())});
    add("pnetcdf", "packed-direct", {.hints = packed(hints_direct())});
    add("pnetcdf", "packed-independent", {.collective = false, .hints = packed(hints_direct())});
}

}  // namespace bench
