// Arrays of characters, written or read and compared, through the C++ facade and, for the title, the C contract:
//
//   strings_case write|read DIRECTORY NAME [OPTIONS]
//
// tests/test_strings.py says the formula, fortran_strings.f90 and tests/python_strings.py are the same in their languages.
#include <tailrace/tailrace.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "case_main.hpp"

namespace {

constexpr std::uint64_t stations = 11, pairs = 2, length = 6, steps = 2;

char value(std::uint64_t variable, std::uint64_t step, std::uint64_t index) {
    const std::uint64_t item = index / length, place = index % length;
    if (place >= (item * 5 + variable + step) % (length + 1)) return ' ';
    return static_cast<char>('a' + (variable * 7 + step * 5 + index * 3) % 26);
}

std::uint64_t begin_of(int r) { return stations * static_cast<std::uint64_t>(r) / static_cast<std::uint64_t>(ranks); }

// This rank's stations of `outer` rows of them.
std::vector<char> mine(std::uint64_t variable, std::uint64_t step, std::uint64_t outer) {
    std::vector<char> values;
    for (std::uint64_t p = 0; p < outer; ++p)
        for (std::uint64_t i = begin_of(rank) * length; i < begin_of(rank + 1) * length; ++i)
            values.push_back(value(variable, step, p * stations * length + i));
    return values;
}

std::vector<char> title(std::uint64_t step) {
    std::vector<char> values;
    for (std::uint64_t i = 0; i < length; ++i) values.push_back(value(4, step, i));
    return values;
}

void write(const std::string& directory, const std::string& name, const std::string& options) {
    tailrace::Stream stream(MPI_COMM_WORLD, directory, name, options);
    stream.define_dim("station", stations);
    stream.define_dim("pair", pairs);
    stream.define_dim("length", length);
    const auto names = stream.define_var<char>("names", {"station", "length"}, TAILRACE_STATIC);
    const auto state = stream.define_var<char>("state", {"station", "length"});
    const auto grid = stream.define_var<char>("grid", {"pair", "station", "length"});
    stream.define_var<char>("title", {"length"}, TAILRACE_REPLICATED);
    stream.put_attr("names", "cf_role", "timeseries_id");
    stream.put_attr("state", "_FillValue", '#');
    const std::uint64_t first = begin_of(rank), count = begin_of(rank + 1) - first;
    for (std::uint64_t step = 0; step < steps; ++step) {
        const std::vector<char> a = mine(1, 0, 1), b = mine(2, step, 1), c = mine(3, step, pairs);
        stream.begin_step(static_cast<double>(step));
        stream.put(names, tailrace::Block<char>(a, {first, std::uint64_t{0}}, {count, length}));
        stream.put(state, tailrace::Block<char>(b, {first, std::uint64_t{0}}, {count, length}));
        stream.put(grid, tailrace::Block<char>(c, {std::uint64_t{0}, first, std::uint64_t{0}}, {pairs, count, length}));
        tailrace::check(tailrace_put_replicated(stream.handle(), "title", title(step).data()));
        stream.end_step();
    }
    stream.close();
}

bool same(const char* name, std::uint64_t step, const std::vector<char>& found, const std::vector<char>& expected) {
    if (found == expected) return true;
    std::fprintf(stderr, "rank %d: %s of step %llu is '%.*s', not '%.*s'\n", rank, name, static_cast<unsigned long long>(step),
                 static_cast<int>(found.size()), found.data(), static_cast<int>(expected.size()), expected.data());
    return false;
}

bool read(const std::string& directory, const std::string& name) {
    tailrace::Reader reader(MPI_COMM_WORLD, directory, name);
    const std::uint64_t first = begin_of(rank), count = begin_of(rank + 1) - first;
    bool well = reader.steps().size() == steps;
    for (std::uint64_t step = 0; step < steps; ++step) {
        reader.select(static_cast<std::int64_t>(step));
        std::vector<char> row(count * length), rows(pairs * count * length), whole(length);
        reader.get<char>("names", row, {first, std::uint64_t{0}}, {count, length});
        well = same("names", step, row, mine(1, 0, 1)) && well;
        reader.get<char>("state", row, {first, std::uint64_t{0}}, {count, length});
        well = same("state", step, row, mine(2, step, 1)) && well;
        reader.get<char>("grid", rows, {std::uint64_t{0}, first, std::uint64_t{0}}, {pairs, count, length});
        well = same("grid", step, rows, mine(3, step, pairs)) && well;
        reader.get_shared<char>("title", whole);
        well = same("title", step, whole, title(step)) && well;
    }
    reader.close();
    return well;
}

int run(int argc, char** argv) {
    const std::string mode = argc > 3 ? argv[1] : "";
    if (mode == "read") return read(argv[2], argv[3]) ? 0 : 1;
    if (mode != "write") return 2;
    write(argv[2], argv[3], argc > 4 ? argv[4] : "");
    return 0;
}

}  // namespace

int main(int argc, char** argv) { return case_main(argc, argv, run); }
