// Reading a stream back.
#include "view/reader.hpp"

#include <tailrace/tailrace.h>

#include "capi/communicator.hpp"
#include "capi/guard.hpp"

using tailrace::fail;
using tailrace::guard;
using tailrace::guard_collective;
using tailrace::required;
using tailrace::Status;

struct tailrace_reader {
    tailrace::Reader reader;
    std::string description;
};

namespace {

tailrace::Reader& of(tailrace_reader* reader) { return required(reader, "reader")->reader; }

bool others_wait(const tailrace_reader* reader) { return reader != nullptr && reader->reader.has_others(); }

const tailrace::Variable& variable_of(tailrace_reader* reader, const char* var) {
    const tailrace::Definitions& definitions = of(reader).definitions();
    return definitions.variables()[definitions.index_of(required(var, "var"))];
}

void get_targets(tailrace_reader* reader, const char* var, int ntargets, const tailrace_target* targets) {
    const size_t dims = variable_of(reader, var).shape.size();
    if (ntargets < 0) fail(Status::BAD_ARGUMENT, "variable '", var, "': the number of targets is ", ntargets);
    if (ntargets > 0) required(targets, "targets");
    for (int t = 0; t < ntargets; ++t) {
        const tailrace_target& target = targets[t];
        tailrace::Box box;
        if (dims > 0) {
            box.offset = tailrace::Shape(required(target.offset, "offset"), target.offset + dims);
            box.count = tailrace::Shape(required(target.count, "count"), target.count + dims);
        }
        std::vector<int64_t> stride;
        if (target.stride != nullptr) stride.assign(target.stride, target.stride + dims);
        reader->reader.get(var, box, target.data, stride);
    }
}

}  // namespace

extern "C" {

int tailrace_open_read(MPI_Comm comm, const char* directory, const char* name, tailrace_reader** reader) {
    if (reader != nullptr) *reader = nullptr;
    return guard_collective(tailrace::has_others(comm), [&] {
        tailrace::require_mpi(comm, "tailrace_open_read");
        tailrace::check_arguments<tailrace::OpenReadVote>(comm, [&] {
            required(reader, "reader");
            required(directory, "directory");
            required(name, "name");
        });
        *reader = new tailrace_reader{{comm, directory, name}, {}};
    });
}

int tailrace_open_read_fortran(MPI_Fint comm, const char* directory, const char* name, tailrace_reader** reader) {
    return tailrace_open_read(MPI_Comm_f2c(comm), directory, name, reader);
}

int tailrace_get_steps(tailrace_reader* reader, uint64_t* count, const uint64_t** steps, const double** times) {
    return guard([&] {
        const tailrace::Reader& source = of(reader);
        if (count != nullptr) *count = source.steps().size();
        if (steps != nullptr) *steps = source.steps().data();
        if (times != nullptr) *times = source.times().data();
    });
}

int tailrace_select_step(tailrace_reader* reader, int64_t step) {
    return guard_collective(others_wait(reader), [&] { of(reader).select(step); });
}

int tailrace_inquire_var(tailrace_reader* reader, const char* var, tailrace_type* type, int* ndims, uint64_t* shape, int* flags) {
    return guard([&] {
        const tailrace::Variable& variable = variable_of(reader, var);
        if (type != nullptr) *type = static_cast<tailrace_type>(variable.type);
        if (ndims != nullptr) *ndims = static_cast<int>(variable.shape.size());
        if (shape != nullptr) std::copy(variable.shape.begin(), variable.shape.end(), shape);
        if (flags != nullptr) *flags = (variable.is_static ? TAILRACE_STATIC : 0) | (variable.replicated ? TAILRACE_REPLICATED : 0);
    });
}

int tailrace_inquire(tailrace_reader* reader, const char** json) {
    return guard([&] {
        required(json, "json");
        reader->description = of(reader).describe();
        *json = reader->description.c_str();
    });
}

int tailrace_get(tailrace_reader* reader, const char* var, int ntargets, const tailrace_target* targets) {
    return guard([&] { get_targets(reader, var, ntargets, targets); });
}

int tailrace_get_shared(tailrace_reader* reader, const char* var, void* data) {
    return guard_collective(others_wait(reader), [&] { of(reader).get_shared(var != nullptr ? var : "", data); });
}

int tailrace_close_read(tailrace_reader** reader) {
    std::unique_ptr<tailrace_reader> owned;  // its end may communicate: not before the job ends
    return guard_collective(reader != nullptr && others_wait(*reader), [&] {
        owned.reset(std::exchange(*required(reader, "reader"), nullptr));
        if (owned) owned->reader.close();
    });
}

}  // extern "C"
