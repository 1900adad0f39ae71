// What the classes Stream and Reader of the C++ interface share: errors, element types, blocks. See tailrace.hpp.
#ifndef TAILRACE_BLOCK_HPP
#define TAILRACE_BLOCK_HPP

#include <tailrace/tailrace.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tailrace {

// ---- errors -------------------------------------------------------------------------------------------------------------------

// The exception of the C++ interface. Its text is the name of the status and the error message of the C contract.
class Error : public std::runtime_error {
public:
    Error(int status, const std::string &text)
        : std::runtime_error(std::string(tailrace_status_name(status)) + ": " + text), status_(status) {}
    [[nodiscard]] int status() const noexcept { return status_; }  // a tailrace_status

private:
    int status_;
};

// Throws Error unless `status`, which a function of the C contract returned, is TAILRACE_OK. Call check() at once: its text is the
// message of the thread's last failure.
inline void check(int status) {
    if (status != TAILRACE_OK) throw Error(status, tailrace_error_message());
}

// ---- texts --------------------------------------------------------------------------------------------------------------------

namespace detail {
// A text as a C string. C would end the text at a zero byte within it, so that byte becomes C0 80, which the C contract refuses.
class ContractText {
public:
    ContractText(const std::string &text) : text_(text.c_str()) {
        if (text.find('\0') == std::string::npos) return;
        for (const char byte : text) byte == '\0' ? marked_.append("\xC0\x80") : marked_.append(1, byte);
        text_ = marked_.c_str();
    }
    ContractText(const ContractText &) = delete;
    ContractText &operator=(const ContractText &) = delete;
    [[nodiscard]] const char *c_str() const noexcept { return text_; }

private:
    std::string marked_;
    const char *text_;
};
}  // namespace detail

// ---- element types ------------------------------------------------------------------------------------------------------------

namespace detail {
template <class T>
inline constexpr bool is_number =
    std::integral<T> && !std::same_as<T, char> && !std::same_as<T, bool> && !std::same_as<T, wchar_t> &&
    !std::same_as<T, char8_t> && !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

// The tailrace_type of T, or -1 if T is not an element type. Integers of equal width and sign count as equal (long and long long);
// char is text, not a number.
template <class T>
constexpr int type_number() {
    constexpr auto counts_as = []<class C>(std::type_identity<C>) {
        return std::same_as<T, C> ||
               (is_number<T> && is_number<C> && sizeof(T) == sizeof(C) && std::is_signed_v<T> == std::is_signed_v<C>);
    };
    int number = -1;
#define TAILRACE_TYPE(name, value, bytes, c, numpy, fortran) \
    if (counts_as(std::type_identity<c>{})) number = (value);
#include <tailrace/types.def>
#undef TAILRACE_TYPE
    return number;
}

// The C type that a type of the contract stands for, for messages.
inline std::string name_of(tailrace_type type) {
    switch (type) {
#define TAILRACE_TYPE(name, value, bytes, c, numpy, fortran) \
    case TAILRACE_##name: return #c;
#include <tailrace/types.def>
#undef TAILRACE_TYPE
        default: return "an unknown type";
    }
}
}  // namespace detail

// The C++ types that a variable can hold.
template <class T>
concept Element = detail::type_number<std::remove_cv_t<T>>() >= 0;

// The contract's name of a C++ type: type_of<float> == TAILRACE_F32.
template <Element T>
inline constexpr tailrace_type type_of = static_cast<tailrace_type>(detail::type_number<std::remove_cv_t<T>>());

// ---- blocks -------------------------------------------------------------------------------------------------------------------

// Offsets, lengths or strides of an array, slowest dimension first; at most TAILRACE_MAX_DIMS of them, never on the heap.
template <class T>
class Indices {
public:
    // One number of a list in braces, such as `{first_row, 0}`, of any integer type.
    class Index {
    public:
        template <std::integral U>
        Index(U value) : fits_(std::in_range<T>(value)), value_(static_cast<T>(value)), negative_(std::cmp_less(value, 0)) {}

    private:
        friend class Indices;
        bool fits_;
        T value_;
        bool negative_;
    };

    Indices() = default;
    Indices(std::initializer_list<Index> list) {
        set_size(list.size());
        for (std::size_t i = 0; i < size_; ++i) set(i, list.begin()[i]);
    }
    template <std::integral U>
    Indices(const std::vector<U> &list) : Indices(std::span<const U>(list)) {}
    template <std::integral U, std::size_t N>
    Indices(const std::array<U, N> &list) : Indices(std::span<const U>(list)) {}
    template <std::integral U>
    explicit Indices(std::span<const U> list) {
        set_size(list.size());
        for (std::size_t i = 0; i < size_; ++i) set(i, list[i]);
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] const T *data() const noexcept { return values_.data(); }
    [[nodiscard]] T operator[](std::size_t i) const noexcept { return values_[i]; }
    T &operator[](std::size_t i) noexcept { return values_[i]; }

private:
    void set_size(std::size_t size) {
        if (size > TAILRACE_MAX_DIMS)
            throw Error(TAILRACE_BAD_SHAPE,
                        std::to_string(size) + " dimensions; at most " + std::to_string(TAILRACE_MAX_DIMS) + " are possible");
        size_ = size;
    }
    void set(std::size_t dimension, const Index &index) {
        if (!index.fits_)
            throw Error(TAILRACE_BAD_SHAPE, "index " +
                                                (index.negative_ ? std::to_string(static_cast<std::int64_t>(index.value_))
                                                                 : std::to_string(static_cast<std::uint64_t>(index.value_))) +
                                                " of dimension " + std::to_string(dimension) +
                                                " is out of range; offsets and lengths are 0 or more");
        values_[dimension] = index.value_;
    }

