// A Python array without a copy: the buffer protocol gives address, shape and byte strides. While the Array exists, Python neither
// frees nor resizes the memory.
#pragma once

#include <nanobind/nanobind.h>
#include <tailrace/tailrace.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tailrace::python {

class Array {
public:
    // Needs the GIL, as the destructor does. Raises TypeError unless `object` is an array of one of the element types, and is
    // writable if `writable` is set.
    explicit Array(nanobind::handle object, bool writable = false);
    ~Array();
    Array(Array &&other) noexcept;
    Array(const Array &) = delete;
    Array &operator=(const Array &) = delete;
    Array &operator=(Array &&) = delete;

    tailrace_type type() const { return type_; }
    const void *data() const { return view_.buf; }
    void *writable_data() { return view_.readonly ? nullptr : view_.buf; }
    const std::vector<uint64_t> &shape() const { return shape_; }
    const std::vector<int64_t> &strides_bytes() const { return strides_bytes_; }
    // Whether the elements lie in C order without holes.
    bool dense() const { return PyBuffer_IsContiguous(&view_, 'C') != 0; }

private:
    Py_buffer view_{};
    tailrace_type type_{};
    std::vector<uint64_t> shape_;
    std::vector<int64_t> strides_bytes_;
};

// The numpy code of a type, such as "f4".
const char *type_code(tailrace_type type);
// The type of a numpy code. Raises TypeError, with the list of codes, for an unknown one.
tailrace_type type_of_code(const std::string &code);
// A shape or an offset as text in Python's notation.
std::string text_of(const std::vector<uint64_t> &shape);
// All codes, in the order of types.def.
std::vector<std::string> type_codes();

}  // namespace tailrace::python
