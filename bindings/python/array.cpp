#include "array.hpp"

#include <bit>
#include <optional>
#include <string_view>

#include "errors.hpp"

namespace nb = nanobind;

namespace tailrace::python {
namespace {

struct TypeLine {
    tailrace_type type;
    size_t bytes;
    std::string_view code;
};

constexpr TypeLine kTypes[] = {
#define TAILRACE_TYPE(name, number, bytes, c, numpy, fortran) {TAILRACE_##name, bytes, numpy},
#include <tailrace/types.def>
#undef TAILRACE_TYPE
};

std::string known_codes() {
    std::string text;
    for (const TypeLine &line : kTypes) text += (text.empty() ? "" : ", ") + std::string(line.code);
    return text;
}

// The type's name for messages: numpy's dtype if there is one.
std::string described(nb::handle object, const char *format) {
    if (nb::hasattr(object, "dtype")) {
        const nb::object dtype = object.attr("dtype");
        return nb::str(nb::handle(dtype)).c_str();  // as a handle: nb::str of an attribute would treat it as text already
    }
    return format ? "buffer format '" + std::string(format) + "'" : "bytes without a format";
}

// The kind of number that a letter of Python's struct module stands for. The item size gives the width: 'l' has 4 or 8 bytes.
std::optional<char> kind_of(char letter) {
    if (std::string_view("bhilqn").find(letter) != std::string_view::npos) return 'i';
    if (std::string_view("BHILQN").find(letter) != std::string_view::npos) return 'u';
    if (letter == 'f' || letter == 'd') return 'f';
    if (letter == 's' || letter == 'c') return 'S';
    return std::nullopt;
}

bool is_foreign_order(char mark) {
    if constexpr (std::endian::native == std::endian::little) return mark == '>' || mark == '!';
    return mark == '<';
}

tailrace_type type_of_view(nb::handle object, const Py_buffer &view) {
    std::string_view format = view.format ? view.format : "";
    if (!format.empty() && std::string_view("@=<>!").find(format.front()) != std::string_view::npos) {
        if (is_foreign_order(format.front()) && view.itemsize > 1) {
            fail_type("array of type " + described(object, view.format) +
                      " is not in the byte order of this machine; pass array.astype(array.dtype.newbyteorder('='))");
        }
        format.remove_prefix(1);
    }
    if (format == "1s") format.remove_prefix(1);  // numpy's characters
    if (format.size() == 1) {
        if (const std::optional<char> kind = kind_of(format.front())) {
            for (const TypeLine &line : kTypes) {
                if (line.code.front() == *kind && line.bytes == static_cast<size_t>(view.itemsize)) return line.type;
            }
        }
    }
    fail_type("array of type " + described(object, view.format) + " cannot be stored; convert it to one of " + known_codes());
}

}  // namespace

Array::Array(nb::handle object, bool writable) {
    if (PyObject_GetBuffer(object.ptr(), &view_, writable ? PyBUF_RECORDS : PyBUF_RECORDS_RO) != 0) {
        PyErr_Clear();
        const bool has_dtype = nb::hasattr(object, "dtype");
        const std::string what = has_dtype ? "array of type " + described(object, nullptr)
                                           : "a " + std::string(Py_TYPE(object.ptr())->tp_name) + " is not an array and";
        fail_type(what +
                  (writable ? " cannot be read into; pass a writable numpy array of one of "
                            : " cannot be stored; pass a numpy array of one of ") +
                  known_codes());
    }
    try {
        type_ = type_of_view(object, view_);
    } catch (...) {
        PyBuffer_Release(&view_);
        throw;
    }
    shape_.assign(view_.shape, view_.shape + view_.ndim);
    strides_bytes_.assign(view_.strides, view_.strides + view_.ndim);
}

Array::Array(Array &&other) noexcept
    : view_(other.view_), type_(other.type_), shape_(std::move(other.shape_)), strides_bytes_(std::move(other.strides_bytes_)) {
    other.view_ = Py_buffer{};
}

Array::~Array() { PyBuffer_Release(&view_); }  // does nothing for a view that was moved away: its obj is NULL

const char *type_code(tailrace_type type) {
    for (const TypeLine &line : kTypes) {
        if (line.type == type) return line.code.data();
    }
    return "?";
}

tailrace_type type_of_code(const std::string &code) {
    for (const TypeLine &line : kTypes) {
        if (line.code == code) return line.type;
    }
    fail_type("element type '" + code + "' is not known; use one of " + known_codes());
}

std::string text_of(const std::vector<uint64_t> &shape) {
    std::string text = "(";
    for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
    return text + ")";
}

std::vector<std::string> type_codes() {
    std::vector<std::string> codes;
    for (const TypeLine &line : kTypes) codes.emplace_back(line.code);
    return codes;
}

}  // namespace tailrace::python
