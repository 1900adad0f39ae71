// Writes a stream of which every byte follows from a formula:
//
//   write_case DIRECTORY NAME OPTIONS [set=climate] [decomposition=rows] [memory=dense] [steps=1] [size=LEV,LAT,LON] [order=plain]
//
// Steps continue those that are there. order=reversed turns the ranks around. Sets and values: write_case_values.hpp;
// decompositions and memory: write_case_blocks.hpp.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

#include "write_case_blocks.hpp"

namespace {

using namespace write_case;

int rank_of_world;

void check(int status) {
    if (status == TAILRACE_OK) return;
    std::fprintf(stderr, "rank %d: %s: %s\n", rank_of_world, tailrace_status_name(status), tailrace_error_message());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

struct Case {
    std::map<std::string, std::string> choices = {{"set", "climate"}, {"decomposition", "rows"}, {"memory", "dense"},
                                                  {"steps", "1"},     {"size", "3,10,8"},        {"order", "plain"}};
    std::map<std::string, uint64_t> lengths;
    std::vector<Variable> variables;
    uint64_t rank = 0, ranks = 1;

    Extents shape_of(const Variable& variable) const {
        Extents shape;
        for (const std::string& dim : variable.dims) shape.push_back(lengths.at(dim));
        return shape;
    }
};

bool read_choices(int argc, char** argv, Case& c) {
    for (int i = 4; i < argc; ++i) {
        const std::string word = argv[i];
        const size_t equals = word.find('=');
        const auto choice = c.choices.find(word.substr(0, equals));
        if (equals == std::string::npos || choice == c.choices.end()) return false;
        choice->second = word.substr(equals + 1);
    }
    std::istringstream size(c.choices["size"]);
    for (const char* dim : {"lev", "lat", "lon"}) {
        std::string length;
        std::getline(size, length, ',');
        c.lengths[dim] = std::strtoull(length.c_str(), nullptr, 10);
    }
    c.variables = variables_of(c.choices["set"]);
    return !c.variables.empty();
}

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

// A coordinate ascends evenly; all else is the formula's.
void store_coordinate(const Variable& variable, uint64_t length, uint64_t k, std::byte* to) {
    const double value = variable.name == "lat"   ? -90.0 + 180.0 * (static_cast<double>(k) + 0.5) / static_cast<double>(length)
                         : variable.name == "lon" ? 360.0 * static_cast<double>(k) / static_cast<double>(length)
                                                  : 1000.0 - 10.0 * static_cast<double>(k);
    const auto single = static_cast<float>(value);
    if (variable.type == TAILRACE_F64)
        std::memcpy(to, &value, sizeof value);
    else
        std::memcpy(to, &single, sizeof single);
}

void put_replicated(tailrace_stream* s, const Case& c, const Variable& variable, uint64_t step) {
    const uint64_t elements = volume(c.shape_of(variable));
    const size_t bytes = bytes_of(variable.type);
    std::vector<std::byte> values(elements * bytes);
    const bool coordinate = variable.dims.size() == 1 && variable.dims[0] == variable.name;
    for (uint64_t k = 0; k < elements; ++k)
        if (coordinate)
            store_coordinate(variable, elements, k, values.data() + k * bytes);
        else
            store(variable, step, k, values.data() + k * bytes);
    check(tailrace_put_replicated(s, variable.name.c_str(), values.data()));
}

// A block without what is in the gap.
Block without_gap(Block block, const Extents& shape) {
    const size_t d = shape.size() - 1;
    const uint64_t end = shape[d] > 3 ? shape[d] - 3 : 0, begin = block.offset[d];
    block.count[d] = begin >= end ? 0 : std::min(block.count[d], end - begin);
    return block;
}

void put(tailrace_stream* s, const Case& c, const Variable& variable, uint64_t step, std::vector<Stored>& kept) {
    const Extents shape = c.shape_of(variable);
    const size_t first = kept.size();
    if (variable.is_empty) return;
    for (Block block : blocks_of(c.choices.at("decomposition"), shape, c.rank, c.ranks)) {
        if (variable.has_gap) block = without_gap(block, shape);
        kept.push_back(store_block(variable, shape, std::move(block), step, c.choices.at("memory")));
    }
    std::vector<tailrace_block> blocks;
    for (size_t b = first; b < kept.size(); ++b) blocks.push_back(kept[b].view());
    check(tailrace_put(s, variable.name.c_str(), static_cast<int>(blocks.size()), blocks.data()));
}

void run(char** argv, Case& c) {
    const bool reversed = c.choices["order"] == "reversed";
    MPI_Comm ranks;
    MPI_Comm_split(MPI_COMM_WORLD, 0, reversed ? -rank_of_world : rank_of_world, &ranks);
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
    check(tailrace_close(&s));
    MPI_Comm_free(&ranks);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_of_world);
    Case c;
    const bool understood = argc >= 4 && read_choices(argc, argv, c);
    if (understood)
        run(argv, c);
    else if (rank_of_world == 0)
        std::fprintf(stderr, "write_case DIRECTORY NAME OPTIONS [choice=value ...]; see the top of write_case.cpp\n");
    MPI_Finalize();
    return understood ? 0 : 2;
}
