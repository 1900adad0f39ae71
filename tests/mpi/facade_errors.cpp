// A rank that leaves a step by an exception, a wrong block, a stream moved and never closed: facade_errors DIRECTORY OPTIONS CASE.
// Step 0 is right; in step 1 rank 0 does what CASE says. Each rank prints the status of the error that ended it.
#include <tailrace/tailrace.hpp>

#include <cstdio>
#include <optional>

namespace {

using tailrace::Block;
using tailrace::Stream;

int rank, ranks;

void wrong_step(Stream &stream, const tailrace::Variable<float> &T, const std::string &what) {
    const std::vector<float> row{0, 1, 2, 3};
    if (rank == 0) {
        if (what == "exception") throw std::runtime_error("the model failed");
        if (what == "ndims") stream.put(T, Block<float>(row, {0}, {4}));
        if (what == "size") stream.put(T, Block<float>(row, {0, 0}, {2, 4}));
    }
    stream.put(T, Block<float>(row, {rank, 0}, {1, 4}));
    stream.end_step();
}

void run(const std::string &directory, const std::string &options, const std::string &what) {
    std::optional<Stream> stream;
    {
        Stream opened(MPI_COMM_WORLD, directory, "history", options);
        stream = std::move(opened);
    }
    stream->define_dim("x", 4);
    stream->define_dim("y", static_cast<std::uint64_t>(ranks));
    const auto T = stream->define_var<float>("T", {"y", "x"});
    stream->begin_step(0.0);
    const std::vector<float> row(4, static_cast<float>(rank));
    stream->put(T, Block<float>(row, {static_cast<std::uint64_t>(rank), 0}, {1, 4L}));  // numbers of several types
    stream->end_step();
    if (what != "unclosed") {
        stream->begin_step(1.0);
        wrong_step(*stream, T, what);
        stream->close();
    }
}

}  // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
    std::string outcome = "OK";
    try {
        run(argv[1], argv[2], argv[3]);
    } catch (const tailrace::Error &error) {
        outcome = error.what();
    } catch (const std::exception &error) {
        outcome = std::string("other: ") + error.what();
    }
    std::printf("rank %d: %s\n", rank, outcome.c_str());
    MPI_Finalize();
    return 0;
}
