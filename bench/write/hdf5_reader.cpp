#include "hdf5_reader.hpp"

#include "harness/hdf5_call.hpp"

namespace bench {

void Hdf5Reader::read(const std::string &path, const std::string &dataset, const std::vector<uint64_t> &offset,
                      const std::vector<uint64_t> &count, int element_bytes, void *out) {
    if (path != path_) {
        close();
        file_ = checked(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "H5Fopen", path);
        path_ = path;
    }
    const hid_t set = checked(H5Dopen2(file_, dataset.c_str(), H5P_DEFAULT), "H5Dopen", path + ":" + dataset);
    const hid_t space = checked(H5Dget_space(set), "H5Dget_space", path);
    if (H5Sget_simple_extent_ndims(space) != static_cast<int>(offset.size()))
        fail(path + ": " + dataset + " has " + std::to_string(H5Sget_simple_extent_ndims(space)) + " dimensions, not " +
             std::to_string(offset.size()));
    const std::vector<hsize_t> start(offset.begin(), offset.end());
    const std::vector<hsize_t> extent(count.begin(), count.end());
    checked(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr), "H5Sselect_hyperslab", path);
    const hid_t memory =
        checked(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), "H5Screate_simple", path);
    checked(H5Dread(set, element_bytes == 4 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, out), "H5Dread",
            path + ":" + dataset);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(set);
}

void Hdf5Reader::close() {
    if (file_ >= 0) H5Fclose(file_);
    file_ = -1;
    path_.clear();
}

}  // namespace bench
