// HDF5: one file by all ranks (independent or collective transfers), and a file per rank by the serial driver.
#include "harness/hdf5_call.hpp"
#include "hdf5_reader.hpp"
#include "hints.hpp"
#include "method.hpp"

namespace bench {
namespace {

struct Settings {
    bool per_rank = false;
    bool collective = false;
    bool align = true;  // 1 MiB above 64 KiB
    Hints hints = {};
};

class Hdf5 : public Method {
public:
    explicit Hdf5(Settings settings) : settings_(std::move(settings)), info_(settings_.hints) {
        // Allocates every dataset when it is created, without fill values, so that nothing is written twice.
        creation_ = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_alloc_time(creation_, H5D_ALLOC_TIME_EARLY);
        H5Pset_fill_time(creation_, H5D_FILL_TIME_NEVER);
        access_ = H5Pcreate(H5P_FILE_ACCESS);
        H5Pset_libver_bounds(access_, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
        H5Pset_meta_block_size(access_, 1 << 20);
        if (settings_.align) H5Pset_alignment(access_, 64 << 10, 1 << 20);
        transfer_ = H5Pcreate(H5P_DATASET_XFER);
        if (settings_.per_rank) return;
        H5Pset_coll_metadata_write(access_, true);
        H5Pset_all_coll_metadata_ops(access_, true);
        H5Pset_dxpl_mpio(transfer_, settings_.collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    }

    ~Hdf5() override {
        H5Pclose(creation_);
        H5Pclose(access_);
        H5Pclose(transfer_);
    }

    void begin(const Run &run) override {
        Method::begin(run);
        if (!settings_.per_rank) H5Pset_fapl_mpio(access_, work().comm, info_.get());
    }

    void write(int step) override {
        const std::string path = path_of(step, work().rank);
        const hid_t file = checked(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access_), "H5Fcreate", path);
        const auto whole = settings_.per_rank ? work().shape.block : work().global();
        const hid_t space = dataspace(whole);
        const hid_t memory = dataspace(work().shape.block);
        const hid_t selected = H5Scopy(space);
        if (!settings_.per_rank) {
            const auto offset = work().offset(work().rank);
            const std::array<hsize_t, 3> start{offset[0], offset[1], offset[2]};
            const std::array<hsize_t, 3> count{work().shape.block[0], work().shape.block[1], work().shape.block[2]};
            H5Sselect_hyperslab(selected, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
        }
        const hid_t creation = H5Pcopy(creation_);
        if (run_.deflate > 0) {
            const auto planes = chunk();
            const std::array<hsize_t, 3> extent{planes[0], planes[1], planes[2]};
            H5Pset_chunk(creation, 3, extent.data());
            H5Pset_shuffle(creation);
            H5Pset_deflate(creation, static_cast<unsigned>(run_.deflate));
            H5Pset_alloc_time(creation, H5D_ALLOC_TIME_INCR);  // compressed sizes are not known before
        }
        const hid_t type = work().shape.element_bytes == 4 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
        std::vector<hid_t> sets;
        for (int v = 0; v < work().shape.variables; ++v)
            sets.push_back(checked(H5Dcreate2(file, variable_name(v).c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                                   "H5Dcreate", path));
        for (int v = 0; v < work().shape.variables; ++v)
            checked(H5Dwrite(sets[static_cast<size_t>(v)], type, memory, selected, transfer_, work().block(step, v)), "H5Dwrite",
                    path);
        for (const hid_t set : sets) checked(H5Dclose(set), "H5Dclose", path);
        H5Pclose(creation);
        H5Sclose(selected);
        H5Sclose(memory);
        H5Sclose(space);
        checked(H5Fclose(file), "H5Fclose", path);
        written(path);  // the MPI-IO driver does not sync at close
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
        return settings_.per_rank ? rank_path(step, rank, ".h5") : step_path(step, ".h5");
    }

    static hid_t dataspace(const std::array<uint64_t, 3> &shape) {
        const std::array<hsize_t, 3> extent{shape[0], shape[1], shape[2]};
        return checked(H5Screate_simple(3, extent.data(), nullptr), "H5Screate_simple", "memory");
    }

    Settings settings_;
    Info info_;
    hid_t creation_, access_, transfer_;
    Hdf5Reader reader_;
};

std::string settings_text(const Settings &settings) {
    std::string text = "libver latest, early allocation, no fill, metadata blocks 1 MiB";
    text += settings.align ? ", alignment 1 MiB above 64 KiB" : ", no alignment";
    if (settings.per_rank) return text;
    return text + ", collective metadata, " + (settings.collective ? "collective" : "independent") + " transfers" +
           hints_text(settings.hints);
}

}  // namespace

void add_hdf5(Entries &entries) {
    const auto add = [&](const char *method, const char *variant, const Settings &settings) {
        entries.push_back({method, variant, settings.per_rank ? "rank" : "one", settings_text(settings),
                           [settings] { return std::make_unique<Hdf5>(settings); }});
    };
    add("hdf5_fpp", "aligned", {.per_rank = true});
    add("hdf5_fpp", "packed", {.per_rank = true, .align = false});
    add("hdf5_independent", "aligned", {.hints = hints_direct()});
    add("hdf5_independent", "packed", {.align = false, .hints = hints_direct()});
    add("hdf5_collective", "aligned-two-phase", {.collective = true, .hints = hints_two_phase()});
    add("hdf5_collective", "aligned-direct", {.collective = true, .hints = hints_direct()});
    add("hdf5_collective", "packed-direct", {.collective = true, .align = false, .hints = hints_direct()});
    add("hdf5_collective", "aligned-default", {.collective = true, .hints = {{"romio_ds_write", "disable"}}});
}

}  // namespace bench
