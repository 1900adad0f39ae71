// Tailrace for C++20: the C contract with owners, types and exceptions. Header only.
//
//     tailrace::Stream stream(MPI_COMM_WORLD, "out", "history", "layout = 'fpp'");
//     stream.define_dim("lat", 180);
//     stream.define_dim("lon", 360);
//     auto T = stream.define_var<float>("T", {"lat", "lon"});
//     stream.put_attr("T", "units", "K");
//     stream.begin_step(3600.0);
//     stream.put(T, tailrace::Block<float>(values, {first_lat, 0}, {my_lats, 360}));
//     stream.end_step();
//     stream.close();
//
// Shapes are slowest dimension first. Failures throw tailrace::Error. Which calls are collective, and how long data must stay
// unchanged, is said in tailrace.h.
#ifndef TAILRACE_HPP
#define TAILRACE_HPP

#include <tailrace/tailrace.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tailrace {

// ---- errors -------------------------------------------------------------------------------------------------------------------

class Error : public std::runtime_error {
public:
    Error(int status, const std::string &text)
        : std::runtime_error(std::string(tailrace_status_name(status)) + ": " + text), status_(status) {}
    [[nodiscard]] int status() const noexcept { return status_; }  // a tailrace_status

private:
    int status_;
};

// Throws what a function of the C contract returned; call it at once: the text is that of the thread's last failure.
inline void check(int status) {
    if (status != TAILRACE_OK) throw Error(status, tailrace_error_message());
}

// ---- element types ------------------------------------------------------------------------------------------------------------

namespace detail {
// -1: not an element type. Integers of the same width and sign count as equal (long and long long); char and bool do not.
template <class T>
constexpr int type_number() {
    constexpr bool text = std::same_as<T, char> || std::same_as<T, bool> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
                          std::same_as<T, char16_t> || std::same_as<T, char32_t>;
    constexpr auto equal = []<class C>(std::type_identity<C>) {
        return std::same_as<T, C> || (std::integral<T> && std::integral<C> && !text && sizeof(T) == sizeof(C) &&
                                      std::is_signed_v<T> == std::is_signed_v<C>);
    };
    int number = -1;
#define TAILRACE_TYPE(name, value, bytes, c, numpy, fortran) \
    if (equal(std::type_identity<c>{})) number = (value);
#include <tailrace/types.def>
#undef TAILRACE_TYPE
    return number;
}
}  // namespace detail

template <class T>
concept Element = detail::type_number<std::remove_cv_t<T>>() >= 0;

// The contract's name of a C++ type: type_of<float> == TAILRACE_F32.
template <Element T>
inline constexpr tailrace_type type_of = static_cast<tailrace_type>(detail::type_number<std::remove_cv_t<T>>());

// ---- blocks -------------------------------------------------------------------------------------------------------------------

// Offsets, extents or strides of an array, slowest dimension first; at most TAILRACE_MAX_DIMS of them, never on the heap.
template <class T>
class Indices {
public:
    Indices() = default;
    template <std::integral U>
    Indices(std::initializer_list<U> list) : Indices(std::span<const U>(list.begin(), list.size())) {}
    template <std::integral U>
    Indices(const std::vector<U> &list) : Indices(std::span<const U>(list)) {}
    template <std::integral U, std::size_t N>
    Indices(const std::array<U, N> &list) : Indices(std::span<const U>(list)) {}
    template <std::integral U>
    explicit Indices(std::span<const U> list) : size_(list.size()) {
        if (list.size() > TAILRACE_MAX_DIMS)
            throw Error(TAILRACE_BAD_SHAPE, std::to_string(list.size()) + " dimensions; at most " +
                                                std::to_string(TAILRACE_MAX_DIMS) + " are possible");
        for (std::size_t i = 0; i < size_; ++i) {
            if (!std::in_range<T>(list[i]))
                throw Error(TAILRACE_BAD_SHAPE, "index " + std::to_string(list[i]) + " of dimension " + std::to_string(i) +
                                                    " is out of range; offsets and extents are 0 or more");
            values_[i] = static_cast<T>(list[i]);
        }
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] const T *data() const noexcept { return values_.data(); }
    [[nodiscard]] T operator[](std::size_t i) const noexcept { return values_[i]; }
    T &operator[](std::size_t i) noexcept { return values_[i]; }

private:
    std::array<T, TAILRACE_MAX_DIMS> values_{};
    std::size_t size_ = 0;
};
using Extents = Indices<std::uint64_t>;
using Strides = Indices<std::int64_t>;

