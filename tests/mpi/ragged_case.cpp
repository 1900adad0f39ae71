// Particles and observations whose number is another on every rank and in every step, written or read and compared:
//
//   ragged_case write DIRECTORY NAME OPTIONS STEPS [KILL_US]
//   ragged_case read DIRECTORY NAME RANKS_OF_STEPS
//
// KILL_US: the last rank dies so many microseconds after its first step. RANKS_OF_STEPS: how many ranks wrote each, as 3,3,2.
// Steps go on after those that are there. Step 1 has nothing on any rank. tests/test_ragged.py says the formula;
// fortran_ragged.f90 and tests/python_ragged.py are the same in their languages.
#include <tailrace/tailrace.hpp>

#include <sys/time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "case_main.hpp"

namespace {

using Number = std::uint64_t;
constexpr Number components = 3, letters = 4, latitudes = 5;
constexpr double fill = -1;

double value(Number variable, Number step, Number index) { return static_cast<double>(variable * 1000000 + step * 10000 + index); }
char letter(Number step, Number index) { return static_cast<char>('a' + (step * 7 + index * 3) % 26); }

Number count_of(Number step, Number r) { return step == 1 ? 0 : (r * 3 + step * 2) % 5; }
// Elements of the ranks [from, to).
Number sum_of(Number step, Number from, Number to) {
    Number sum = 0;
    for (Number r = from; r < to; ++r) sum += count_of(step, r);
    return sum;
}

template <class T>
std::vector<T> values(Number variable, Number step, Number first, Number count) {
    std::vector<T> list(count);
    for (Number i = 0; i < count; ++i) list[i] = static_cast<T>(value(variable, step, first + i));
    return list;
}

std::vector<char> names(Number step, Number first, Number count) {
    std::vector<char> list(count * letters);
    for (Number i = 0; i < list.size(); ++i) list[i] = letter(step, first * letters + i);
    return list;
}

// Of particles that ranks of an even number had, nothing is written.
std::vector<double> sparse(Number step, Number first, Number count, Number writers) {
    std::vector<double> list = values<double>(5, step, first, count);
    for (Number i = 0; i < count; ++i)
        for (Number r = 0; r < writers; r += 2)
            if (first + i >= sum_of(step, 0, r) && first + i < sum_of(step, 0, r + 1)) list[i] = fill;
    return list;
}

// The alarm ends the process, wherever it is.
void die_in(long us) {
    const itimerval timer{{0, 0}, {us / 1000000, us % 1000000}};
    setitimer(ITIMER_REAL, &timer, nullptr);
}

void write(char** argv, long kill_us) {
    tailrace::Stream stream(MPI_COMM_WORLD, argv[2], argv[3], argv[4]);
    stream.define_dim("particle", TAILRACE_RAGGED);
    stream.define_dim("component", components);
    stream.define_dim("letter", letters);
    stream.define_dim("lat", latitudes);
    stream.define_dim("obs", TAILRACE_RAGGED);
    const auto x = stream.define_var<double>("x", {"particle"});
    const auto velocity = stream.define_var<float>("velocity", {"particle", "component"});
    const auto name = stream.define_var<char>("name", {"particle", "letter"});
    const auto y = stream.define_var<std::int32_t>("y", {"obs"});
    const auto sometimes = stream.define_var<double>("sometimes", {"particle"});
    const auto t = stream.define_var<float>("T", {"lat"});
    const auto mass = stream.define_var<double>("mass");
    stream.put_attr("x", "units", "m");
    stream.put_attr("sometimes", "_FillValue", fill);
    const Number end = stream.step_count() + std::strtoull(argv[5], nullptr, 10), self = static_cast<Number>(rank),
                 all = static_cast<Number>(ranks);
    for (Number step = stream.step_count(); step < end; ++step) {
        const Number before = sum_of(step, 0, self), count = count_of(step, self), half = count / 2;
        const auto a = values<double>(1, step, before, count);
        const auto b = values<float>(2, step, before * components, count * components);
        const auto c = names(step, before, count);
        const auto d = values<std::int32_t>(4, step, sum_of(step, self + 1, all), count);
        const auto e = values<double>(5, step, before, count);
        const Number row = latitudes * self / all, rows = latitudes * (self + 1) / all - row;
        const auto f = values<float>(6, step, row, rows);
        stream.begin_step(static_cast<double>(step));
        // Two blocks without an offset follow each other.
        const std::span<const double> both(a);
        stream.put(x, tailrace::Block<double>(both.first(half), {TAILRACE_RAGGED}, {half}));
        stream.put(x, tailrace::Block<double>(both.subspan(half), {TAILRACE_RAGGED}, {count - half}));
        stream.put(velocity, tailrace::Block<float>(b, {TAILRACE_RAGGED, Number{0}}, {count, components}));
        const Number offset[] = {TAILRACE_RAGGED, 0}, extent[] = {count, letters};
        const tailrace_block block{c.data(), offset, extent, nullptr};
        tailrace::check(tailrace_put(stream.handle(), name.name.c_str(), 1, &block));
        // The observations of higher ranks come first.
        stream.put(y, tailrace::Block<std::int32_t>(d, {sum_of(step, self + 1, all)}, {count}));
        if (self % 2 == 1) stream.put(sometimes, tailrace::Block<double>(e, {TAILRACE_RAGGED}, {count}));
        stream.put(t, tailrace::Block<float>(f, {row}, {rows}));
        stream.put_replicated(mass, value(7, step, 0));
        stream.end_step();
        if (step == 0 && kill_us > 0 && rank == ranks - 1) die_in(kill_us);
    }
    stream.close();
}

template <class T>
bool same(tailrace::Reader& reader, const char* name, std::vector<Number> offset, std::vector<Number> count,
          const std::vector<T>& expected) {
    std::vector<T> found(expected.size());
    reader.get<T>(name, found, offset, count);
    if (found == expected) return true;
    std::fprintf(stderr, "rank %d: '%s' is not what the formula says\n", rank, name);
    return false;
}

bool read(char** argv) {
    std::vector<Number> writers;
    std::istringstream list(argv[4]);
    for (std::string word; std::getline(list, word, ',');) writers.push_back(std::stoull(word));
    tailrace::Reader reader(MPI_COMM_WORLD, argv[2], argv[3]);
    bool well = true;
    const auto self = static_cast<Number>(rank), all = static_cast<Number>(ranks);
    for (const Number step : reader.steps()) {
        reader.select(static_cast<std::int64_t>(step));
        const Number by = writers.at(step), total = sum_of(step, 0, by);
        for (const char* name : {"x", "velocity", "name", "y", "sometimes"})
            if (reader.shape(name)[0] != total) {
                std::fprintf(stderr, "rank %d: '%s' of step %llu has %llu elements, not %llu\n", rank, name,
                             static_cast<unsigned long long>(step), static_cast<unsigned long long>(reader.shape(name)[0]),
                             static_cast<unsigned long long>(total));
                well = false;
            }
        if (!well) break;
        const Number first = total * self / all, count = total * (self + 1) / all - first;
        well = same(reader, "x", {first}, {count}, values<double>(1, step, first, count)) && well;
        well = same(reader, "velocity", {first, 0}, {count, components},
                    values<float>(2, step, first * components, count * components)) &&
               well;
        well = same(reader, "name", {first, 0}, {count, letters}, names(step, first, count)) && well;
        well = same(reader, "y", {first}, {count}, values<std::int32_t>(4, step, first, count)) && well;
        well = same(reader, "sometimes", {first}, {count}, sparse(step, first, count, by)) && well;
        well = same(reader, "T", {0}, {latitudes}, values<float>(6, step, 0, latitudes)) && well;
        well = reader.get<double>("mass") == value(7, step, 0) && well;
    }
    if (rank == 0) std::printf("%zu steps\n", reader.steps().size());
    reader.close();
    return well;
}

int run(int argc, char** argv) {
    const std::string mode = argc > 4 ? argv[1] : "";
    if (mode == "read") return read(argv) ? 0 : 1;
    if (mode != "write" || argc < 6) return 2;
    write(argv, argc > 6 ? std::strtol(argv[6], nullptr, 10) : 0);
    return 0;
}

}  // namespace

int main(int argc, char** argv) { return case_main(argc, argv, run); }
