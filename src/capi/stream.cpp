#include "stream/stream.hpp"

#include <tailrace/tailrace.h>

#include <memory>

#include "capi/communicator.hpp"
#include "capi/end_of_process.hpp"
#include "capi/handles.hpp"
#include "forward/forwarded_stream.hpp"
#include "gather/agree.hpp"
#include "gather/communicator_pool.hpp"
#include "stream/environment.hpp"

using tailrace::Error;
using tailrace::fail;
using tailrace::guard_collective;
using tailrace::guard_local;
using tailrace::optional_text;
using tailrace::output_of;
using tailrace::required;
using tailrace::Status;

namespace {

// Called on a rank that passes NULL in place of a handle, so that the other ranks do not wait for it. If this rank has one stream
// and no other handle, the others can only be waiting in that stream.
void end_step_of_lost_handle() {
    tailrace_stream* const only = tailrace_stream::only();
    if (only == nullptr || only->open_error) return;
    only->output->refuse_next(Error(Status::BAD_ARGUMENT, "argument 'stream' of tailrace_end_step is NULL"));
    tailrace::run_or_end_job(only->output->has_others(), [&] { only->output->end_step(); });
}

bool others_wait(const tailrace_stream* stream) {
    return stream != nullptr && stream->output != nullptr && stream->output->has_others();
}

// Collective. Opens a stream that these ranks write, or the ranks that are set aside.
std::unique_ptr<tailrace::Output> open_output(MPI_Comm comm, const std::string& directory, const std::string& name,
                                              const std::string& options) {
    const auto forwarding = tailrace::Forwarding::of(comm);
    tailrace::note_opening(comm, name, forwarding ? forwarding->writers() : 0);
    if (!forwarding) return std::make_unique<tailrace::Stream>(comm, directory, name, options);
    const auto ranks = tailrace::take_communicator(comm);
    const tailrace::Json settings = tailrace::agree_settings(*ranks, directory, name, options);
    give_back(ranks);
    if (resolve(tailrace::settings_of(settings)).layout.writers.kind != tailrace::Writers::Kind::dedicated)
        return std::make_unique<tailrace::Stream>(comm, directory, name, settings);
    return std::make_unique<tailrace::ForwardedStream>(forwarding, comm, directory, name, settings);
}

// A handle that keeps the error of a failed opening; nullptr if there is no memory for it.
tailrace_stream* handle_of_failure(const Error& error) noexcept {
    try {
        return new tailrace_stream(Error(error.status(), tailrace::text("the stream was not opened: ", error.what())));
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void check_type(int type) {
    if (!tailrace::is_type(type)) fail(Status::BAD_ARGUMENT, type, " is no tailrace_type");
}

void put_blocks(tailrace_stream* stream, const char* var, int nblocks, const tailrace_block* blocks) {
    const std::string name = required(var, "var");
    if (nblocks < 0) fail(Status::BAD_ARGUMENT, "variable '", name, "': the number of blocks is ", nblocks);
    if (nblocks > 0) required(blocks, "blocks");
    tailrace::Output& target = output_of(stream);
    const size_t dims = target.shape_of(name).size();
    for (int b = 0; b < nblocks; ++b) {
        const uint64_t* offset = required(blocks[b].offset, "offset");
        const uint64_t* count = required(blocks[b].count, "count");
        std::vector<int64_t> stride;
        if (blocks[b].stride != nullptr) stride.assign(blocks[b].stride, blocks[b].stride + dims);
        target.put_block(name, {{offset, offset + dims}, {count, count + dims}}, blocks[b].data, stride);
    }
}

void put_list(tailrace_stream* stream, const char* var, const char* dim, uint64_t count, const uint64_t* indices, const void* data,
              const int64_t* stride) {
    const std::string name = required(var, "var"), dimension = required(dim, "dim");
    if (count > 0) required(indices, "indices");
    tailrace::Output& target = output_of(stream);
    const size_t dims = target.shape_of(name).size();
    std::vector<int64_t> strides;
    if (stride != nullptr) strides.assign(stride, stride + dims);
    target.put_indices(name, dimension, {indices, count}, data, strides);
}

// A put that fails on one rank makes the step fail on all of them.
template <class Put>
int guard_put(tailrace_stream* stream, Put&& put) {
    return guard_local(stream, [&] {
        const auto error = tailrace::attempt(put);
        if (!error) return;
        if (stream != nullptr && stream->output != nullptr) stream->output->refuse_step(*error);
        throw *error;
    });
}

}  // namespace

extern "C" {

int tailrace_open(MPI_Comm comm, const char* directory, const char* name, const char* options, tailrace_stream** stream) {
    if (stream != nullptr) *stream = nullptr;
    return guard_collective(tailrace::has_others(comm), [&] {
        try {
            tailrace::require_mpi(comm, "tailrace_open");
            tailrace::check_arguments<tailrace::OpenVote>(comm, [&] {
                required(stream, "stream");
                required(directory, "directory");
                required(name, "name");
                optional_text(options, "options");
                if (const auto forwarding = tailrace::Forwarding::of(comm)) forwarding->check_usable();
            });
            *stream = new tailrace_stream(open_output(comm, directory, name, options != nullptr ? options : ""), comm);
        } catch (const Error& error) {
            if (stream != nullptr) *stream = handle_of_failure(error);
            throw;
        }
    });
}

int tailrace_open_fortran(MPI_Fint comm, const char* directory, const char* name, const char* options, tailrace_stream** stream) {
    return tailrace_open(MPI_Comm_f2c(comm), directory, name, options, stream);
}

int tailrace_define_dim(tailrace_stream* stream, const char* name, uint64_t length) {
    return guard_local(stream, [&] { output_of(stream).define_dimension(required(name, "name"), length); });
}

int tailrace_define_var(tailrace_stream* stream, const char* name, tailrace_type type, int ndims, const char* const* dims,
                        int flags) {
    return guard_local(stream, [&] {
        if (ndims > 0) required(dims, "dims");
        for (int d = 0; d < ndims; ++d) required(dims[d], "dims");
        output_of(stream).definitions().define_variable(required(name, "name"), static_cast<int>(type), ndims, dims, flags);
    });
}

int tailrace_put_attr(tailrace_stream* stream, const char* var, const char* name, tailrace_type type, uint64_t count,
                      const void* values) {
    return guard_local(stream, [&] {
        check_type(static_cast<int>(type));
        if (count > 0) required(values, "values");
        output_of(stream).put_attribute(
            optional_text(var, "var"),
            tailrace::number_attribute(required(name, "name"), static_cast<tailrace::Type>(type), count, values));
    });
}

int tailrace_put_attr_texts(tailrace_stream* stream, const char* var, const char* name, uint64_t count, const char* const* texts) {
    return guard_local(stream, [&] {
        if (count == 0)
            fail(Status::BAD_ARGUMENT, "attribute '", required(name, "name"), "' is a list of no texts; give one or more");
        required(texts, "texts");
        std::vector<std::string> list;
        for (uint64_t k = 0; k < count; ++k) list.emplace_back(required(texts[k], "texts"));
        output_of(stream).put_attribute(optional_text(var, "var"), tailrace::texts_attribute(required(name, "name"), list));
    });
}

int tailrace_put_attr_text(tailrace_stream* stream, const char* var, const char* name, const char* text) {
    return guard_local(stream, [&] {
        output_of(stream).put_attribute(optional_text(var, "var"),
                                        tailrace::text_attribute(required(name, "name"), required(text, "text")));
    });
}

int tailrace_begin_step(tailrace_stream* stream, double time) {
    return guard_local(stream, [&] { output_of(stream).begin_step(time); });
}

int tailrace_put(tailrace_stream* stream, const char* var, int nblocks, const tailrace_block* blocks) {
    return guard_put(stream, [&] { put_blocks(stream, var, nblocks, blocks); });
}

int tailrace_put_indices(tailrace_stream* stream, const char* var, const char* dim, uint64_t count, const uint64_t* indices,
                         const void* data, const int64_t* stride) {
    return guard_put(stream, [&] { put_list(stream, var, dim, count, indices, data, stride); });
}

int tailrace_put_replicated(tailrace_stream* stream, const char* var, const void* data) {
    return guard_put(stream, [&] { output_of(stream).put_replicated(required(var, "var"), data); });
}

int tailrace_refuse_step(tailrace_stream* stream, int status, const char* text) {
    return guard_put(stream, [&] { tailrace::fail_with(status, text); });
}

int tailrace_end_step(tailrace_stream* stream) {
    return guard_collective(others_wait(stream), [&] {
        if (stream == nullptr) end_step_of_lost_handle();
        output_of(stream).end_step();
    });
}

int tailrace_flush(tailrace_stream* stream) {
    return guard_collective(others_wait(stream), [&] { output_of(stream).flush(); });
}

int tailrace_close(tailrace_stream** stream) {
    std::unique_ptr<tailrace_stream> owned;  // its end may communicate: not before the job ends
    return guard_collective(stream != nullptr && others_wait(*stream), [&] {
        owned.reset(std::exchange(*required(stream, "stream"), nullptr));
        if (owned && owned->output) owned->output->close();
    });
}

int tailrace_use_fortran_order(tailrace_stream* stream) {
    return guard_local(stream, [&] {
        output_of(stream);
        stream->caller.notation = tailrace::Notation::fortran;
    });
}

int tailrace_step_count(const tailrace_stream* stream, uint64_t* steps) {
    return guard_local(stream, [&] { *required(steps, "steps") = output_of(stream).step_count(); });
}

int tailrace_report(tailrace_stream* stream, const char** json) {
    return guard_local(stream, [&] {
        required(json, "json");
        stream->report = output_of(stream).report();
        *json = stream->report.c_str();
    });
}

}  // extern "C"
