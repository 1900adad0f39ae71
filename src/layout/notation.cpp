#include "layout/notation.hpp"

namespace tailrace {
namespace {

thread_local Notation current = Notation::c;

bool is_fortran() { return current == Notation::fortran; }

// `item(d)` writes dimension d, which counts from the slowest.
template <class Item>
std::string list(size_t ndims, Item&& item) {
    std::string text(1, is_fortran() ? '(' : '[');
    for (size_t i = 0; i < ndims; ++i) text += (i ? ", " : "") + item(is_fortran() ? ndims - 1 - i : i);
    return text + (is_fortran() ? ')' : ']');
}

}  // namespace

void set_notation(Notation notation) noexcept { current = notation; }

std::string index_text(std::span<const uint64_t> index) {
    return list(index.size(), [&](size_t d) { return std::to_string(index[d] + (is_fortran() ? 1 : 0)); });
}

std::string range_text(std::span<const uint64_t> offset, std::span<const uint64_t> count) {
    return list(count.size(), [&](size_t d) {
        return std::to_string(offset[d] + (is_fortran() ? 1 : 0)) + ":" + std::to_string(offset[d] + count[d]);
    });
}

std::string shape_text(std::span<const uint64_t> shape) {
    return list(shape.size(), [&](size_t d) { return std::to_string(shape[d]); });
}

std::string name_list_text(std::span<const std::string> names) {
    return list(names.size(), [&](size_t d) { return names[d]; });
}

std::string position_text(uint64_t index) { return std::to_string(static_cast<int64_t>(index + (is_fortran() ? 1 : 0))); }

std::string dimension_text(size_t dimension, size_t ndims) { return std::to_string(is_fortran() ? ndims - dimension : dimension); }

std::string counting_rule() {
    return is_fortran() ? "indices count from 1, fastest dimension first" : "offsets count from 0, slowest dimension first";
}

}  // namespace tailrace
