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
// and back, on any number of ranks:
//
//     tailrace::Reader reader(MPI_COMM_WORLD, "out", "history");
//     reader.get<float>("T", values, {first_lat, 0}, {my_lats, 360});
//
// Shapes are slowest dimension first. Failures throw tailrace::Error. Which calls are collective, and how long data must stay
// unchanged, is said in tailrace.h.
#ifndef TAILRACE_HPP
#define TAILRACE_HPP

#include <tailrace/block.hpp>
#include <tailrace/reader.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tailrace {

// ---- streams ------------------------------------------------------------------------------------------------------------------

// A variable of a stream, as put() needs it. `shape` is the shape in the stream; the length of a ragged dimension is
// TAILRACE_RAGGED.
template <Element T>
struct Variable {
    std::string name;
    Shape shape;
};

namespace detail {

// The option resume_before = TIME, with all digits of the time.
inline std::string resume_option(double before) {
    std::array<char, 64> digits{};
    (void)std::snprintf(digits.data(), digits.size(), "%.17g", before);
    return std::string("resume_before = '") + digits.data() + "'\n";
}

}  // namespace detail

class Stream {
public:
    // Collective. `resume_before` sets mode = 'resume' and drops the steps of an existing stream at or after this time.
    Stream(MPI_Comm comm, const std::string &directory, const std::string &name, const std::string &options = "",
           std::optional<double> resume_before = std::nullopt) {
        const std::string all = resume_before ? options + "\n" + detail::resume_option(*resume_before) : options;
        const int status = tailrace_open(comm, Text(directory).c_str(), Text(name).c_str(), Text(all).c_str(), &handle_);
        if (status != TAILRACE_OK) (void)tailrace_close(&handle_);  // keeps the error message of the opening
        check(status);
    }
    Stream(Stream &&other) noexcept
        : handle_(std::exchange(other.handle_, nullptr)), in_step_(std::exchange(other.in_step_, false)) {}
    Stream &operator=(Stream &&other) noexcept {
        if (this != &other) {
            abandon();
            handle_ = std::exchange(other.handle_, nullptr);
            in_step_ = std::exchange(other.in_step_, false);
        }
        return *this;
    }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;
    // Collective. Closes the stream as close() does, but reports no error: call close() to learn whether the index was written.
    ~Stream() { abandon(); }

    void define_dim(const std::string &name, std::uint64_t length) {
        check(tailrace_define_dim(handle_, Text(name).c_str(), length));
    }

    // `flags` is a sum of TAILRACE_STATIC and TAILRACE_REPLICATED.
    template <Element T>
    Variable<T> define_var(const std::string &name, const std::vector<std::string> &dims = {}, int flags = 0) {
        const std::deque<Text> texts(dims.begin(), dims.end());
        std::vector<const char *> names;
        for (const Text &dim : texts) names.push_back(dim.c_str());
        check(tailrace_define_var(handle_, Text(name).c_str(), type_of<T>, static_cast<int>(names.size()), names.data(), flags));
        return variable<T>(name);
    }

    // A variable that was defined before, such as in another part of the program.
    template <Element T>
    [[nodiscard]] Variable<T> variable(const std::string &name) const {
        const tailrace_var_info info = info_of(name);
        if (info.type != type_of<T>)
            throw Error(TAILRACE_BAD_ARGUMENT, "'" + name + "' holds " + detail::name_of(info.type) + ", it was asked for as " +
                                                   detail::name_of(type_of<T>) + "; use its own type");
        return {name, shape_of(info)};
    }
    [[nodiscard]] Shape shape(const std::string &var) const { return shape_of(info_of(var)); }

