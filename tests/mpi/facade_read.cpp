// Reads every step of the case of tests/test_fortran.py back, on any number of ranks: facade_read DIRECTORY NAME STEPS.
// What lies around a block in memory must stay as it was.
#include <tailrace/tailrace.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "facade_case_values.hpp"

namespace {

using namespace facade_case;
using tailrace::Reader;
using tailrace::Target;

void expect(bool right, const std::string &what, std::int64_t step) {
    if (!right) throw std::runtime_error(what + " is wrong in step " + std::to_string(step));
}

void read_rows(Reader &reader, std::int64_t step) {
    const auto first = begin_of(lat, rank), rows = begin_of(lat, rank + 1) - first;
    std::vector<float> T(rows * lon, -1.0F);
    reader.get<float>("T", T, {first, 0L}, {rows, lon});
    for (std::int64_t k = 0; k < rows * lon; ++k) expect(T[k] == static_cast<float>(formula(1, step, first * lon + k)), "T", step);

    const std::int64_t all_rows = rows + 2 * halo, all_columns = lon + 2 * halo;
    std::vector<double> W(level * all_rows * all_columns, -1.0);
    const tailrace::Shape allocated{level, all_rows, all_columns}, count{level, rows, lon};
    reader.get("W", Target<double>::part_of(W, allocated, {0L, halo, halo}, {0L, first, 0L}, count));
    for (std::int64_t l = 0, at = 0; l < level; ++l)
        for (std::int64_t j = -halo; j < rows + halo; ++j)
            for (std::int64_t i = -halo; i < lon + halo; ++i, ++at) {
                const bool inside = j >= 0 && j < rows && i >= 0 && i < lon;
                const auto value = static_cast<double>(formula(2, step, (l * lat + first + j) * lon + i));
                expect(W[at] == (inside ? value : -1.0), "W", step);
            }
}

void read_columns(Reader &reader, std::int64_t step) {
    const auto first = begin_of(lon, rank), columns = begin_of(lon, rank + 1) - first;
    std::vector<std::int8_t> mask(lat * lon, -1);
    reader.get("mask", Target<std::int8_t>::part_of(mask, {lat, lon}, {0L, first}, {0L, first}, {lat, columns}));
    for (std::int64_t k = 0; k < lat * lon; ++k) {
        const bool inside = k % lon >= first && k % lon < first + columns;
        expect(mask[k] == (inside ? formula(4, 0, k) % 100 : -1), "mask", step);
    }
}

void read_lists(Reader &reader, std::int64_t step) {
    std::vector<std::int32_t> soil(cell, -1);
    std::vector<Target<std::int32_t>> chunks;  // dealt to the ranks in turn
    for (std::int64_t begin = rank * chunk_cells; begin < cell; begin += ranks * chunk_cells) {
        const std::int64_t count = std::min(chunk_cells, cell - begin);
        chunks.emplace_back(std::span(soil).subspan(begin, count), tailrace::Shape{begin}, tailrace::Shape{count});
    }
    reader.get<std::int32_t>("soil", chunks);
    for (std::int64_t k = 0; k < cell; ++k)
        expect(soil[k] == (k / chunk_cells % ranks == rank ? formula(3, step, k) : -1), "soil", step);

    std::vector<std::int16_t> number(rank == 0 ? lat : 0);
    reader.get<std::int16_t>("number", number, {0}, {number.size()});
    for (std::size_t j = 0; j < number.size(); ++j)
        expect(number[j] == formula(5, step, static_cast<std::int64_t>(j)) % 30000, "number", step);

    std::vector<std::int64_t> id(cell);  // backwards
    reader.get("id", Target<std::int64_t>(&id.back(), {0}, {cell}, {-std::int64_t{sizeof(std::int64_t)}}));
    for (std::int64_t k = 0; k < cell; ++k) expect(id[cell - 1 - k] == formula(6, step, k), "id", step);
}

void read_replicated(Reader &reader, std::int64_t step) {
    const tailrace::Shape shape = reader.shape("area");
    expect(shape.size() == 2 && shape[0] == lat && shape[1] == lon, "the shape of area", step);
    std::vector<float> area(element_count(shape));
    reader.get_shared<float>("area", area);
    for (std::int64_t k = 0; k < lat * lon; ++k) expect(area[k] == static_cast<float>(formula(7, 0, k)), "area", step);
    expect(reader.get<double>("dt") == static_cast<double>(formula(8, step, 0)), "dt", step);
}

void run(char **argv) {
    Reader opened(MPI_COMM_WORLD, argv[1], argv[2]);
    Reader reader = std::move(opened);
    const auto steps = reader.steps();
    expect(steps.size() == static_cast<std::size_t>(std::atoi(argv[3])) && reader.times().size() == steps.size(), "the number", 0);
    for (std::size_t s = steps.size(); s-- > 0;) {  // the last one is selected
        const auto step = static_cast<std::int64_t>(steps[s]);
        if (s + 1 < steps.size()) reader.select(step);
        expect(reader.times()[s] == 3600.0 * static_cast<double>(step), "time", step);
        read_rows(reader, step);
        read_columns(reader, step);
        read_lists(reader, step);
        read_replicated(reader, step);
    }
    expect(reader.inquire().find("\"mask\"") != std::string::npos, "the JSON", 0);
    reader.close();
}

}  // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int status = argc == 4 ? 0 : 2;
    try {
        if (status == 0) run(argv);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        status = 1;
    }
    MPI_Finalize();
    return status;
}
