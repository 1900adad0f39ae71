// Wrong calls of a reader of the case of tests/test_fortran.py: facade_read_errors DIRECTORY NAME.
// Each rank prints a line for each call: the rank, the call and the error.
#include <tailrace/tailrace.hpp>

#include <cstdio>

namespace {

using tailrace::Reader;
using tailrace::Target;

int rank;

template <class Call>
void tell(const char *name, Call &&call) {
    std::string outcome = "OK";
    try {
        call();
    } catch (const tailrace::Error &error) {
        outcome = error.what();
    }
    std::printf("%d %s %s\n", rank, name, outcome.c_str());
}

void run(const std::string &directory, const std::string &name) {
    std::vector<float> row(10);
    Reader reader(MPI_COMM_WORLD, directory, name);
    tell("type", [&] { reader.get<double>("T", {}, {0, 0}, {0, 0}); });
    tell("ndims", [&] { reader.get<float>("T", row, {0}, {10}); });
    tell("scalar", [&] { (void)reader.get<float>("T"); });
    tell("size", [&] { reader.get<float>("T", row, {0, 0}, {2, 10}); });
    tell("beyond", [&] { reader.get<float>("T", row, {7, 0}, {1, 10}); });
    tell("name", [&] { (void)reader.shape("nowhere"); });
    std::vector<float> area(rank == 0 ? 10 : 70);
    tell("shared-size", [&] { reader.get_shared<float>("area", area); });  // wrong on rank 0 alone
    tell("step", [&] { reader.select(7); });
    tell("stream", [&] { const Reader other(MPI_COMM_WORLD, directory, "nothing"); });
    tell("right", [&] { reader.get<float>("T", row, {0, 0}, {1, 10}); });
    reader.close();
    tell("closed", [&] { (void)reader.steps(); });
    const Reader never_closed(MPI_COMM_WORLD, directory, name);
}

}  // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
    run(argv[1], argv[2]);
    MPI_Finalize();
    return 0;
}
