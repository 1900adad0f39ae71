// The peers append all steps to one file: time is unlimited, and a step extends it. Each is tried with several settings.
#include "harness/hdf5_call.hpp"
#include "hdf5_reader.hpp"
#include "hints.hpp"
#include "method.hpp"

#include <netcdf.h>
#include <netcdf_par.h>
#include <pnetcdf.h>

#include <type_traits>

namespace bench {
namespace {

struct Settings {
    bool collective = true;
    bool align = true;  // 1 MiB above 64 KiB
    Hints hints = {};
};

// What the methods share: one file, read back by the plain HDF5 library unless a method says otherwise.
class Append : public Method {
public:
    explicit Append(Settings settings) : settings_(std::move(settings)), info_(settings_.hints) {}

    std::string read(int step, int variable, int of_rank, void *block) override {
        const auto offset = work().offset(of_rank);
        const auto &count = work().shape.block;
        reader_.read(path(), variable_name(variable), {static_cast<uint64_t>(step), offset[0], offset[1], offset[2]},
                     {1, count[0], count[1], count[2]}, work().shape.element_bytes, block);
        return path();
    }
    void end_reading() override { reader_.close(); }

protected:
    std::string path() const { return run_.directory + "/all.nc"; }
    template <typename Number>
    std::array<Number, 4> start(int step) const {
        const auto offset = work().offset(work().rank);
        return {static_cast<Number>(step), static_cast<Number>(offset[0]), static_cast<Number>(offset[1]),
                static_cast<Number>(offset[2])};
    }
    // Of this rank's block in a step: also the chunks, so that a rank writes whole ones.
    template <typename Number>
    std::array<Number, 4> count() const {
        const auto &block = work().shape.block;
        return {1, static_cast<Number>(block[0]), static_cast<Number>(block[1]), static_cast<Number>(block[2])};
    }
    bool is_single_precision() const { return work().shape.element_bytes == 4; }

    const Settings settings_;
    Info info_;

private:
    Hdf5Reader reader_;
};

class Hdf5Append : public Append {
public:
    using Append::Append;