    // Attributes of a variable, or of the stream where `var` is "".
    void put_attr(const std::string &var, const std::string &name, const std::string &value) {
        check(tailrace_put_attr_text(handle_, owner(var).c_str(), Text(name).c_str(), Text(value).c_str()));
    }
    void put_attr(const std::string &var, const std::string &name, const char *value) { put_attr(var, name, std::string(value)); }
    void put_attr(const std::string &var, const std::string &name, const std::vector<std::string> &texts) {
        const std::deque<Text> held(texts.begin(), texts.end());
        std::vector<const char *> list;
        for (const Text &text : held) list.push_back(text.c_str());
        check(tailrace_put_attr_texts(handle_, owner(var).c_str(), Text(name).c_str(), list.size(), list.data()));
    }
    template <Element T>
    void put_attr(const std::string &var, const std::string &name, T value) {
        check(tailrace_put_attr(handle_, owner(var).c_str(), Text(name).c_str(), type_of<T>, 1, &value));
    }
    template <Element T>
    void put_attr(const std::string &var, const std::string &name, std::span<const T> values) {
        check(tailrace_put_attr(handle_, owner(var).c_str(), Text(name).c_str(), type_of<T>, values.size(), values.data()));
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

    // Hands over scattered elements: those at `indices` of the dimension `dim`, whole along the others, dense in C order. The
    // indices are copied; the data stays unchanged until end_step returns.
    template <Element T>
    void put_indices(const Variable<T> &variable, const std::string &dim, std::span<const std::uint64_t> indices,
                     std::span<const std::type_identity_t<T>> data) {
        const tailrace_definitions *definitions = nullptr;
        check(tailrace_get_definitions(handle_, &definitions));
        const std::string wrong = detail::wrong_list_size(definitions, variable.name, dim, indices.size(), data.size());
        if (!wrong.empty()) refuse(variable.name, TAILRACE_BAD_SHAPE, wrong);
        check(tailrace_put_indices(handle_, Text(variable.name).c_str(), Text(dim).c_str(), indices.size(), indices.data(),
                                   data.data(), nullptr));
    }

    // Hands over all elements of a replicated variable, dense in C order. They are copied.
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

    // For a rank that cannot make its data: makes the step in progress fail. end_step, which this rank still calls, throws this
    // status and text on all ranks.
    void refuse_step(int status, const std::string &text) const noexcept {
        (void)tailrace_refuse_step(handle_, status, text.c_str());
    }

    void end_step() {
        in_step_ = false;
        check(tailrace_end_step(handle_));
    }

    // Collective, between steps. Waits until every step that end_step has taken is committed.
    void flush() { check(tailrace_flush(handle_)); }

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
    using Text = detail::ContractText;
    static Text owner(const std::string &var) { return Text(var); }

    [[nodiscard]] tailrace_var_info info_of(const std::string &var) const {
        const tailrace_definitions *definitions = nullptr;
        int number = 0;
        tailrace_var_info info{};
        check(tailrace_get_definitions(handle_, &definitions));
        check(tailrace_inquire_var_id(definitions, Text(var).c_str(), &number));
        check(tailrace_inquire_var_info(definitions, number, &info));
        return info;
    }
    static Shape shape_of(const tailrace_var_info &info) {
        return Shape(std::span<const std::uint64_t>(info.shape, static_cast<std::size_t>(info.ndims)));
    }

    // Makes the step fail on all ranks and throws. Otherwise only this rank would know that a put is missing.
    [[noreturn]] void refuse(const std::string &var, int status, const std::string &text) const {
        refuse_step(status, "'" + var + "': " + text);
        throw Error(status, tailrace_error_message());
    }

    // Closes the stream. If an exception left a step on this rank, ends that step as a failed one first: the other ranks then get
    // an error in end_step instead of waiting for this rank.
    void abandon() noexcept {
        int finalized = 0;
        MPI_Finalized(&finalized);
        if (handle_ == nullptr || finalized != 0) return;
        if (in_step_) {
            (void)tailrace_refuse_step(handle_, TAILRACE_ABANDONED, "its stream was destroyed in a step");
            (void)tailrace_end_step(handle_);
        }
        (void)tailrace_close(&handle_);
    }

    tailrace_stream *handle_ = nullptr;
    bool in_step_ = false;
};

// ---- phases -------------------------------------------------------------------------------------------------------------------

// Gives a name, in a recorded run (`tailrace run`), to what the program does between construction and destruction. Phases may be
// nested.
class Phase {
public:
    explicit Phase(const std::string &name) { tailrace_phase_begin(name.c_str()); }
    Phase(const Phase &) = delete;
    Phase &operator=(const Phase &) = delete;
    ~Phase() { tailrace_phase_end(); }
};

}  // namespace tailrace
#endif
