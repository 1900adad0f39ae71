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
    // Into the whole of a writable array, from `offset` on.
    void get(const std::string &var, nanobind::handle into, const std::vector<uint64_t> &offset);
    // Collective. Into the whole of a writable array: the elements under `indices` (a dense array of u8) of the dimension `along`.
    void get_indices(const std::string &var, const std::string &along, nanobind::handle indices, nanobind::handle into);
    // Takes part in get_indices of other ranks, which get an error.
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