    void begin(const Run &run) override {
        Append::begin(run);
        const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
        H5Pset_fapl_mpio(access, work().comm, info_.get());
        H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
        H5Pset_meta_block_size(access, 1 << 20);
        if (settings_.align) H5Pset_alignment(access, 64 << 10, 1 << 20);
        H5Pset_coll_metadata_write(access, true);
        H5Pset_all_coll_metadata_ops(access, true);
        file_ = checked(H5Fcreate(path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), "H5Fcreate", path());
        H5Pclose(access);
        transfer_ = H5Pcreate(H5P_DATASET_XFER);
        H5Pset_dxpl_mpio(transfer_, settings_.collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
        const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
        H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
        const auto chunk = count<hsize_t>();
        H5Pset_chunk(creation, 4, chunk.data());
        const auto shape = work().global();
        const std::array<hsize_t, 4> extent{0, shape[0], shape[1], shape[2]}, most{H5S_UNLIMITED, shape[0], shape[1], shape[2]};
        const hid_t space = checked(H5Screate_simple(4, extent.data(), most.data()), "H5Screate_simple", path());
        const hid_t type = is_single_precision() ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
        for (int v = 0; v < work().shape.variables; ++v)
            sets_.push_back(checked(H5Dcreate2(file_, variable_name(v).c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                                    "H5Dcreate", path()));
        H5Sclose(space);
        H5Pclose(creation);
    }

    void write(int step) override {
        const auto shape = work().global();
        const std::array<hsize_t, 4> extent{static_cast<hsize_t>(step) + 1, shape[0], shape[1], shape[2]};
        const hid_t space = checked(H5Screate_simple(4, extent.data(), nullptr), "H5Screate_simple", path());
        const auto offset = start<hsize_t>(step), block = count<hsize_t>();
        checked(H5Sselect_hyperslab(space, H5S_SELECT_SET, offset.data(), nullptr, block.data(), nullptr), "H5Sselect_hyperslab",
                path());
        const hid_t memory = checked(H5Screate_simple(4, block.data(), nullptr), "H5Screate_simple", path());
        const hid_t type = is_single_precision() ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
        for (const hid_t set : sets_) checked(H5Dset_extent(set, extent.data()), "H5Dset_extent", path());
        for (int v = 0; v < work().shape.variables; ++v)
            checked(H5Dwrite(sets_[static_cast<size_t>(v)], type, memory, space, transfer_, work().block(step, v)), "H5Dwrite",
                    path());
        H5Sclose(memory);
        H5Sclose(space);
    }

    void end() override {
        for (const hid_t set : sets_) checked(H5Dclose(set), "H5Dclose", path());
        sets_.clear();
        H5Pclose(transfer_);
        checked(H5Fclose(file_), "H5Fclose", path());
        written(path());
        Append::end();
    }

private:
    hid_t file_ = -1, transfer_ = -1;
    std::vector<hid_t> sets_;
};

class Netcdf4Append : public Append {
public:
    using Append::Append;

    void begin(const Run &run) override {
        Append::begin(run);
        check(settings_.align ? nc_set_alignment(64 << 10, 1 << 20) : nc_set_alignment(1, 1), "nc_set_alignment");
        check(nc_create_par(path().c_str(), NC_NETCDF4 | NC_CLOBBER, work().comm, info_.get(), &file_), "nc_create_par");
        int old_mode = 0, dims[4];
        check(nc_set_fill(file_, NC_NOFILL, &old_mode), "nc_set_fill");
        check(nc_def_dim(file_, "time", NC_UNLIMITED, &dims[0]), "nc_def_dim");
        const auto shape = work().global();
        const char *names[] = {"z", "y", "x"};
        for (int d = 0; d < 3; ++d) check(nc_def_dim(file_, names[d], shape[static_cast<size_t>(d)], &dims[d + 1]), "nc_def_dim");
        const auto chunk = count<size_t>();
        for (int v = 0; v < work().shape.variables; ++v) {
            int &id = ids_.emplace_back();
            check(nc_def_var(file_, variable_name(v).c_str(), is_single_precision() ? NC_FLOAT : NC_DOUBLE, 4, dims, &id),
                  "nc_def_var");
            check(nc_def_var_chunking(file_, id, NC_CHUNKED, chunk.data()), "nc_def_var_chunking");
            check(nc_def_var_fill(file_, id, NC_NOFILL, nullptr), "nc_def_var_fill");
        }
        check(nc_enddef(file_), "nc_enddef");
        for (const int id : ids_) check(nc_var_par_access(file_, id, NC_COLLECTIVE), "nc_var_par_access");  // to extend the time
    }

    void write(int step) override {
        const auto offset = start<size_t>(step), block = count<size_t>();
        for (int v = 0; v < work().shape.variables; ++v)
            check(nc_put_vara(file_, ids_[static_cast<size_t>(v)], offset.data(), block.data(), work().block(step, v)),
                  "nc_put_vara");
    }

    void end() override {
        ids_.clear();
        check(nc_close(file_), "nc_close");
        written(path());
        Append::end();
    }

private:
    void check(int status, const char *call) const {
        if (status != NC_NOERR) fail(std::string(call) + " failed for " + path() + ": " + nc_strerror(status));
    }

    int file_ = -1;
    std::vector<int> ids_;
};

class PnetcdfAppend : public Append {
public:
    using Append::Append;

    void begin(const Run &run) override {
        Append::begin(run);
        check(ncmpi_create(work().comm, path().c_str(), NC_CLOBBER | NC_64BIT_DATA, info_.get(), &file_), "ncmpi_create");
        int dims[4];
        check(ncmpi_def_dim(file_, "time", NC_UNLIMITED, &dims[0]), "ncmpi_def_dim");
        const auto shape = work().global();
        const char *names[] = {"z", "y", "x"};
        for (int d = 0; d < 3; ++d)
            check(ncmpi_def_dim(file_, names[d], static_cast<MPI_Offset>(shape[static_cast<size_t>(d)]), &dims[d + 1]),
                  "ncmpi_def_dim");
        for (int v = 0; v < work().shape.variables; ++v)
            check(ncmpi_def_var(file_, variable_name(v).c_str(), is_single_precision() ? NC_FLOAT : NC_DOUBLE, 4, dims,
                                &ids_.emplace_back()),
                  "ncmpi_def_var");
        check(ncmpi_enddef(file_), "ncmpi_enddef");  // fill mode is off unless asked for
    }

    void write(int step) override {
        const auto offset = start<MPI_Offset>(step), block = count<MPI_Offset>();
        for (int v = 0; v < work().shape.variables; ++v)
            check(ncmpi_iput_vara(file_, ids_[static_cast<size_t>(v)], offset.data(), block.data(), work().block(step, v),
                                  elements(), type(), nullptr),
                  "ncmpi_iput_vara");
        check(ncmpi_wait_all(file_, NC_REQ_ALL, nullptr, nullptr), "ncmpi_wait_all");
    }

    void end() override {
        check(ncmpi_close(file_), "ncmpi_close");
        written(path());
        Append::end();
    }

    std::string read(int step, int variable, int of_rank, void *block) override {
        if (reading_ < 0) check(ncmpi_open(MPI_COMM_SELF, path().c_str(), NC_NOWRITE, MPI_INFO_NULL, &reading_), "ncmpi_open");
        const auto offset = work().offset(of_rank);
        const MPI_Offset begin[] = {step, static_cast<MPI_Offset>(offset[0]), static_cast<MPI_Offset>(offset[1]),
                                    static_cast<MPI_Offset>(offset[2])};
        const auto count_of_block = count<MPI_Offset>();
        check(ncmpi_get_vara_all(reading_, ids_[static_cast<size_t>(variable)], begin, count_of_block.data(), block, elements(),
                                 type()),
              "ncmpi_get_vara_all");
        return path();
    }

    void end_reading() override {
        if (reading_ >= 0) check(ncmpi_close(reading_), "ncmpi_close");
        reading_ = -1;
        ids_.clear();
    }

private:
    MPI_Offset elements() const { return static_cast<MPI_Offset>(work().shape.block_elements()); }
    MPI_Datatype type() const { return is_single_precision() ? MPI_FLOAT : MPI_DOUBLE; }
    void check(int status, const char *call) const {
        if (status != NC_NOERR) fail(std::string(call) + " failed for " + path() + ": " + ncmpi_strerror(status));
    }

    int file_ = -1, reading_ = -1;
    std::vector<int> ids_;
};

Hints with_alignment(Hints hints, const char *bytes) {
    hints["nc_record_align_size"] = bytes;
    hints["nc_in_place_swap"] = "enable";
    return hints;
}

std::string text_of(const char *what, const Settings &settings) {
    return std::string(what) + (settings.align ? ", aligned" : ", not aligned") +
           (settings.collective ? ", collective" : ", independent") + hints_text(settings.hints);
}

}  // namespace

void add_append(Entries &entries) {
    const auto add = [&]<typename Kind>(std::type_identity<Kind>, const char *method, const char *variant, const char *what,
                                        const Settings &settings) {
        entries.push_back(
            {method, variant, "grows", text_of(what, settings), [settings] { return std::make_unique<Kind>(settings); }});
    };
    const std::type_identity<Hdf5Append> hdf5;
    const char *const of_hdf5 = "one file, chunks of a block, libver latest, early allocation, no fill";
    add(hdf5, "hdf5_append", "independent-aligned", of_hdf5, {.collective = false, .hints = hints_direct()});
    add(hdf5, "hdf5_append", "independent-packed", of_hdf5, {.collective = false, .align = false, .hints = hints_direct()});
    add(hdf5, "hdf5_append", "collective-aligned", of_hdf5, {.hints = hints_direct()});
    add(hdf5, "hdf5_append", "collective-two-phase", of_hdf5, {.hints = hints_two_phase()});
    const std::type_identity<Netcdf4Append> netcdf4;
    const char *const of_netcdf4 = "one file, chunks of a block, no fill";
    add(netcdf4, "netcdf4_append", "aligned", of_netcdf4, {.hints = hints_direct()});
    add(netcdf4, "netcdf4_append", "packed", of_netcdf4, {.align = false, .hints = hints_direct()});
    add(netcdf4, "netcdf4_append", "two-phase", of_netcdf4, {.hints = hints_two_phase()});
    const std::type_identity<PnetcdfAppend> pnetcdf;
    const char *const of_pnetcdf = "one CDF-5 file, record variables, iput_vara then wait_all";
    add(pnetcdf, "pnetcdf_append", "direct", of_pnetcdf, {.align = false, .hints = with_alignment(hints_direct(), "4096")});
    add(pnetcdf, "pnetcdf_append", "two-phase", of_pnetcdf, {.align = false, .hints = with_alignment(hints_two_phase(), "4096")});
}

}  // namespace bench
