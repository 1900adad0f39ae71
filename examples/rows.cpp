// Each rank writes its rows of a global array, in three steps: mpirun -n 4 rows_cpp
#include <tailrace/tailrace.hpp>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    {
        tailrace::Stream stream(MPI_COMM_WORLD, "out", "rows_cpp", "layout = 'fpp'\nmode = 'replace'");
        stream.define_dim("y", static_cast<std::uint64_t>(ranks));
        stream.define_dim("x", 4);
        const auto T = stream.define_var<float>("T", {"y", "x"});
        stream.put_attr("T", "units", "K");
        for (int step = 0; step < 3; ++step) {
            std::vector<float> row;
            for (int x = 0; x < 4; ++x) row.push_back(static_cast<float>(100 * step + 4 * rank + x));
            stream.begin_step(step);
            stream.put(T, tailrace::Block<float>(row, {rank, 0}, {1, 4}));
            stream.end_step();
        }
        stream.close();
    }
    MPI_Finalize();
}
