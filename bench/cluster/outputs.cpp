#include "outputs.hpp"

#include "harness/arrays.hpp"
#include "harness/job.hpp"
#include "harness/values.hpp"

#include <iostream>
#include <nlohmann/json.hpp>
#include <tailrace/tailrace.hpp>

namespace bench {
namespace {

struct Shape {
    int rank = 0, ranks = 0, arrays;
    uint64_t elements;  // of an array on a rank

    explicit Shape(const Options &options)
        : arrays(options.number("arrays")), elements(static_cast<uint64_t>(options.number("kib")) * 1024 / sizeof(double)) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    }
    uint64_t first_of(int of_rank) const { return static_cast<uint64_t>(of_rank) * elements; }
    double step_bytes() const { return static_cast<double>(elements) * sizeof(double) * arrays * ranks; }
};

// Writes steps and returns their number, which is less than `steps` if the time is over; rank 0 decides this for all ranks.
int write(tailrace::Stream &stream, const Shape &shape, int steps, double limit_s) {
    std::vector<tailrace::Variable<double>> variables;
    for (int v = 0; v < shape.arrays; ++v) variables.push_back(stream.define_var<double>(variable_name(v), {"x"}));
    // The library reads put arrays until the step ends, so each array has its own memory.
    std::vector<std::vector<double>> values(static_cast<size_t>(shape.arrays), std::vector<double>(shape.elements));
    const double started = MPI_Wtime();
    const int look_each = steps > 100 ? 16 : 1;  // for large steps the broadcast costs little
    for (int step = 0; step < steps; ++step) {
        if (step > 0 && step % look_each == 0) {
            int late = MPI_Wtime() - started > limit_s;
            MPI_Bcast(&late, 1, MPI_INT, 0, MPI_COMM_WORLD);
            if (late != 0) return step;
        }
        stream.begin_step(step);
        for (int v = 0; v < shape.arrays; ++v) {
            std::vector<double> &of = values[static_cast<size_t>(v)];
            fill_values(of.data(), sizeof(double), v, step, shape.first_of(shape.rank), shape.elements);
            stream.put(variables[static_cast<size_t>(v)],
                       tailrace::Block<double>(of, {shape.first_of(shape.rank)}, {shape.elements}));
        }
        stream.end_step();
    }
    return steps;
}

// In each step one rank of the first half reads data of the second half, and one of the second half reads data of the first: always
// of other nodes. The ranks take turns. Each has a reader of its own, which does not wait for others.
void check(const std::string &directory, const Shape &shape, int steps) {
    const int half = shape.ranks / 2;
    const bool is_first = shape.rank < half;
    const int readers = is_first ? half : shape.ranks - half, turn = is_first ? shape.rank : shape.rank - half;
    const int from = is_first ? half : 0, to = is_first || half == 0 ? shape.ranks : half;
    const uint64_t elements = shape.first_of(to) - shape.first_of(from);
    tailrace::Reader reader(MPI_COMM_SELF, directory, stream_name);
    if (reader.steps().size() != static_cast<size_t>(steps)) fail(directory + ": not all steps are there");
    std::vector<double> found(elements);
    for (int step = turn; step < steps; step += readers) {
        reader.select(step);
        for (int v = 0; v < shape.arrays; ++v) {
            reader.get<double>(variable_name(v), found, {shape.first_of(from)}, {elements});
            uint64_t index = 0;
            if (count_mismatches(found.data(), sizeof(double), v, step, shape.first_of(from), elements, &index) != 0)
                fail(directory + ": " + variable_name(v) + ", step " + std::to_string(step) + ": wrong from element " +
                     std::to_string(index));
        }
    }
    reader.close();
}

}  // namespace

void measure_outputs(const Options &options) {
    const Shape shape(options);
    const std::string directory = options.text("directory");
    int steps = 0;
    Clock clock(MPI_COMM_WORLD);
    clock.time([&] {
        tailrace::Stream stream(MPI_COMM_WORLD, directory, stream_name, options.text("options"));
        stream.define_dim("x", shape.first_of(shape.ranks));
        steps = write(stream, shape, options.number("steps"), options.number("seconds"));
        stream.close();
    });
    clock.time([&] { check(directory, shape, steps); });
    const std::vector<double> seconds = clock.seconds();
    if (shape.rank != 0) return;
    const double bytes = shape.step_bytes() * steps;
    std::cout << nlohmann::ordered_json{{"options", options.text("options")},
                                        {"steps", steps},
                                        {"outputs", steps * shape.ranks},
                                        {"bytes", bytes},
                                        {"seconds", seconds[0]},
                                        {"read_seconds", seconds[1]},
                                        {"mib_per_s", bytes / (1 << 20) / seconds[0]},
                                        {"outputs_per_s", steps * shape.ranks / seconds[0]},
                                        {"checked_bytes", bytes}}
              << std::endl;
}

}  // namespace bench
