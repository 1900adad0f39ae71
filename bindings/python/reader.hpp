// The reader as Python sees it: the functions of the C contract; element type and shape of each array are compared with the
// variable.
#pragma once

#include <nanobind/nanobind.h>
#include <tailrace/tailrace.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tailrace::python {

class Reader {
public:
    Reader(int fortran_comm, const std::string &directory, const std::string &name);
    // No destructor closes the reader: closing is collective.
    Reader(const Reader &) = delete;
    Reader &operator=(const Reader &) = delete;

    void select_step(int64_t step);
    void verify_reads(bool on);
    std::string inquire();
    // Reads a block that begins at `offset` and has the shape of the writable array `into`.
    void get(const std::string &var, nanobind::handle into, const std::vector<uint64_t> &offset);
    // Collective. Reads the elements at `indices` (a dense array of u8) of the dimension `along` into the whole writable array
    // `into`.
    void get_indices(const std::string &var, const std::string &along, nanobind::handle indices, nanobind::handle into);
    // Collective with the get_indices of other ranks, for a rank that cannot make its call: all ranks get an error.
    void refuse_indices(const std::string &var, const std::string &along);
    void get_shared(const std::string &var, nanobind::handle into);
    void close();
    bool closed() const { return reader_ == nullptr; }

private:
    tailrace_reader *opened() const;

    std::string name_;
    tailrace_reader *reader_ = nullptr;
};

void define_reader(nanobind::module_ &module);

}  // namespace tailrace::python
