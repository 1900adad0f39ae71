#include "stream/stream.hpp"

#include <tailrace/tailrace.h>

#include <memory>
#include <mutex>
#include <set>

#include "capi/communicator.hpp"
#include "capi/guard.hpp"
#include "forward/forwarded_stream.hpp"
#include "gather/agree.hpp"
#include "gather/communicator_pool.hpp"
#include "stream/environment.hpp"

using tailrace::Error;
using tailrace::fail;
using tailrace::guard;
using tailrace::guard_collective;
using tailrace::required;
using tailrace::Status;

struct tailrace_stream {
    std::unique_ptr<tailrace::Output> output;
    std::string report;
};

namespace {

// Different streams may be opened and closed by different threads.
class OpenStreams {
public:
    void add(tailrace_stream* stream) {
        const std::lock_guard lock(mutex_);
        all_.insert(stream);
    }
    void remove(tailrace_stream* stream) {
        const std::lock_guard lock(mutex_);
        all_.erase(stream);
    }
    void note_failure() {
        const std::lock_guard lock(mutex_);
        ++failed_;
    }
    // nullptr where there are none, or several, or one could not be opened: its program may go on without it, with NULL.
    tailrace_stream* only() {
        const std::lock_guard lock(mutex_);
        return all_.size() == 1 && failed_ == 0 ? *all_.begin() : nullptr;
    }

private:
    std::mutex mutex_;
    uint64_t failed_ = 0;
    std::set<tailrace_stream*> all_;
};

OpenStreams& open_streams() {
    static OpenStreams all;
    return all;
}

// A rank that has lost its handle must not let the others wait for it: where it has one stream open, that is the one they are in.
void end_step_of_null() {
    tailrace_stream* const only = open_streams().only();
    if (only == nullptr) return;
    only->output->refuse_next(Error(Status::BAD_ARGUMENT, "argument 'stream' of tailrace_end_step is NULL"));
    tailrace::run_or_end_job(only->output->has_others(), [&] { only->output->end_step(); });
}

tailrace::Output& of(tailrace_stream* stream) { return *required(stream, "stream")->output; }

bool others_wait(const tailrace_stream* stream) { return stream != nullptr && stream->output->has_others(); }

// Collective. Written by these ranks, or by those that are set aside.
std::unique_ptr<tailrace::Output> open_output(MPI_Comm comm, const std::string& directory, const std::string& name,
                                              const std::string& options) {
    const auto forwarding = tailrace::Forwarding::of(comm);
    if (!forwarding) return std::make_unique<tailrace::Stream>(comm, directory, name, options);
    const auto ranks = tailrace::take_communicator(comm);
    const tailrace::Json settings = tailrace::agree_settings(*ranks, directory, name, options);
    give_back(ranks);
    if (resolve(tailrace::settings_of(settings)).layout.writers.kind != tailrace::Writers::Kind::dedicated)
        return std::make_unique<tailrace::Stream>(comm, directory, name, settings);
    return std::make_unique<tailrace::ForwardedStream>(forwarding, comm, directory, name, settings);
}

void check_type(int type) {
    if (!tailrace::is_type(type)) fail(Status::BAD_ARGUMENT, type, " is no tailrace_type");
}

void put_blocks(tailrace_stream* stream, const char* var, int nblocks, const tailrace_block* blocks) {
    const std::string name = required(var, "var");
    if (nblocks < 0) fail(Status::BAD_ARGUMENT, "variable '", name, "': the number of blocks is ", nblocks);
    if (nblocks > 0) required(blocks, "blocks");
    tailrace::Output& target = of(stream);
    const size_t dims = target.shape_of(name).size();
    for (int b = 0; b < nblocks; ++b) {
        const uint64_t* offset = required(blocks[b].offset, "offset");
        const uint64_t* count = required(blocks[b].count, "count");
        std::vector<int64_t> stride;
        if (blocks[b].stride != nullptr) stride.assign(blocks[b].stride, blocks[b].stride + dims);
        target.put_block(name, {{offset, offset + dims}, {count, count + dims}}, blocks[b].data, stride);
    }
}

// A put that fails on one rank makes the step fail on all of them.
template <class Put>
int guard_put(tailrace_stream* stream, Put&& put) {
    return guard([&] {
        const auto error = tailrace::attempt(put);
        if (!error) return;
        if (stream != nullptr) stream->output->refuse_step(*error);
        throw *error;
    });
}

}  // namespace

