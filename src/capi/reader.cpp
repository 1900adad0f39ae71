// C functions that read a stream.
#include "capi/communicator.hpp"
#include "capi/handles.hpp"
#include "gather/agree.hpp"

using tailrace::fail;
using tailrace::guard_collective;
using tailrace::guard_local;
using tailrace::reader_of;
using tailrace::required;
using tailrace::Status;

namespace {

bool others_wait(const tailrace_reader* reader) { return reader != nullptr && reader->reader.has_others(); }

void get_targets(tailrace_reader* reader, const char* var, int ntargets, const tailrace_target* targets) {
    const tailrace::Definitions& definitions = reader_of(reader).definitions();
    const size_t dims = definitions.variables()[definitions.index_of(required(var, "var"))].shape.size();
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

// A rank whose arguments are wrong still takes part in the collective call, so that all ranks return an error and none waits.
void get_list(tailrace_reader* reader, const char* var, const char* dim, uint64_t count, const uint64_t* indices, void* data,
              const int64_t* stride) {
    const tailrace::Definitions& definitions = reader_of(reader).definitions();
    const std::string name = var != nullptr ? var : "", dimension = dim != nullptr ? dim : "";
    if (count > 0 && indices == nullptr) data = nullptr;
    std::vector<int64_t> strides;
    tailrace::attempt([&] {
        if (stride != nullptr) strides.assign(stride, stride + definitions.variables()[definitions.index_of(name)].shape.size());
    });
    reader->scattered.get(name, dimension, {indices, count}, data, strides);
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
        *reader = new tailrace_reader{.reader = {comm, directory, name}, .definitions = {}, .caller = {}, .description = {}};
        (*reader)->caller = tailrace::caller_of(comm);
        (*reader)->definitions = {.definitions = &(*reader)->reader.definitions(), .of_reader = true, .caller = (*reader)->caller};
    });
}

int tailrace_open_read_fortran(MPI_Fint comm, const char* directory, const char* name, tailrace_reader** reader) {
    return tailrace_open_read(MPI_Comm_f2c(comm), directory, name, reader);
}

int tailrace_get_steps(tailrace_reader* reader, uint64_t* count, const uint64_t** steps, const double** times) {
    return guard_local(reader, [&] {
        const tailrace::Reader& source = reader_of(reader);
        if (count != nullptr) *count = source.steps().size();
        if (steps != nullptr) *steps = source.steps().data();
        if (times != nullptr) *times = source.times().data();
    });
}

int tailrace_use_fortran_order_read(tailrace_reader* reader) {
    return guard_local(reader, [&] {
        reader_of(reader);
        reader->caller.notation = tailrace::Notation::fortran;
    });
}

int tailrace_refuse_read(tailrace_reader* reader, int status, const char* text) {
    return guard_local(reader, [&] { tailrace::fail_with(status, text); });
}

int tailrace_select_step(tailrace_reader* reader, int64_t step) {
    return guard_collective(others_wait(reader), [&] { reader_of(reader).select(step); });
}

int tailrace_verify_reads(tailrace_reader* reader, int on) {
    return guard_local(reader, [&] { reader_of(reader).verify_reads(on != 0); });
}

int tailrace_get(tailrace_reader* reader, const char* var, int ntargets, const tailrace_target* targets) {
    return guard_local(reader, [&] { get_targets(reader, var, ntargets, targets); });
}

int tailrace_get_indices(tailrace_reader* reader, const char* var, const char* dim, uint64_t count, const uint64_t* indices,
                         void* data, const int64_t* stride) {
    return guard_collective(others_wait(reader), [&] { get_list(reader, var, dim, count, indices, data, stride); });
}

int tailrace_get_shared(tailrace_reader* reader, const char* var, void* data) {
    return guard_collective(others_wait(reader), [&] { reader_of(reader).get_shared(var != nullptr ? var : "", data); });
}

int tailrace_close_read(tailrace_reader** reader) {
    std::unique_ptr<tailrace_reader> owned;  // declared here, because its destructor may communicate
    return guard_collective(reader != nullptr && others_wait(*reader), [&] {
        owned.reset(std::exchange(*required(reader, "reader"), nullptr));
        if (owned) owned->scattered.release();
        if (owned) owned->reader.close();
    });
}

}  // extern "C"