inline std::uint64_t element_count(const Extents &count) {
    std::uint64_t product = 1;
    for (std::size_t i = 0; i < count.size(); ++i) product *= count[i];
    return product;
}

// A hyperslab of a variable that this rank owns. It refers to the data and owns nothing.
template <Element T>
class Block {
public:
    // Dense, C order: the span is the block.
    Block(std::span<const T> data, const Extents &offset, const Extents &count)
        : Block(data.data(), offset, count, dense_strides_bytes(count)) {
        if (data.size() != element_count(count))
            throw Error(TAILRACE_BAD_SHAPE, "a block of " + std::to_string(element_count(count)) + " elements was given " +
                                                std::to_string(data.size()) + " of them; hand over exactly the block");
    }
    // Any strides, in bytes from one element to the next of each dimension; `first` is the block's first element.
    Block(const T *first, const Extents &offset, const Extents &count, const Strides &stride_bytes)
        : first_(first), offset_(offset), count_(count), stride_bytes_(stride_bytes) {
        if (offset.size() != count.size() || stride_bytes.size() != count.size())
            throw Error(TAILRACE_BAD_SHAPE, "a block with " + std::to_string(offset.size()) + " offsets, " +
                                                std::to_string(count.size()) + " extents and " +
                                                std::to_string(stride_bytes.size()) + " strides; give as many of each");
    }
    // A part of a dense array with the extents `allocated`, from the element `first` of it on: an array without its halo.
    static Block part_of(std::span<const T> array, const Extents &allocated, const Extents &first, const Extents &offset,
                         const Extents &count) {
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
        return {empty ? nullptr : array.data() + skipped_bytes / std::int64_t{sizeof(T)}, offset, count, stride_bytes};
    }

    [[nodiscard]] std::size_t ndims() const noexcept { return count_.size(); }
    // Valid as long as the Block.
    [[nodiscard]] tailrace_block contract() const noexcept {
        return {.data = first_, .offset = offset_.data(), .count = count_.data(), .stride = stride_bytes_.data()};
    }

private:
    static Strides dense_strides_bytes(const Extents &extents) {
        Strides strides(std::vector<std::int64_t>(extents.size(), 0));
        auto bytes = std::int64_t{sizeof(T)};
        for (std::size_t i = extents.size(); i-- > 0;) {
            strides[i] = bytes;
            bytes *= static_cast<std::int64_t>(extents[i]);
        }
        return strides;
    }

    const T *first_;
    Extents offset_;
    Extents count_;
    Strides stride_bytes_;
};

// ---- streams ------------------------------------------------------------------------------------------------------------------

// A variable of a stream, with the type and shape that puts are checked against.
template <Element T>
struct Variable {
    std::string name;
    Extents shape;
};

class Stream {
public:
    Stream(MPI_Comm comm, const std::string &directory, const std::string &name, const std::string &options = "") {
        check(tailrace_open(comm, directory.c_str(), name.c_str(), options.c_str(), &handle_));
    }
    Stream(Stream &&other) noexcept
        : handle_(std::exchange(other.handle_, nullptr)), in_step_(std::exchange(other.in_step_, false)),
          dims_(std::move(other.dims_)) {}
    Stream &operator=(Stream &&other) noexcept {
        if (this != &other) {
            abandon();
            handle_ = std::exchange(other.handle_, nullptr);
            in_step_ = std::exchange(other.in_step_, false);
            dims_ = std::move(other.dims_);
        }
        return *this;
    }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;
    // Collective, as close() is, but silent: call close() to learn whether the index was written.
    ~Stream() { abandon(); }

    void define_dim(const std::string &name, std::uint64_t length) {
        check(tailrace_define_dim(handle_, name.c_str(), length));
        dims_[name] = length;
    }

    // `flags` is a sum of TAILRACE_STATIC and TAILRACE_REPLICATED.
    template <Element T>
    Variable<T> define_var(const std::string &name, const std::vector<std::string> &dims = {}, int flags = 0) {
        std::vector<const char *> names;
        std::vector<std::uint64_t> shape;
        for (const std::string &dim : dims) {
            names.push_back(dim.c_str());
            const auto found = dims_.find(dim);
            shape.push_back(found == dims_.end() ? 0 : found->second);  // an unknown one: C refuses it
        }
        check(tailrace_define_var(handle_, name.c_str(), type_of<T>, static_cast<int>(names.size()), names.data(), flags));
        return {name, Extents(shape)};
    }