extern "C" {

int tailrace_open(MPI_Comm comm, const char* directory, const char* name, const char* options, tailrace_stream** stream) {
    if (stream != nullptr) *stream = nullptr;
    const int status = guard_collective(tailrace::has_others(comm), [&] {
        tailrace::require_mpi(comm, "tailrace_open");
        tailrace::check_arguments<tailrace::OpenVote>(comm, [&] {
            required(stream, "stream");
            required(directory, "directory");
            required(name, "name");
            if (const auto forwarding = tailrace::Forwarding::of(comm)) forwarding->check_usable();
        });
        *stream = new tailrace_stream{open_output(comm, directory, name, options != nullptr ? options : ""), {}};
        open_streams().add(*stream);
    });
    if (status != TAILRACE_OK) open_streams().note_failure();
    return status;
}

int tailrace_set_aside(MPI_Comm all, int dedicated, MPI_Comm* compute) {
    return guard_collective(tailrace::has_others(all), [&] {
        *required(compute, "compute") = MPI_COMM_NULL;
        tailrace::require_mpi(all, "tailrace_set_aside");
        tailrace::Forwarding::set_aside(all, dedicated < 0 ? 0 : static_cast<uint64_t>(dedicated), *compute);
    });
}

int tailrace_release(MPI_Comm* compute) {
    return guard([&] {
        if (*required(compute, "compute") == MPI_COMM_NULL) return;
        const auto forwarding = tailrace::Forwarding::of(*compute);
        if (!forwarding) fail(Status::BAD_ARGUMENT, "the communicator of tailrace_release is none that tailrace_set_aside gave");
        forwarding->release();
        tailrace::check_mpi(MPI_Comm_free(compute), "MPI_Comm_free");
        if (forwarding->open_streams > 0)
            fail(Status::BAD_ORDER, forwarding->open_streams,
                 " streams that other ranks write were open; what they have committed ",
                 "stays; close streams before tailrace_release");
    });
}

int tailrace_set_aside_fortran(MPI_Fint all, int dedicated, MPI_Fint* compute) {
    MPI_Comm made = MPI_COMM_NULL;
    const int status = tailrace_set_aside(MPI_Comm_f2c(all), dedicated, &made);
    if (compute != nullptr) *compute = MPI_Comm_c2f(made);
    return status;
}

int tailrace_release_fortran(MPI_Fint* compute) {
    if (compute == nullptr) return tailrace_release(nullptr);
    MPI_Comm comm = MPI_Comm_f2c(*compute);
    const int status = tailrace_release(&comm);
    *compute = MPI_Comm_c2f(comm);
    return status;
}

int tailrace_open_fortran(MPI_Fint comm, const char* directory, const char* name, const char* options, tailrace_stream** stream) {
    return tailrace_open(MPI_Comm_f2c(comm), directory, name, options, stream);
}

int tailrace_define_dim(tailrace_stream* stream, const char* name, uint64_t length) {
    return guard([&] { of(stream).define_dimension(required(name, "name"), length); });
}

int tailrace_define_var(tailrace_stream* stream, const char* name, tailrace_type type, int ndims, const char* const* dims,
                        int flags) {
    return guard([&] {
        if (ndims > 0) required(dims, "dims");
        of(stream).definitions().define_variable(required(name, "name"), static_cast<int>(type), ndims, dims, flags);
    });
}

int tailrace_put_attr(tailrace_stream* stream, const char* var, const char* name, tailrace_type type, uint64_t count,
                      const void* values) {
    return guard([&] {
        check_type(static_cast<int>(type));
        if (count > 0) required(values, "values");
        of(stream).put_attribute(
            var != nullptr ? var : "",
            tailrace::number_attribute(required(name, "name"), static_cast<tailrace::Type>(type), count, values));
    });
}

int tailrace_put_attr_text(tailrace_stream* stream, const char* var, const char* name, const char* text) {
    return guard([&] {
        of(stream).put_attribute(var != nullptr ? var : "",
                                 tailrace::text_attribute(required(name, "name"), required(text, "text")));
    });
}

int tailrace_begin_step(tailrace_stream* stream, double time) {
    return guard([&] { of(stream).begin_step(time); });
}

int tailrace_put(tailrace_stream* stream, const char* var, int nblocks, const tailrace_block* blocks) {
    return guard_put(stream, [&] { put_blocks(stream, var, nblocks, blocks); });
}

int tailrace_put_replicated(tailrace_stream* stream, const char* var, const void* data) {
    return guard_put(stream, [&] { of(stream).put_replicated(required(var, "var"), data); });
}

int tailrace_refuse_step(tailrace_stream* stream, int status, const char* text) {
    return guard_put(stream, [&] {
        if (status == TAILRACE_OK || tailrace::status_name(status) == nullptr)
            fail(Status::BAD_ARGUMENT, "a step cannot be refused with the status ", status, ": no failure has that number");
        fail(static_cast<Status>(status), required(text, "text"));
    });
}

int tailrace_end_step(tailrace_stream* stream) {
    return guard_collective(others_wait(stream), [&] {
        if (stream == nullptr) end_step_of_null();
        of(stream).end_step();
    });
}

int tailrace_flush(tailrace_stream* stream) {
    return guard_collective(others_wait(stream), [&] { of(stream).flush(); });
}

int tailrace_close(tailrace_stream** stream) {
    std::unique_ptr<tailrace_stream> owned;  // its end may communicate: not before the job ends
    return guard_collective(stream != nullptr && others_wait(*stream), [&] {
        owned.reset(std::exchange(*required(stream, "stream"), nullptr));
        open_streams().remove(owned.get());
        if (owned) owned->output->close();
    });
}

int tailrace_step_count(const tailrace_stream* stream, uint64_t* steps) {
    return guard([&] { *required(steps, "steps") = required(stream, "stream")->output->step_count(); });
}

int tailrace_report(tailrace_stream* stream, const char** json) {
    return guard([&] {
        required(json, "json");
        stream->report = of(stream).report();
        *json = stream->report.c_str();
    });
}

}  // extern "C"
