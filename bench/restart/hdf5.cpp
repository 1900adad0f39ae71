// Parallel HDF5, independent and collective, and the serial driver on each rank. All read the one file of parallel HDF5.
#include "harness/hdf5_call.hpp"
#include "hints.hpp"
#include "method.hpp"

namespace bench {
namespace {

struct Settings {
    enum class Transfer {
        serial,
        independent,
        collective,
        individual
    } transfer;  // individual: collective calls in which each rank reads its own data
    Hints hints = {};
    uint64_t sieve_bytes = 0;  // of the serial driver
};

class Hdf5 : public Method {
public:
    explicit Hdf5(const Settings &settings) : info_(settings.hints) {
        using enum Settings::Transfer;
        access_ = H5Pcreate(H5P_FILE_ACCESS);
        H5Pset_libver_bounds(access_, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
        transfer_ = H5Pcreate(H5P_DATASET_XFER);
        if (settings.transfer == serial) {
            H5Pset_sieve_buf_size(access_, settings.sieve_bytes);
            return;
        }
        H5Pset_fapl_mpio(access_, MPI_COMM_WORLD, info_.get());
        H5Pset_all_coll_metadata_ops(access_, true);
        H5Pset_dxpl_mpio(transfer_, settings.transfer == independent ? H5FD_MPIO_INDEPENDENT : H5FD_MPIO_COLLECTIVE);
        if (settings.transfer == individual) H5Pset_dxpl_mpio_collective_opt(transfer_, H5FD_MPIO_INDIVIDUAL_IO);
    }

    ~Hdf5() override {
        H5Pclose(access_);
        H5Pclose(transfer_);
    }

    void read(const Restart &restart, const std::string &folder) override {
        const std::string path = step_path(folder, 0, ".h5");
        const hid_t file = checked(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access_), "H5Fopen", path);
        const hid_t memory = dataspace(restart.slab.count);
        const hid_t selected = dataspace(restart.global);
        const auto start = extent(restart.slab.offset), count = extent(restart.slab.count);
        H5Sselect_hyperslab(selected, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
        for (int v = 0; v < restart.shape.variables; ++v) {
            const hid_t set = checked(H5Dopen2(file, variable_name(v).c_str(), H5P_DEFAULT), "H5Dopen", path);
            checked(H5Dread(set, H5T_NATIVE_DOUBLE, memory, selected, transfer_, restart.of_variable(v)), "H5Dread", path);
            checked(H5Dclose(set), "H5Dclose", path);
        }
        H5Sclose(selected);
        H5Sclose(memory);
        checked(H5Fclose(file), "H5Fclose", path);
    }

private:
    static std::array<hsize_t, 3> extent(const std::array<uint64_t, 3> &of) { return {of[0], of[1], of[2]}; }

    static hid_t dataspace(const std::array<uint64_t, 3> &shape) {
        return checked(H5Screate_simple(3, extent(shape).data(), nullptr), "H5Screate_simple", "memory");
    }

    Info info_;
    hid_t access_, transfer_;
};

}  // namespace

void add_hdf5(Entries &entries) {
    using enum Settings::Transfer;
    const auto add = [&](const char *method, const std::string &variant, const std::string &text, const Settings &settings) {
        entries.push_back({method, variant, "hdf5_independent:aligned", text + hints_text(settings.hints),
                           [settings] { return std::make_unique<Hdf5>(settings); }});
    };
    add("hdf5_serial", "sieve-64KiB", "serial driver, sieve buffer 64 KiB", {.transfer = serial, .sieve_bytes = 64 << 10});
    add("hdf5_serial", "sieve-4MiB", "serial driver, sieve buffer 4 MiB", {.transfer = serial, .sieve_bytes = 4 << 20});
    const std::string text = "MPI-IO driver, collective metadata, ";
    for (const auto &[name, hints] : reading_hints) {
        const std::string variant = name;
        add("hdf5_collective", variant, text + "collective transfers", {.transfer = collective, .hints = hints});
        if (variant == "two-phase") continue;  // a setting of collective transfers
        add("hdf5_collective", "individual-" + variant, text + "collective calls, individual transfers",
            {.transfer = individual, .hints = hints});
        if (variant == "sieving") continue;  // HDF5 requests each contiguous range on its own
        add("hdf5_independent", variant, text + "independent transfers", {.transfer = independent, .hints = hints});
    }
}

}  // namespace bench