    // Attributes of a variable, or of the stream where `var` is "".
    void put_attr(const std::string &var, const std::string &name, const std::string &text) {
        check(tailrace_put_attr_text(handle_, owner(var), name.c_str(), text.c_str()));
    }
    void put_attr(const std::string &var, const std::string &name, const char *text) { put_attr(var, name, std::string(text)); }
    template <Element T>
    void put_attr(const std::string &var, const std::string &name, T value) {
        check(tailrace_put_attr(handle_, owner(var), name.c_str(), type_of<T>, 1, &value));
    }
    template <Element T>
    void put_attr(const std::string &var, const std::string &name, std::span<const T> values) {
        check(tailrace_put_attr(handle_, owner(var), name.c_str(), type_of<T>, values.size(), values.data()));
    }
    template <Element T>
    void put_attr(const std::string &var, const std::string &name, const std::vector<T> &values) {
        put_attr(var, name, std::span<const T>(values));
    }

    void begin_step(double time) {
        check(tailrace_begin_step(handle_, time));
        in_step_ = true;
    }

    // Blocks of a distributed variable; their data stays unchanged until end_step returns. More puts in a step add blocks.
    template <Element T>
    void put(const Variable<T> &variable, std::span<const Block<std::type_identity_t<T>>> blocks) {
        std::vector<tailrace_block> contract;
        for (const Block<T> &block : blocks) {
            if (block.ndims() != variable.shape.size())
                refuse(variable.name, TAILRACE_BAD_SHAPE,
                       "a block of " + std::to_string(block.ndims()) + " dimensions; the variable has " +
                           std::to_string(variable.shape.size()));
            contract.push_back(block.contract());
        }
        check(tailrace_put(handle_, variable.name.c_str(), static_cast<int>(contract.size()), contract.data()));
    }
    template <Element T>
    void put(const Variable<T> &variable, const Block<std::type_identity_t<T>> &block) {
        put(variable, std::span<const Block<T>>(&block, 1));
    }

    // The whole of a replicated variable, dense in C order; copied.
    template <Element T>
    void put_replicated(const Variable<T> &variable, std::span<const std::type_identity_t<T>> data) {
        if (data.size() != element_count(variable.shape))
            refuse(variable.name, TAILRACE_BAD_SHAPE,
                   std::to_string(data.size()) + " elements for a variable of " + std::to_string(element_count(variable.shape)) +
                       "; hand over the whole of it");
        check(tailrace_put_replicated(handle_, variable.name.c_str(), data.data()));
    }
    template <Element T>
    void put_replicated(const Variable<T> &variable, std::type_identity_t<T> scalar) {
        put_replicated(variable, std::span<const T>(&scalar, 1));
    }

    void end_step() {
        in_step_ = false;
        check(tailrace_end_step(handle_));
    }

    void close() {
        in_step_ = false;
        check(tailrace_close(&handle_));
    }

    [[nodiscard]] std::uint64_t step_count() const {
        std::uint64_t steps = 0;
        check(tailrace_step_count(handle_, &steps));
        return steps;
    }
    [[nodiscard]] std::string report() const {
        const char *json = "";
        check(tailrace_report(handle_, &json));
        return json;
    }
    // For calls of the C contract that this class does not have.
    [[nodiscard]] tailrace_stream *handle() const noexcept { return handle_; }

private:
    static const char *owner(const std::string &var) { return var.empty() ? nullptr : var.c_str(); }

    // Makes the step fail on all ranks: the put that is refused here would otherwise be missing on this rank alone.
    void spoil_step(const std::string &var) const noexcept { (void)tailrace_put(handle_, var.c_str(), -1, nullptr); }

    [[noreturn]] void refuse(const std::string &var, int status, const std::string &text) const {
        spoil_step(var);
        throw Error(status, "'" + var + "': " + text);
    }

    // A rank that leaves a step by an exception ends the step first, as a failed one, because the other ranks are on their way to
    // end_step: they get an error there instead of waiting for ever.
    void abandon() noexcept {
        int finalized = 0;
        MPI_Finalized(&finalized);
        if (handle_ == nullptr || finalized != 0) return;
        if (in_step_) {
            spoil_step("");
            (void)tailrace_end_step(handle_);
        }
        (void)tailrace_close(&handle_);
    }

    tailrace_stream *handle_ = nullptr;
    bool in_step_ = false;
    std::map<std::string, std::uint64_t> dims_;
};

}  // namespace tailrace
#endif