    std::array<T, TAILRACE_MAX_DIMS> values_{};
    std::size_t size_ = 0;
};
// Offsets or lengths, in elements.
using Shape = Indices<std::uint64_t>;
// Distances in memory from one element to the next along each dimension, in bytes.
using Strides = Indices<std::int64_t>;

// How many elements a block or array of these lengths has.
inline std::uint64_t element_count(const Shape &count) {
    std::uint64_t product = 1;
    for (std::size_t i = 0; i < count.size(); ++i) product *= count[i];
    return product;
}

// A block of a variable, and where its elements are in memory that the caller owns. E is const for a block that put() takes.
template <Element E>
class Hyperslab {
public:
    // `data` has exactly the elements of the block, dense in C order.
    Hyperslab(std::span<E> data, const Shape &offset, const Shape &count)
        : Hyperslab(data.data(), offset, count, dense_strides_bytes(count)) {
        if (data.size() != element_count(count))
            throw Error(TAILRACE_BAD_SHAPE, "a block of " + std::to_string(element_count(count)) + " elements was given " +
                                                std::to_string(data.size()) + " of them; hand over exactly the block");
    }
    // Any strides, in bytes from one element to the next of each dimension; `first` is the block's first element.
    Hyperslab(E *first, const Shape &offset, const Shape &count, const Strides &stride_bytes)
        : first_(first), offset_(offset), count_(count), stride_bytes_(stride_bytes) {
        if (offset.size() != count.size() || stride_bytes.size() != count.size())
            throw Error(TAILRACE_BAD_SHAPE, "a block with " + std::to_string(offset.size()) + " offsets, " +
                                                std::to_string(count.size()) + " lengths and " +
                                                std::to_string(stride_bytes.size()) + " strides; give as many of each");
    }
    // A part of a dense array whose lengths are `allocated`. `first` is the index in that array of the part's first element: for an
    // array without its halo.
    static Hyperslab part_of(std::span<E> array, const Shape &allocated, const Shape &first, const Shape &offset,
                             const Shape &count) {
        if (allocated.size() != count.size() || first.size() != count.size())
            throw Error(TAILRACE_BAD_SHAPE, "a part of " + std::to_string(count.size()) + " dimensions of an array of " +
                                                std::to_string(allocated.size()) + "; give as many of each");
        const Strides stride_bytes = dense_strides_bytes(allocated);
        std::int64_t skipped_bytes = 0;
        for (std::size_t i = 0; i < count.size(); ++i) {
            if (count[i] > allocated[i] || first[i] > allocated[i] - count[i])
                throw Error(TAILRACE_BAD_SHAPE, "elements " + std::to_string(first[i]) + " to " +
                                                    std::to_string(first[i] + count[i]) + " of dimension " + std::to_string(i) +
                                                    ", which has " + std::to_string(allocated[i]) + "; stay inside the array");
            skipped_bytes += static_cast<std::int64_t>(first[i]) * stride_bytes[i];
        }
        if (array.size() != element_count(allocated))
            throw Error(TAILRACE_BAD_SHAPE, "an array of " + std::to_string(array.size()) + " elements is said to have " +
                                                std::to_string(element_count(allocated)));
        const bool empty = element_count(count) == 0;
        return {empty ? nullptr : array.data() + skipped_bytes / std::int64_t{sizeof(E)}, offset, count, stride_bytes};
    }

    [[nodiscard]] std::size_t ndims() const noexcept { return count_.size(); }
    // A tailrace_block or a tailrace_target, valid as long as the Hyperslab.
    [[nodiscard]] auto contract() const noexcept {
        using Contract = std::conditional_t<std::is_const_v<E>, tailrace_block, tailrace_target>;
        return Contract{.data = first_, .offset = offset_.data(), .count = count_.data(), .stride = stride_bytes_.data()};
    }

private:
    static Strides dense_strides_bytes(const Shape &shape) {
        Strides strides(std::vector<std::int64_t>(shape.size(), 0));
        auto bytes = std::int64_t{sizeof(E)};
        for (std::size_t i = shape.size(); i-- > 0;) {
            strides[i] = bytes;
            bytes *= static_cast<std::int64_t>(shape[i]);
        }
        return strides;
    }

    E *first_;
    Shape offset_;
    Shape count_;
    Strides stride_bytes_;
};

namespace detail {
// The message where an array has another number of elements than a list of indices needs; "" if the number is right, and if a name
// is unknown: the C contract then reports the name.
inline std::string wrong_list_size(const tailrace_definitions *definitions, const std::string &var, const std::string &dim,
                                   std::size_t indices, std::size_t elements) {
    int number = 0, along = 0;
    tailrace_var_info info{};
    if (tailrace_inquire_var_id(definitions, ContractText(var).c_str(), &number) != TAILRACE_OK ||
        tailrace_inquire_var_info(definitions, number, &info) != TAILRACE_OK ||
        tailrace_inquire_dim_id(definitions, ContractText(dim).c_str(), &along) != TAILRACE_OK)
        return "";
    std::uint64_t expected = indices;
    bool is_found = false;
    for (int d = 0; d < info.ndims; ++d) {
        if (info.dims[d] == along && !is_found)
            is_found = true;
        else
            expected *= info.shape[d];
    }
    if (!is_found || expected == elements) return "";
    return std::to_string(elements) + " elements for " + std::to_string(indices) + " indices along '" + dim + "'; hand over " +
           std::to_string(expected);
}
}  // namespace detail

// A block of a variable that this rank writes.
template <Element T>
using Block = Hyperslab<const T>;
// A block of a variable that this rank reads, and the memory that it is read into.
template <Element T>
using Target = Hyperslab<T>;

}  // namespace tailrace
#endif
