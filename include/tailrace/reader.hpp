// Reading a stream back in C++, on any number of ranks, whatever layout, rank count and decomposition it was written with.
//
//     tailrace::Reader reader(MPI_COMM_WORLD, "out", "restart");  // selects the last committed step
//     reader.get<float>("T", values, {first_lat, 0}, {my_lats, 360});
//     reader.get("W", tailrace::Target<double>::part_of(with_halo, allocated, {0, 1, 1}, offset, count));
//     const auto dt = reader.get<double>("dt");
//     reader.close();
//
// A part of tailrace.hpp, which says what holds for all of the facade.
#ifndef TAILRACE_READER_HPP
#define TAILRACE_READER_HPP

#include <tailrace/block.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tailrace {

class Reader {
public:
    Reader(MPI_Comm comm, const std::string &directory, const std::string &name) {
        check(tailrace_open_read(comm, Text(directory).c_str(), Text(name).c_str(), &handle_));
    }
    Reader(Reader &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Reader &operator=(Reader &&other) noexcept {
        if (this != &other) {
            abandon();
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }
    Reader(const Reader &) = delete;
    Reader &operator=(const Reader &) = delete;
    // Collective. Closes the reader as close() does, but reports no error.
    ~Reader() { abandon(); }

    // The committed steps and their times; valid as long as the reader is open.
    [[nodiscard]] std::span<const std::uint64_t> steps() const {
        std::uint64_t count = 0;
        const std::uint64_t *steps = nullptr;
        check(tailrace_get_steps(handle_, &count, &steps, nullptr));
        return {steps, count};
    }
    [[nodiscard]] std::span<const double> times() const {
        std::uint64_t count = 0;
        const double *times = nullptr;
        check(tailrace_get_steps(handle_, &count, nullptr, &times));
        return {times, count};
    }

    // Collective. Selects the step to read from now on, by its number; -1 is the last one, -2 the one before.
    void select(std::int64_t step) { check(tailrace_select_step(handle_, step)); }

    [[nodiscard]] Shape shape(const std::string &var) const { return known(var).shape; }
    // The whole stream as JSON: steps, times, dimensions, variables.
    [[nodiscard]] std::string inquire() const {
        const char *json = "";
        check(tailrace_inquire(handle_, &json));
        return json;
    }

    // Local. Reads blocks of a variable at the selected step. T must be the variable's type.
    template <Element T>
    void get(const std::string &var, std::span<const Target<T>> targets) {
        const Known variable = known_as<T>(var);
        std::vector<tailrace_target> contract;
        for (const Target<T> &target : targets) {
            if (target.ndims() != variable.shape.size())
                throw Error(TAILRACE_BAD_SHAPE, "'" + var + "': a block of " + std::to_string(target.ndims()) +
                                                    " dimensions; the variable has " + std::to_string(variable.shape.size()));
            contract.push_back(target.contract());
        }
        check(tailrace_get(handle_, var.c_str(), static_cast<int>(contract.size()), contract.data()));
    }
    template <Element T>
    void get(const std::string &var, const Target<T> &target) {
        get(var, std::span<const Target<T>>(&target, 1));
    }
    // Reads one block into dense memory in C order; `data` has exactly its elements.
    template <Element T>
    void get(const std::string &var, std::span<std::type_identity_t<T>> data, const Shape &offset, const Shape &count) {
        get(var, Target<T>(data, offset, count));
    }
    template <Element T>
    [[nodiscard]] T get(const std::string &scalar) {
        T value{};
        get(scalar, Target<T>(std::span<T>(&value, 1), {}, {}));
        return value;
    }

    // Collective. Reads the elements at `indices` of the dimension `dim`, whole along the others, into dense memory in C order. A
    // rank with wrong arguments still takes part, so that the others do not wait for it.
    template <Element T>
    void get_indices(const std::string &var, const std::string &dim, std::span<const std::uint64_t> indices,
                     std::span<std::type_identity_t<T>> data) {
        try {
            (void)known_as<T>(var);
            const tailrace_definitions *definitions = nullptr;
            check(tailrace_read_definitions(handle_, &definitions));
            const std::string wrong = detail::wrong_list_size(definitions, var, dim, indices.size(), data.size());
            if (!wrong.empty()) throw Error(TAILRACE_BAD_SHAPE, "'" + var + "': " + wrong);
        } catch (const Error &error) {
            (void)tailrace_get_indices(handle_, Text(var).c_str(), Text(dim).c_str(), 1, nullptr, nullptr, nullptr);
            throw;
        }
        check(tailrace_get_indices(handle_, Text(var).c_str(), Text(dim).c_str(), indices.size(), indices.data(), data.data(),
                                   nullptr));
    }

    // Collective. Gives every rank all elements of a variable, dense in C order: one rank of each node reads them. A rank with
    // wrong arguments still takes part: the others get an error instead of waiting for ever.
    template <Element T>
    void get_shared(const std::string &var, std::span<std::type_identity_t<T>> data) {
        try {
            const Known variable = known_as<T>(var);
            if (data.size() != element_count(variable.shape))
                throw Error(TAILRACE_BAD_SHAPE, "'" + var + "': room for " + std::to_string(data.size()) +
                                                    " elements of a variable of " + std::to_string(element_count(variable.shape)) +
                                                    "; hand over room for the whole of it");
        } catch (const Error &) {
            (void)tailrace_get_shared(handle_, var.c_str(), nullptr);
            throw;
        }
        check(tailrace_get_shared(handle_, var.c_str(), data.data()));
    }

    void close() { check(tailrace_close_read(&handle_)); }
    // For calls of the C contract that this class does not have.
    [[nodiscard]] tailrace_reader *handle() const noexcept { return handle_; }

private:
    using Text = detail::ContractText;
    struct Known {
        tailrace_type type;
        Shape shape;
    };

    [[nodiscard]] Known known(const std::string &var) const {
        tailrace_type type{};
        int ndims = 0;
        std::array<std::uint64_t, TAILRACE_MAX_DIMS> shape{};
        check(tailrace_inquire_var(handle_, Text(var).c_str(), &type, &ndims, shape.data(), nullptr));
        return {type, Shape(std::span<const std::uint64_t>(shape.data(), static_cast<std::size_t>(ndims)))};
    }

    template <Element T>
    [[nodiscard]] Known known_as(const std::string &var) const {
        const Known variable = known(var);
        if (variable.type != type_of<T>)
            throw Error(TAILRACE_BAD_ARGUMENT, "'" + var + "' holds " + detail::name_of(variable.type) + ", it was asked for as " +
                                                   detail::name_of(type_of<T>) + "; read it in its own type");
        return variable;
    }

    void abandon() noexcept {
        int finalized = 0;
        MPI_Finalized(&finalized);
        if (handle_ != nullptr && finalized == 0) (void)tailrace_close_read(&handle_);
    }

    tailrace_reader *handle_ = nullptr;
};

}  // namespace tailrace
#endif
