// Reads every step of a stream of write_case back, on any number of ranks, and compares every byte with the formula:
//
//   read_case DIRECTORY NAME [set=climate] [decomposition=rows] [memory=dense] [size=LEV,LAT,LON]
//
// Each rank reads its blocks of every variable; the last one the whole arrays as well. What lies around a block in memory must stay
// as it was. Prints how many elements were compared.
#include "write_case_choices.hpp"

namespace {

using namespace write_case;

void fail(const Variable& variable, uint64_t step, uint64_t index) {
    std::fprintf(stderr, "rank %d: %s, step %llu: element %llu is wrong, or what lies beside it\n", rank_of_world,
                 variable.name.c_str(), static_cast<unsigned long long>(step), static_cast<unsigned long long>(index));
    end_job(1);
}

void store_expected(const Variable& variable, const Shape& shape, uint64_t step, uint64_t index, std::byte* to) {
    const bool in_gap = variable.has_gap && index % shape.back() + 3 >= shape.back();
    if (variable.flags & TAILRACE_REPLICATED) return store_replicated(variable, volume(shape), step, index, to);
    if (!in_gap && !variable.is_empty) return store(variable, step, index, to);
    with_type(variable.type, [&](auto zero) {
        const auto fill = fill_of<decltype(zero)>();
        std::memcpy(to, &fill, sizeof fill);
    });
}

uint64_t read_block(tailrace_reader* r, const Variable& variable, const Shape& shape, const Block& block, uint64_t step,
                    const std::string& memory) {
    Stored expected = lay_block(variable, block, memory), found = expected;
    for_elements(expected, shape, bytes_of(variable.type),
                 [&](uint64_t index, int64_t at) { store_expected(variable, shape, step, index, expected.bytes.data() + at); });
    const tailrace_target target = {found.bytes.data() + found.first, block.offset.data(), block.count.data(),
                                    found.stride.empty() ? nullptr : found.stride.data()};
    if (block.is_list())
        check(tailrace_get_indices(r, variable.name.c_str(), variable.dims[block.along].c_str(), block.indices.size(),
                                   block.indices.data(), target.data, target.stride));
    else
        check(tailrace_get(r, variable.name.c_str(), 1, &target));
    for (size_t i = 0; i < found.bytes.size(); ++i)
        if (found.bytes[i] != expected.bytes[i]) fail(variable, step, i / bytes_of(variable.type));
    return volume(block.count);
}

uint64_t read_variable(tailrace_reader* r, const Case& c, const Variable& variable, uint64_t step) {
    tailrace_type type;
    int ndims = 0, flags = 0;
    uint64_t lengths[TAILRACE_MAX_DIMS];
    check(tailrace_inquire_var(r, variable.name.c_str(), &type, &ndims, lengths, &flags));
    const Shape shape = c.shape_of(variable);
    if (type != variable.type || Shape(lengths, lengths + ndims) != shape) fail(variable, step, 0);
    const Block whole{Shape(shape.size(), 0), shape};
    uint64_t compared = 0;
    if (!shape.empty() && c.choices.at("decomposition") == "scattered")
        compared +=
            read_block(r, variable, shape, list_of(variable, shape, c.rank, c.ranks, step, false), step, c.choices.at("memory"));
    else if (!shape.empty())
        for (const Block& block : blocks_of(c.choices.at("decomposition"), shape, c.rank, c.ranks, step))
            compared += read_block(r, variable, shape, block, step, c.choices.at("memory"));
    if (c.rank + 1 == c.ranks) compared += read_block(r, variable, shape, whole, step, "dense");
    if (variable.flags & TAILRACE_REPLICATED) {
        const Stored room = lay_block(variable, whole, "dense");
        std::vector<std::byte> values(room.bytes.size());
        check(tailrace_get_shared(r, variable.name.c_str(), values.data()));
        for_elements(room, shape, bytes_of(variable.type), [&](uint64_t index, int64_t at) {
            std::byte expected[8];
            store_expected(variable, shape, step, index, expected);
            if (std::memcmp(expected, values.data() + at, bytes_of(variable.type)) != 0) fail(variable, step, index);
        });
    }
    return compared;
}

void run(char** argv, Case& c) {
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    c.rank = static_cast<uint64_t>(rank_of_world);
    c.ranks = static_cast<uint64_t>(ranks);
    tailrace_reader* r;
    check(tailrace_open_read(MPI_COMM_WORLD, argv[1], argv[2], &r));
    uint64_t count = 0, compared = 0;
    const uint64_t* steps;
    const double* times;
    check(tailrace_get_steps(r, &count, &steps, &times));
    for (uint64_t s = count; s-- > 0;) {
        check(tailrace_select_step(r, static_cast<int64_t>(steps[s])));
        if (times[s] != 6.0 * static_cast<double>(steps[s])) fail(c.variables.front(), steps[s], 0);
        for (const Variable& variable : c.variables) compared += read_variable(r, c, variable, steps[s]);
    }
    check(tailrace_close_read(&r));
    uint64_t all = 0;
    MPI_Reduce(&compared, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank_of_world == 0)
        std::printf("%llu steps, %llu elements\n", static_cast<unsigned long long>(count), static_cast<unsigned long long>(all));
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_of_world);
    Case c;
    const bool understood = argc >= 3 && read_choices(argc, argv, 3, c);
    if (understood)
        run(argv, c);
    else if (rank_of_world == 0)
        std::fprintf(stderr, "read_case DIRECTORY NAME [choice=value ...]; see the top of read_case.cpp\n");
    MPI_Finalize();
    return understood ? 0 : 2;
}
