// The case of tests/test_fortran.py in C++: facade_case DIRECTORY NAME OPTIONS STEPS.
#include <tailrace/tailrace.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "facade_case_values.hpp"

namespace {

using namespace facade_case;
using tailrace::Block;
using tailrace::Stream;
using tailrace::Variable;

struct Variables {
    Variable<double> lat, lon;
    Variable<float> area;
    Variable<std::int8_t> mask;
    Variable<float> T;
    Variable<double> W;
    Variable<std::int32_t> soil;
    Variable<std::int16_t> number;
    Variable<std::int64_t> id;
    Variable<double> dt;
};

Variables define(Stream &stream) {
    stream.define_dim("lon", lon);
    stream.define_dim("lat", lat);
    stream.define_dim("level", level);
    stream.define_dim("cell", cell);
    constexpr int coordinate = TAILRACE_STATIC | TAILRACE_REPLICATED;
    Variables v{
        .lat = stream.define_var<double>("lat", {"lat"}, coordinate),
        .lon = stream.define_var<double>("lon", {"lon"}, coordinate),
        .area = stream.define_var<float>("area", {"lat", "lon"}, coordinate),
        .mask = stream.define_var<std::int8_t>("mask", {"lat", "lon"}, TAILRACE_STATIC),
        .T = stream.define_var<float>("T", {"lat", "lon"}),
        .W = stream.define_var<double>("W", {"level", "lat", "lon"}),
        .soil = stream.define_var<std::int32_t>("soil", {"cell"}),
        .number = stream.define_var<std::int16_t>("number", {"lat"}),
        .id = stream.define_var<std::int64_t>("id", {"cell"}),
        .dt = stream.define_var<double>("dt"),
    };
    stream.put_attr("", "title", "case table");
    stream.put_attr("", "version", std::int32_t{3});
    stream.put_attr("time", "units", "seconds since 2000-01-01");
    stream.put_attr("lat", "units", "degrees_north");
    stream.put_attr("lon", "units", "degrees_east");
    stream.put_attr("T", "units", "K");
    stream.put_attr("T", "valid_range", std::vector<float>{-1.5F, 1e6F});
    return v;
}

// What the blocks of a step refer to; it lives until end_step.
struct Values {
    std::vector<float> T;
    std::vector<double> W;
    std::vector<std::int8_t> mask;
    std::vector<std::int32_t> soil;
    std::vector<std::int16_t> number;
    std::vector<std::int64_t> id;
};

void put_static(Stream &stream, const Variables &v, Values &values) {
    std::vector<double> latitudes, longitudes;
    std::vector<float> area;
    for (int j = 0; j < lat; ++j) latitudes.push_back(-75.0 + 25.0 * j);
    for (int i = 0; i < lon; ++i) longitudes.push_back(36.0 * i);
    for (int k = 0; k < lat * lon; ++k) {
        area.push_back(static_cast<float>(formula(7, 0, k)));
        values.mask.push_back(static_cast<std::int8_t>(formula(4, 0, k) % 100));
    }
    stream.put_replicated(v.lat, latitudes);
    stream.put_replicated(v.lon, longitudes);
    stream.put_replicated(v.area, area);
    const auto first = begin_of(lon, rank), columns = begin_of(lon, rank + 1) - first;
    stream.put(v.mask, Block<std::int8_t>::part_of(values.mask, {lat, lon}, {0L, first}, {0L, first}, {lat, columns}));
}

void put_halo(Stream &stream, const Variables &v, Values &values, std::int64_t step, std::int64_t first, std::int64_t rows) {
    for (std::int64_t l = 0; l < level; ++l)
        for (std::int64_t j = -halo; j < rows + halo; ++j)
            for (std::int64_t i = -halo; i < lon + halo; ++i) {
                const bool inside = j >= 0 && j < rows && i >= 0 && i < lon;
                values.W.push_back(inside ? static_cast<double>(formula(2, step, (l * lat + first + j) * lon + i)) : -1.0);
            }
    stream.put(v.W, Block<double>::part_of(values.W, {level, rows + 2 * halo, lon + 2 * halo}, {0L, halo, halo}, {0L, first, 0L},
                                           {level, rows, lon}));
}

void write_step(Stream &stream, const Variables &v, std::int64_t step, bool first_of_run) {
    const tailrace::Phase phase("step " + std::to_string(step));
    Values values;
    const auto first = begin_of(lat, rank), rows = begin_of(lat, rank + 1) - first;

    stream.begin_step(3600.0 * static_cast<double>(step));
    if (first_of_run) put_static(stream, v, values);
    for (std::int64_t k = 0; k < rows * lon; ++k) values.T.push_back(static_cast<float>(formula(1, step, first * lon + k)));
    stream.put(v.T, Block<float>(values.T, {first, 0L}, {rows, lon}));
    put_halo(stream, v, values, step, first, rows);

    for (std::int64_t k = 0; k < cell; ++k) values.soil.push_back(static_cast<std::int32_t>(formula(3, step, k)));
    std::vector<Block<std::int32_t>> chunks;  // dealt to the ranks in turn
    for (std::int64_t begin = rank * chunk_cells; begin < cell; begin += ranks * chunk_cells) {
        const std::int64_t count = std::min(chunk_cells, cell - begin);
        chunks.emplace_back(std::span<const std::int32_t>(values.soil).subspan(begin, count), tailrace::Shape{begin},
                            tailrace::Shape{count});
    }
    stream.put(v.soil, chunks);

    for (int j = 0; rank == 0 && j < lat; ++j) values.number.push_back(static_cast<std::int16_t>(formula(5, step, j) % 30000));
    stream.put(v.number, Block<std::int16_t>(values.number, {0}, {values.number.size()}));

    if (rank == ranks - 1) {  // stored backwards
        for (std::int64_t k = cell; k-- > 0;) values.id.push_back(formula(6, step, k));
        stream.put(v.id, Block<std::int64_t>(&values.id.back(), {0}, {cell}, {-std::int64_t{sizeof(std::int64_t)}}));
    }
    stream.put_replicated(v.dt, static_cast<double>(formula(8, step, 0)));
    stream.end_step();
}

void run(char **argv) {
    Stream stream(MPI_COMM_WORLD, argv[1], argv[2], argv[3]);
    const Variables variables = define(stream);
    const auto done = static_cast<std::int64_t>(stream.step_count());
    for (std::int64_t step = done; step < done + std::atoi(argv[4]); ++step) write_step(stream, variables, step, step == done);
    stream.close();
}

}  // namespace

int main(int argc, char **argv) {
    int status = argc == 5 ? 0 : 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    try {
        if (status == 0) run(argv);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        status = 1;
    }
    MPI_Finalize();
    return status;
}
