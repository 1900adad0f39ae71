// Reads blocks of HDF5 and NetCDF-4 files of any writer, with the plain serial driver. Files stay open between calls.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

class Hdf5Reader {
public:
    ~Hdf5Reader() { close(); }
    // Reads the hyperslab of `dataset` at `offset` (one entry for each dimension) into `out`; ends the job on failure.
    void read(const std::string &path, const std::string &dataset, const std::vector<uint64_t> &offset,
              const std::vector<uint64_t> &count, int element_bytes, void *out);
    void close();

private:
    std::string path_;
    hid_t file_ = -1;
};

}  // namespace bench
