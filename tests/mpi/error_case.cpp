// Kinds of bad input: error_case [DIRECTORY OPTIONS CASE]... Step 0 is right, step 1 has the mistake, step 2 is right again.
// Each rank prints one line of JSON for every call that is of interest: {"run", "rank", "call", "status", "message"}; `run`
// counts the cases of the command line.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "answers.hpp"

namespace {

constexpr uint64_t kRows = 2;  // of each rank
constexpr uint64_t kColumns = 4;

std::string quoted(const std::string &text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

// One write call a line, so that lines of ranks do not mix.
int tell(const std::string &call, int status) {
    const std::string line = "{\"run\": " + std::to_string(number) + ", \"rank\": " + std::to_string(rank) +
                             ", \"call\": " + quoted(call) + ", \"status\": " + quoted(tailrace_status_name(status)) +
                             ", \"message\": " + quoted(status == TAILRACE_OK ? "" : tailrace_error_message()) + "}\n";
    if (write(STDOUT_FILENO, line.data(), line.size()) < 0) MPI_Abort(MPI_COMM_WORLD, 3);
    return status;
}

void must(int status) {
    if (status == TAILRACE_OK) return;
    tell("unexpected", status);
    MPI_Abort(MPI_COMM_WORLD, 4);
}

// The value at (step, row, column), as the test computes it too.
float value(int step, uint64_t y, uint64_t x) { return static_cast<float>(1000 * step + static_cast<int>(y * kColumns + x)); }

struct Rows {
    std::vector<float> data;
    uint64_t offset[2], count[2];
    tailrace_block block() { return {data.data(), offset, count, nullptr}; }
};

Rows rows(int step, uint64_t first, uint64_t n) {
    Rows r{std::vector<float>(n * kColumns), {first, 0}, {n, kColumns}};
    for (uint64_t y = 0; y < n; ++y)
        for (uint64_t x = 0; x < kColumns; ++x) r.data[y * kColumns + x] = value(step, first + y, x);
    return r;
}

Rows my_rows(int step) { return rows(step, kRows * static_cast<uint64_t>(rank), kRows); }

int put(Rows &r) {
    const tailrace_block block = r.block();
    return tailrace_put(stream, "T", 1, &block);
}

// What makes a step right: its rows of T and the replicated scalar.
void put_all(int step, Rows &r) {
    must(put(r));
    const double mass = 0.5 * step;
    must(tailrace_put_replicated(stream, "mass", &mass));
}

void good_step(int step) {
    must(tailrace_begin_step(stream, step));
    Rows r = my_rows(step);
    put_all(step, r);
    tell("end_step " + std::to_string(step), tailrace_end_step(stream));
}

const char *const kRowColumn[] = {"y", "x"};

void define(uint64_t height) {
    must(tailrace_define_dim(stream, "y", height));
    must(tailrace_define_dim(stream, "x", kColumns));
    must(tailrace_define_var(stream, "T", TAILRACE_F32, 2, kRowColumn, 0));
    must(tailrace_define_var(stream, "mass", TAILRACE_F64, 0, nullptr, 0));
}

uint64_t height() { return kRows * static_cast<uint64_t>(ranks); }
bool last() { return rank == ranks - 1; }

using Case = std::function<void()>;

// Step 1 as `mistake` makes it; what it leaves out is not put.
Case in_step_1(std::function<void(Rows &)> mistake) {
    return [mistake] {
        must(tailrace_begin_step(stream, 1));
        Rows r = my_rows(1);
        const double mass = 0.5;
        must(tailrace_put_replicated(stream, "mass", &mass));
        mistake(r);
        tell("end_step 1", tailrace_end_step(stream));
    };
}

// The mistake is the last rank's; the others put what is right.
Case of_last_rank(std::function<void(Rows &)> mistake) {
    return in_step_1([mistake](Rows &r) {
        if (last())
            mistake(r);
        else
            must(put(r));
    });
}

std::map<std::string, Case> step_cases() {
    std::map<std::string, Case> cases;
    cases["outside"] = of_last_rank([](Rows &r) {
        r.offset[0] += 1;
        tell("put", put(r));
    });
    cases["outside-by-overflow"] = of_last_rank([](Rows &r) {
        r.offset[1] = UINT64_MAX;
        tell("put", put(r));
    });
    cases["wrong-extent"] = of_last_rank([](Rows &r) {
        r.count[1] = kColumns + 1;
        r.data.resize(kRows * (kColumns + 1));
        tell("put", put(r));
    });
    cases["overlap-two-ranks"] = of_last_rank([](Rows &) {
        // One row more than its own, upwards.
        static Rows more;
        more = rows(1, kRows * static_cast<uint64_t>(rank) - 1, kRows + 1);
        must(put(more));
    });
    cases["overlap-same-rank"] = of_last_rank([](Rows &r) {
        const tailrace_block two[] = {r.block(), r.block()};
        must(tailrace_put(stream, "T", 2, two));
    });
    cases["put-twice"] = of_last_rank([](Rows &r) {
        must(put(r));
        must(put(r));
    });
    cases["null-stream"] = [] {
        tailrace_stream *const kept = stream;
        if (last()) stream = nullptr;
        tell("put", tailrace_begin_step(stream, 1));
        Rows r = my_rows(1);
        const double mass = 0.5;
        if (!last()) must(tailrace_put_replicated(stream, "mass", &mass));
        if (!last()) must(put(r));
        tell("end_step 1", tailrace_end_step(stream));
        stream = kept;
    };
    cases["gap"] = of_last_rank([](Rows &r) {
        r.count[0] = kRows - 1;
        must(put(r));
    });
    cases["missing-put"] = of_last_rank([](Rows &) {});
    cases["null-data"] = of_last_rank([](Rows &r) {
        tailrace_block block = r.block();
        block.data = nullptr;
        tell("put", tailrace_put(stream, "T", 1, &block));
    });
    cases["null-blocks"] = of_last_rank([](Rows &) { tell("put", tailrace_put(stream, "T", 1, nullptr)); });
    cases["null-count"] = of_last_rank([](Rows &r) {
        tailrace_block block = r.block();
        block.count = nullptr;
        tell("put", tailrace_put(stream, "T", 1, &block));
    });
    cases["negative-blocks"] = of_last_rank([](Rows &) { tell("put", tailrace_put(stream, "T", -1, nullptr)); });
    cases["refused-step"] =
        of_last_rank([](Rows &) { tell("put", tailrace_refuse_step(stream, TAILRACE_NOT_FOUND, "no column of 'T' is here")); });
    cases["refused-without-failure"] = of_last_rank([](Rows &) { tell("put", tailrace_refuse_step(stream, TAILRACE_OK, "")); });
    cases["undefined-variable"] = of_last_rank([](Rows &r) {
        const tailrace_block block = r.block();
        tell("put", tailrace_put(stream, "TT", 1, &block));
    });
    cases["distributed-put-replicated"] =
        of_last_rank([](Rows &r) { tell("put", tailrace_put_replicated(stream, "T", r.data.data())); });
    cases["replicated-put-distributed"] = of_last_rank([](Rows &r) {
        const tailrace_block block = r.block();
        tell("put", tailrace_put(stream, "mass", 1, &block));
    });
    cases["missing-replicated"] = [] {
        must(tailrace_begin_step(stream, 1));
        Rows r = my_rows(1);
        must(put(r));
        const double mass = 0.5;
        if (!last()) must(tailrace_put_replicated(stream, "mass", &mass));
        tell("end_step 1", tailrace_end_step(stream));
    };
    cases["time-differs"] = [] {
        must(tailrace_begin_step(stream, last() ? 1.25 : 1.0));
        Rows r = my_rows(1);
        put_all(1, r);
        tell("end_step 1", tailrace_end_step(stream));
    };
    cases["time-nan"] = [] {
        tell("begin_step", tailrace_begin_step(stream, last() ? std::nan("") : 1.0));
        Rows r = my_rows(1);
        if (last())
            tell("put", put(r));
        else
            put_all(1, r);
        tell("end_step 1", tailrace_end_step(stream));
    };
    cases["put-outside-step"] = [] {
        Rows r = my_rows(1);
        tell("put", put(r));
    };
    cases["end-without-begin"] = [] { tell("end_step 1", tailrace_end_step(stream)); };
    cases["end-without-begin-on-one"] = [] {
        Rows r = my_rows(1);
        if (!last()) {
            must(tailrace_begin_step(stream, 1));
            put_all(1, r);
        }
        tell("end_step 1", tailrace_end_step(stream));
    };
    cases["begin-twice"] = [] {
        must(tailrace_begin_step(stream, 1));
        tell("begin_step", tailrace_begin_step(stream, 1));
        Rows r = my_rows(1);
        put_all(1, r);
        tell("end_step 1", tailrace_end_step(stream));
    };
    cases["flush-within-step"] = [] {
        if (last()) must(tailrace_begin_step(stream, 1));
        tell("flush", tailrace_flush(stream));
        if (!last()) must(tailrace_begin_step(stream, 1));
        Rows r = my_rows(1);
        put_all(1, r);
        tell("end_step 1", tailrace_end_step(stream));
    };
    cases["define-late"] = [] {
        tell("define_dim", tailrace_define_dim(stream, "z", 3));
        tell("define_var", tailrace_define_var(stream, "late", TAILRACE_F32, 2, kRowColumn, 0));
    };
    return cases;
}

// Mistakes in definitions: made before step 0, which they do not harm.
std::map<std::string, Case> definition_cases() {
    std::map<std::string, Case> cases;
    const auto var = [](const char *name, int ndims, const char *const *dims, int flags = 0) {
        tell("define_var", tailrace_define_var(stream, name, TAILRACE_F32, ndims, dims, flags));
    };
    cases["nan-attribute"] = [] {
        const double values[] = {1, std::nan("")};
        tell("put_attr", tailrace_put_attr(stream, "T", "valid_range", TAILRACE_F64, 2, values));
    };
    cases["infinite-attribute-of-stream"] = [] {
        const float infinite = -INFINITY;
        tell("put_attr", tailrace_put_attr(stream, nullptr, "limit", TAILRACE_F32, 1, &infinite));
    };
    cases["nan-fill"] = [] {
        const float nan = std::nanf("");
        tell("put_attr", tailrace_put_attr(stream, "T", "_FillValue", TAILRACE_F32, 1, &nan));
        tell("put_attr", tailrace_put_attr(stream, "T", "missing_value", TAILRACE_F32, 1, &nan));
    };
    cases["text-fill"] = [] { tell("put_attr", tailrace_put_attr_text(stream, "T", "_FillValue", "-999")); };
    cases["fill-of-other-type"] = [] {
        const double fill = -999;
        tell("put_attr", tailrace_put_attr(stream, "T", "_FillValue", TAILRACE_F64, 1, &fill));
    };
    cases["attribute-of-nothing"] = [] { tell("put_attr", tailrace_put_attr_text(stream, "Q", "units", "kg kg-1")); };
    cases["attribute-without-name"] = [] { tell("put_attr", tailrace_put_attr_text(stream, "T", "", "K")); };
    cases["no-such-type"] = [] {
        tell("define_var", tailrace_define_var(stream, "U", static_cast<tailrace_type>(99), 2, kRowColumn, 0));
    };
    cases["variable-twice"] = [var] { var("T", 2, kRowColumn); };
    cases["dimension-twice"] = [] { tell("define_dim", tailrace_define_dim(stream, "x", 9)); };
    cases["slash-in-variable"] = [var] { var("group/T", 2, kRowColumn); };
    cases["slash-in-dimension"] = [] { tell("define_dim", tailrace_define_dim(stream, "a/b", 9)); };
    cases["taken-prefix"] = [var] { var("tailrace_T", 2, kRowColumn); };
    cases["undefined-dimension"] = [var] {
        const char *const dims[] = {"y", "lon"};
        var("U", 2, dims);
    };
    cases["too-many-dimensions"] = [var] {
        const char *const dims[] = {"y", "x", "y", "x", "y", "x", "y", "x", "y"};
        var("U", 9, dims);
    };
    cases["negative-dimensions"] = [var] { var("U", -1, nullptr); };
    cases["named-like-time"] = [var] { var("time", 2, kRowColumn); };
    cases["time-as-dimension"] = [] { tell("define_dim", tailrace_define_dim(stream, "time", 5)); };
    cases["null-name"] = [var] { var(nullptr, 2, kRowColumn); };
    return cases;
}

// Ranks define different things; found out by the first end_step.
void disagree_about_definitions(const std::string &which) {
    must(tailrace_define_dim(stream, "y", height() + (which == "length-differs" && last() ? 1 : 0)));
    must(tailrace_define_dim(stream, "x", kColumns));
    must(tailrace_define_var(stream, "T", TAILRACE_F32, 2, kRowColumn, 0));
    must(tailrace_define_var(stream, "mass", TAILRACE_F64, 0, nullptr, 0));
    if (which == "attribute-differs") must(tailrace_put_attr_text(stream, "T", "units", last() ? "K" : "degC"));
    if (which == "variable-differs" && last()) must(tailrace_define_var(stream, "Q", TAILRACE_F32, 2, kRowColumn, 0));
    good_step(0);
    if (which == "attribute-differs") {
        // Mended, the same step goes well.
        must(tailrace_put_attr_text(stream, "T", "units", "K"));
        good_step(0);
    }
}

// Some ranks end the step, the others close.
void different_calls(bool first_closes) {
    const bool closes = first_closes == (rank == 0);
    if (closes) return;  // to the close below
    must(tailrace_begin_step(stream, 1));
    Rows r = my_rows(1);
    put_all(1, r);
    tell("end_step 1", tailrace_end_step(stream));
    tell("end_step 1 again", tailrace_end_step(stream));
}

// A second run with other definitions or options, after one with three steps.
void append(const std::string &how) {
    const bool wider = how == "append-other-length", renamed = how == "append-other-variable";
    must(tailrace_define_dim(stream, "y", height()));
    must(tailrace_define_dim(stream, "x", kColumns + (wider ? 1 : 0)));
    must(tailrace_define_var(stream, renamed ? "Q" : "T", how == "append-other-type" ? TAILRACE_F64 : TAILRACE_F32, 2, kRowColumn,
                             0));
    must(tailrace_define_var(stream, "mass", TAILRACE_F64, 0, nullptr, 0));
    must(tailrace_begin_step(stream, 3));
    const double mass = 1.5;
    must(tailrace_put_replicated(stream, "mass", &mass));
    const uint64_t offset[] = {kRows * static_cast<uint64_t>(rank), 0}, count[] = {kRows, kColumns + (wider ? 1 : 0)};
    const std::vector<double> data(count[0] * count[1]);
    const tailrace_block block{data.data(), offset, count, nullptr};
    must(tailrace_put(stream, renamed ? "Q" : "T", 1, &block));
    tell("end_step 3", tailrace_end_step(stream));
}

int open_stream(const std::string &directory, const std::string &options, const std::string &what) {
    std::string name = "history";
    if (what == "name-with-slash") name = "a/b";
    if (what == "name-with-slash-on-one" && last()) name = "a/b";
    if (what == "name-empty") name = "";
    if (what.starts_with("name-is-")) name = what.substr(8);
    if (what == "name-differs" && last()) name = "restart";
    const auto given = [&](const char *what_is_null, auto *argument) {
        return last() && what == what_is_null ? nullptr : argument;
    };
    return tell("open",
                tailrace_open(MPI_COMM_WORLD, given("directory-null-on-one", directory.c_str()),
                              given("name-null-on-one", name.c_str()), options.c_str(), given("stream-null-on-one", &stream)));
}

void run(const std::string &what) {
    const auto of_steps = step_cases(), of_definitions = definition_cases();
    if (what.ends_with("-differs") && what != "time-differs" && what != "name-differs") return disagree_about_definitions(what);
    if (what.starts_with("append-other-")) return append(what);
    define(height());
    if (of_definitions.contains(what)) {
        of_definitions.at(what)();
        return good_step(0);
    }
    uint64_t steps = 0;
    must(tailrace_step_count(stream, &steps));
    good_step(static_cast<int>(steps));
    if (steps > 0) return;
    if (what == "end-against-close" || what == "close-against-end") return different_calls(what == "close-against-end");
    if (of_steps.contains(what))
        of_steps.at(what)();
    else if (what == "none" || what == "name-differs")
        good_step(1);
    else
        MPI_Abort(MPI_COMM_WORLD, 5);
    good_step(2);
}

}  // namespace

int main(int argc, char **argv) {
    start(&argc, &argv);
    if (argc % 3 != 1) MPI_Abort(MPI_COMM_WORLD, 2);
    for (; 3 * number + 1 < argc; ++number) {
        char **of_run = argv + 3 * number + 1;
        if (open_stream(of_run[0], of_run[1], of_run[2]) == TAILRACE_OK) {
            run(of_run[2]);
            tell("close", tailrace_close(&stream));
        } else {
            must(tailrace_close(&stream));
        }
        if (stream != nullptr) MPI_Abort(MPI_COMM_WORLD, 6);
        MPI_Barrier(MPI_COMM_WORLD);  // the next case may have the same directory
    }
    MPI_Finalize();
    return 0;
}
