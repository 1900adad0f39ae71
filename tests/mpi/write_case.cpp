// Writes a stream of which every byte follows from a formula:
//
//   write_case DIRECTORY NAME OPTIONS [set=climate] [decomposition=rows] [memory=dense] [steps=1] [size=LEV,LAT,LON] [order=plain]
//              [dedicated=0] [end=all]
//
// Steps continue those that are there. order=reversed turns the ranks around; dedicated=N sets N of them aside; end=close leaves it
// to MPI_Finalize to release them, and end=nothing to show the stream, too. Sets and values:
// write_case_values.hpp; decompositions and memory: write_case_blocks.hpp.
#include "write_case_choices.hpp"

namespace {

using namespace write_case;

void put_attributes(tailrace_stream* s, const Variable& variable) {
    const char* name = variable.name.c_str();
    const std::map<std::string, const char*> units = {{"lat", "degrees_north"}, {"lon", "degrees_east"}, {"lev", "hPa"}};
    const auto unit = units.find(variable.name);
    check(tailrace_put_attr_text(s, name, "units", unit == units.end() ? "K" : unit->second));
    if (unit == units.end()) check(tailrace_put_attr_text(s, name, "long_name", ("größte " + variable.name).c_str()));
    const int32_t number = variable.number;
    check(tailrace_put_attr(s, name, "number", TAILRACE_I32, 1, &number));
    const double range[] = {-512.5, 1e300, 0.1};
    check(tailrace_put_attr(s, name, "numbers", TAILRACE_F64, 3, range));
    if (variable.has_fill)
        with_type(variable.type, [&](auto zero) {
            const auto fill = fill_of<decltype(zero)>();
            check(tailrace_put_attr(s, name, "_FillValue", variable.type, 1, &fill));
        });
}

void define(tailrace_stream* s, const Case& c) {
    for (const char* dim : {"lev", "lat", "lon"}) check(tailrace_define_dim(s, dim, c.lengths.at(dim)));
    for (const Variable& variable : c.variables) {
        std::vector<const char*> dims;
        for (const std::string& dim : variable.dims) dims.push_back(dim.c_str());
        check(tailrace_define_var(s, variable.name.c_str(), variable.type, static_cast<int>(dims.size()), dims.data(),
                                  variable.flags));
        put_attributes(s, variable);
    }
    const int64_t version = 3;
    check(tailrace_put_attr_text(s, nullptr, "title", "write_case: größte Probe"));
    check(tailrace_put_attr_text(s, nullptr, "Conventions", "CF-1.8"));
    check(tailrace_put_attr(s, nullptr, "version", TAILRACE_I64, 1, &version));
    check(tailrace_put_attr_text(s, "time", "units", "hours since 2001-01-01"));
    check(tailrace_put_attr_text(s, "time", "calendar", "standard"));
}

void put_replicated(tailrace_stream* s, const Case& c, const Variable& variable, uint64_t step) {
    const uint64_t elements = volume(c.shape_of(variable));
    const size_t bytes = bytes_of(variable.type);
    std::vector<std::byte> values(elements * bytes);
    for (uint64_t k = 0; k < elements; ++k) store_replicated(variable, elements, step, k, values.data() + k * bytes);
    check(tailrace_put_replicated(s, variable.name.c_str(), values.data()));
}

// A block without what is in the gap.
Block without_gap(Block block, const Shape& shape) {
    const size_t d = shape.size() - 1;
    const uint64_t end = shape[d] > 3 ? shape[d] - 3 : 0, begin = block.offset[d];
    block.count[d] = begin >= end ? 0 : std::min(block.count[d], end - begin);
    return block;
}

void put(tailrace_stream* s, const Case& c, const Variable& variable, uint64_t step, std::vector<Stored>& kept) {
    const Shape shape = c.shape_of(variable);
    const size_t first = kept.size();
    if (variable.is_empty) return;
    if (c.choices.at("decomposition") == "scattered") {
        Block list = list_of(variable, shape, c.rank, c.ranks, step, variable.has_gap);
        kept.push_back(store_block(variable, shape, std::move(list), step, c.choices.at("memory")));
        const Block& block = kept.back().block;
        const tailrace_block view = kept.back().view();
        check(tailrace_put_indices(s, variable.name.c_str(), variable.dims[block.along].c_str(), block.indices.size(),
                                   block.indices.data(), view.data, view.stride));
        return;
    }
    for (Block block : blocks_of(c.choices.at("decomposition"), shape, c.rank, c.ranks, step)) {
        if (variable.has_gap) block = without_gap(block, shape);
        kept.push_back(store_block(variable, shape, std::move(block), step, c.choices.at("memory")));
    }
    std::vector<tailrace_block> blocks;
    for (size_t b = first; b < kept.size(); ++b) blocks.push_back(kept[b].view());
    check(tailrace_put(s, variable.name.c_str(), static_cast<int>(blocks.size()), blocks.data()));
}

void run(char** argv, Case& c) {
    const bool reversed = c.choices["order"] == "reversed";
    const int dedicated = std::atoi(c.choices["dedicated"].c_str());
    MPI_Comm ranks;
    if (dedicated > 0)
        check(tailrace_set_aside(MPI_COMM_WORLD, dedicated, &ranks));
    else
        MPI_Comm_split(MPI_COMM_WORLD, 0, reversed ? -rank_of_world : rank_of_world, &ranks);
    if (ranks == MPI_COMM_NULL) return;
    int rank, size;
    MPI_Comm_rank(ranks, &rank);
    MPI_Comm_size(ranks, &size);
    c.rank = static_cast<uint64_t>(rank);
    c.ranks = static_cast<uint64_t>(size);

    tailrace_stream* s;
    check(tailrace_open(ranks, argv[1], argv[2], argv[3], &s));
    define(s, c);
    uint64_t done;
    check(tailrace_step_count(s, &done));
    const uint64_t steps = std::strtoull(c.choices["steps"].c_str(), nullptr, 10);
    for (uint64_t step = done; step < done + steps; ++step) {
        std::vector<Stored> kept;
        check(tailrace_begin_step(s, 6.0 * static_cast<double>(step)));
        for (const Variable& variable : c.variables) {
            if ((variable.flags & TAILRACE_STATIC) && step > done) continue;
            if (variable.flags & TAILRACE_REPLICATED)
                put_replicated(s, c, variable, step);
            else
                put(s, c, variable, step, kept);
        }
        check(tailrace_end_step(s));
    }
    if (c.choices["end"] == "nothing") return;
    check(tailrace_close(&s));
    if (c.choices["end"] == "close") return;
    dedicated > 0 ? check(tailrace_release(&ranks)) : static_cast<void>(MPI_Comm_free(&ranks));
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_of_world);
    Case c;
    const bool understood = argc >= 4 && read_choices(argc, argv, 4, c);
    if (understood)
        run(argv, c);
    else if (rank_of_world == 0)
        std::fprintf(stderr, "write_case DIRECTORY NAME OPTIONS [choice=value ...]; see the top of write_case.cpp\n");
    MPI_Finalize();
    return understood ? 0 : 2;
}
