#include <gtest/gtest.h>

#include "../error_of.hpp"
#include "layout/keys.hpp"

namespace tailrace {
namespace {

using Environment = std::map<std::string, std::string>;

// As all messages about an unknown key end.
const std::string kList = [] {
    std::string names;
    for (const Key& key : all_keys()) names += (names.empty() ? "The keys are: " : ", ") + key.name;
    return names;
}();

const std::string kTables = "The tables are: stream, trace, place, stage, machine, ensemble";

TEST(Settings, TomlTakesStringsNumbersAndBooleans) {
    const StreamConfig config = resolve(
        {parse_options("steps = 24\nchecksum = false\nalignment = 1048576\nfiles = 'per-rank'\nlayout = 'shared'", "options")});
    EXPECT_EQ(config.layout.steps, 24u);
    EXPECT_FALSE(config.layout.storage.checksum);
    EXPECT_EQ(config.layout.storage.alignment_bytes, 1u << 20);
    EXPECT_EQ(config.layout.files.kind, Files::Kind::per_rank);
}

TEST(Settings, TheDefaultIsOneFileThatGrows) {
    const auto layout_of = [](const std::string& toml) { return resolve({parse_options(toml, "options")}).layout; };
    const Layout grows{.writers = {Writers::Kind::per_node}, .steps = Layout::kAllSteps};
    EXPECT_EQ(layout_of(""), grows);
    EXPECT_EQ(layout_of("durability = 'step'").steps, Layout::kAllSteps);
    EXPECT_EQ(layout_of("files = 'per-rank'"), (Layout{.files = {Files::Kind::per_rank}, .steps = Layout::kAllSteps}));
    EXPECT_EQ(layout_of("writers = 'all'"), (Layout{.writers = {Writers::Kind::all}, .steps = Layout::kAllSteps}));
    EXPECT_EQ(layout_of("keep = 3"), (Layout{.writers = {Writers::Kind::per_node}, .steps = 1}));
    EXPECT_EQ(layout_of("keep = 'all'"), grows);
    EXPECT_EQ(layout_of("layout = 'single'"), Layout{});
    EXPECT_EQ(layout_of("layout = 'fpp'").steps, 1u);
    EXPECT_EQ(layout_of("layout = 'fpp'\nsteps = 'all'").steps, Layout::kAllSteps);
    EXPECT_EQ(resolve({}).preset, "collective");
    EXPECT_EQ(resolve({parse_options("steps = 'all'", "program"), parse_options("layout = 'hds'", "file")}).layout.steps,
              Layout::kAllSteps);
}

TEST(Settings, ErrorsNameOriginLineAndRemedy) {
    const auto message = [](const std::string& toml) {
        const Error error = error_of([&] { parse_options(toml, "options"); });
        EXPECT_EQ(error.status(), Status::BAD_CONFIG);
        return std::string(error.what());
    };
    EXPECT_EQ(message("layout = 'fpp'\nlayot = 'fpp'"), "options, line 2: unknown key 'layot'; did you mean 'layout'? " + kList);
    EXPECT_EQ(message("Steps = 1"), "options, line 1: unknown key 'Steps'; did you mean 'steps'? " + kList);
    EXPECT_EQ(message("stripecount = [1, 2]"), "options, line 1: unknown key 'stripecount'; did you mean 'stripe_count'? " + kList);
    EXPECT_EQ(message("\n\nsteps = 1.5"), "options, line 3: steps = '1.5' is not possible; allowed: 1 | N | all (N at least 1)");
    EXPECT_EQ(message("steps = [1]"), "options, line 1: steps is of TOML type array; write a string, a number, or true or false");
    EXPECT_EQ(message("steps = -1"), "options, line 1: steps = '-1' is not possible; allowed: 1 | N | all (N at least 1)");
    EXPECT_TRUE(message("layout = fpp").starts_with("options, line 1: this is not valid TOML: ")) << message("layout = fpp");
    EXPECT_TRUE(message("steps = 1\nsteps = 2").starts_with("options, line 2: this is not valid TOML: "))
        << message("steps = 1\nsteps = 2");
}

TEST(Settings, ATimeImpliesThatTheStreamIsResumed) {
    const auto in_force = [](const std::string& toml) { return resolve({parse_options(toml, "options")}); };
    EXPECT_EQ(in_force("resume_before = 0.1").resume_before, 0.1);
    EXPECT_EQ(in_force("resume_before = '+1e3'").resume_before, 1000.0);
    EXPECT_EQ(in_force("resume_before = -7").resume_before, -7.0);
    EXPECT_EQ(in_force("resume_before = 2.5").mode, "resume");
    EXPECT_EQ(in_force("resume_before = 2.5\nmode = 'append'").mode, "append");
    EXPECT_EQ(in_force("resume_before = 'first'").mode, "append");
    EXPECT_EQ(in_force("mode = 'resume'").resume_before, std::nullopt);
    EXPECT_EQ(effective_json(in_force("resume_before = 0.1")).at("resume_before"), "0.1");
    for (const char* value : {"nan", "inf", "'soon'", "'1 '", "''"}) {
        const Error error = error_of([&] { in_force(std::string("resume_before = ") + value); });
        EXPECT_EQ(error.status(), Status::BAD_CONFIG) << value;
    }
}

TEST(Settings, ConfigFileHasDefaultsAndATablePerStream) {
    const std::string file = "[stream.history]\nlayout = 'hds'\n[stream.default]\nsteps = 'all'\n[stream.plot]\nsteps = 1\n";
    const auto history = parse_config_file(file, "tailrace.toml", "history");
    ASSERT_EQ(history.size(), 2u);
    EXPECT_EQ(history[0].origin, "tailrace.toml, [stream.default]");
    EXPECT_EQ(history[1].origin, "tailrace.toml, [stream.history]");
    EXPECT_EQ(resolve(history).layout.tree_entries, 1000u);
    EXPECT_EQ(resolve(history).layout.steps, Layout::kAllSteps);
    EXPECT_EQ(resolve(parse_config_file(file, "tailrace.toml", "plot")).layout.steps, 1u);
    EXPECT_EQ(parse_config_file(file, "tailrace.toml", "other").size(), 1u);
    EXPECT_EQ(parse_config_file(file, "tailrace.toml", "default").size(), 1u);
    EXPECT_TRUE(parse_config_file("", "tailrace.toml", "plot").empty());
}

TEST(Settings, EveryTableOfTheConfigFileIsChecked) {
    const auto message = [](const std::string& toml) {
        return std::string(error_of([&] { parse_config_file(toml, "run/tailrace.toml", "history"); }).what());
    };
    EXPECT_EQ(message("[stream.history]\n[stream.plot]\nfile = 'one'"),
              "run/tailrace.toml, line 3: unknown key 'file'; did you mean 'files'? " + kList);
    EXPECT_EQ(message("[stream.plot]\nfiles = 'two'"),
              "run/tailrace.toml, line 2: files = 'two' is not possible; allowed: one | per-node | per-rank | N (N at least 1)");
    EXPECT_EQ(message("layout = 'fpp'"),
              "run/tailrace.toml, line 1: key 'layout' stands outside of a table; did you mean 'layout' under [stream.default] or "
              "[stream.NAME]?");
    EXPECT_EQ(message("[stream]\nlayout = 'fpp'"),
              "run/tailrace.toml, line 2: 'layout' stands in [stream] itself; put keys under [stream.default] or [stream.NAME]");
    EXPECT_EQ(message("[streams.history]"),
              "run/tailrace.toml, line 1: unknown table [streams]; did you mean [stream]? " + kTables);
    EXPECT_EQ(message("[stream.plot]\nfiles = 'one'\n[stages]\nx = 1"),
              "run/tailrace.toml, line 3: unknown table [stages]; did you mean [stage]? " + kTables);
    EXPECT_EQ(message("[[place]]\n[[place]]\n[[plase]]"),
              "run/tailrace.toml, line 3: unknown table [plase]; did you mean [place]? " + kTables);
    EXPECT_EQ(message("fils = 1"),
              "run/tailrace.toml, line 1: key 'fils' stands outside of a table; did you mean 'files' under "
              "[stream.default] or [stream.NAME]?");
    EXPECT_EQ(message("stream = 1"),
              "run/tailrace.toml, line 1: 'stream' is a table and has no value; write [stream.NAME] and its keys "
              "below it");
    EXPECT_EQ(message("trace = 'logs'"),
              "run/tailrace.toml, line 1: 'trace' is a table and has no value; write [trace] and its keys below it");
}

TEST(Settings, ReservedTablesArePassedOver) {
    std::string file = "[stream.history]\nsteps = 3\n";
    for (const ConfigTable& table : config_tables())
        if (table.name != "stream") file += "[" + table.name + "]\nanything = [1, 'two']\n[" + table.name + ".below]\nlayout = 7\n";
    EXPECT_EQ(resolve(parse_config_file(file, "tailrace.toml", "history")).layout.steps, 3u);
    EXPECT_TRUE(parse_config_file(file, "tailrace.toml", "trace").empty());
}

TEST(Settings, EnvironmentIsForAllStreamsOrForOne) {
    const Environment environment{{"PATH", "/bin"},
                                  {"TAILRACE_CONFIG", "x.toml"},
                                  {"TAILRACE_STEPS", "all"},
                                  {"TAILRACE_MY_PLOT_STEPS", "2"},
                                  {"TAILRACE_MY_PLOT_ALIGN_THRESHOLD", "1 MiB"},
                                  {"TAILRACE_HISTORY_LAYOUT", "fpp"},
                                  {"TAILRACE_MODE", ""}};
    const StreamConfig plot = resolve(parse_environment(environment, "my-plot"));
    EXPECT_EQ(plot.layout.steps, 2u);
    EXPECT_EQ(plot.layout.storage.align_threshold_bytes, 1u << 20);
    EXPECT_EQ(plot.layout.files.kind, Files::Kind::one);
    const StreamConfig history = resolve(parse_environment(environment, "history"));
    EXPECT_EQ(history.layout.steps, Layout::kAllSteps);
    EXPECT_EQ(history.layout.files.kind, Files::Kind::per_rank);
    EXPECT_TRUE(parse_environment({{"HOME", "/"}}, "history").empty());
}

TEST(Settings, EnvironmentOfModuleSystemsIsNoKey) {
    for (const char* name : {"TAILRACE_ROOT", "TAILRACE_DIR", "TAILRACE_HOME", "TAILRACE_VERSION"})
        EXPECT_TRUE(parse_environment({{name, "/opt/tailrace"}}, "history").empty()) << name;
}

TEST(Settings, VariablesThatOthersReadArePassedOver) {
    for (const EnvironmentVariable& variable : all_variables()) {
        if (variable.is_pattern) continue;
        EXPECT_EQ(parse_environment({{variable.name, "1"}}, "history").size(), variable.is_key ? 1u : 0u) << variable.name;
    }
}

TEST(Settings, EnvironmentOfDefaultIsForAllStreams) {
    const Environment environment{{"TAILRACE_DEFAULT_LAYOUT", "fpp"}, {"TAILRACE_PLOT_LAYOUT", "single"}};
    EXPECT_EQ(resolve(parse_environment(environment, "history")).layout.files.kind, Files::Kind::per_rank);
    EXPECT_EQ(resolve(parse_environment(environment, "plot")).layout.files.kind, Files::Kind::one);
}

TEST(Settings, EnvironmentErrorsNameTheVariable) {
    const auto message = [](const Environment& environment) {
        const Error error = error_of([&] { parse_environment(environment, "history"); });
        EXPECT_EQ(error.status(), Status::BAD_CONFIG);
        return std::string(error.what());
    };
    EXPECT_TRUE(message({{"TAILRACE_LAYOT", "fpp"}})
                    .starts_with("environment variable TAILRACE_LAYOT is not a key; did you mean TAILRACE_LAYOUT? Known are"));
    EXPECT_TRUE(message({{"TAILRACE_CONFG", "x"}})
                    .starts_with("environment variable TAILRACE_CONFG is not a key; did you mean TAILRACE_CONFIG? Known are"));
    EXPECT_EQ(message({{"TAILRACE_HISTORY_STEPS", "none"}}),
              "environment variable TAILRACE_HISTORY_STEPS: steps = 'none' is not possible; allowed: 1 | N | all (N at least 1)");
    EXPECT_EQ(message({{"TAILRACE_OTHER_STEPS", "none"}}),
              "environment variable TAILRACE_OTHER_STEPS: steps = 'none' is not possible; allowed: 1 | N | all (N at least 1)");
}

TEST(Settings, RequestedValuesHaveTheOriginOfTheStrongest) {
    const auto json =
        requested_json({parse_options("layout = 'fpp'\nsteps = 2", "options"), parse_options("steps = 'all'", "file")});
    EXPECT_EQ(json.dump(), R"({"layout":{"value":"fpp","origin":"options"},"steps":{"value":"all","origin":"file"}})");
}

TEST(Check, ContradictionsAreRefusedWithTheRemedy) {
    using F = Files::Kind;
    using W = Writers::Kind;
    const auto message = [](const Layout& layout) {
        const Error error = error_of([&] { check_choices(layout); });
        EXPECT_EQ(error.status(), Status::BAD_LAYOUT);
        return std::string(error.what());
    };
    EXPECT_EQ(
        message({.files = {F::per_rank}, .writers = {W::all}}),
        "writers = all contradicts files = per-rank: each file is one rank's; set writers = one (layout = fpp), or files = one "
        "(layout = shared)");
    EXPECT_EQ(
        message({.files = {F::per_rank}, .writers = {W::per_node}}),
        "writers = per-node contradicts files = per-rank: each file is one rank's; set writers = one (layout = fpp), or files = "
        "per-node (layout = node)");
    EXPECT_EQ(
        message({.files = {F::per_rank}, .writers = {W::dedicated, 3}}),
        "writers = dedicated:3 contradicts files = per-rank: each file is one rank's; set writers = one, or files = N or per-node");
    EXPECT_EQ(message({.files = {F::number, 0}}),
              "files = 0 leaves no file to write; set files = N with N at least 1, or files = one");
    EXPECT_EQ(message({.writers = {W::dedicated, 0}}),
              "writers = dedicated:0 leaves no rank to write; set dedicated:N with N at least 1, or writers = one");
    EXPECT_EQ(message({.tree_entries = 7}),
              "tree = 7 is too small a bound on the entries of a directory; set at least 8, or tree = flat");
    EXPECT_EQ(
        message({.steps = Layout::kAllSteps, .stage = Stage::scratch}),
        "steps = all contradicts stage = scratch: a file leaves scratch when it is complete, and this one never is; set steps = N, "
        "or stage = none");
}

TEST(Check, CompressionThatMakesNoSenseSaysWhatDoes) {
    const Compression deflate{Compression::Kind::deflate, 1};
    const auto message = [](const Storage& storage, Files files = {}, Writers writers = {}, uint64_t steps = 1) -> std::string {
        return error_of([&] { check_choices({.files = files, .writers = writers, .steps = steps, .storage = storage}); }).what();
    };
    EXPECT_EQ(message({.chunk_bytes = 1 << 20}),
              "chunk = 1 MiB has no effect without compression: an array is stored as one extent; set compression = deflate, or "
              "chunk = 0");
    EXPECT_EQ(message({.bit_round = 7}),
              "bit_round = 7 has no effect without compression: it makes no file smaller; set compression = deflate, or "
              "bit_round = 0");
    EXPECT_EQ(message({.compression = deflate, .chunk_bytes = 1000}),
              "chunk = 1000 is not from 32 KiB to 2 GiB; set such a size, or chunk = 0");
    const std::string several = message({.compression = deflate}, {Files::Kind::number, 2}, {Writers::Kind::all}, 4);
    EXPECT_TRUE(several.ends_with("set writers = one, files = one or steps = 1")) << several;
    EXPECT_NO_THROW(
        check_choices({.files = {Files::Kind::number, 2}, .writers = {Writers::Kind::all}, .storage = {.compression = deflate}}));
    EXPECT_NO_THROW(check_choices({.writers = {Writers::Kind::all}, .steps = 0, .storage = {.compression = deflate}}));
}

TEST(Check, WhatContradictsScratchIsRefusedWithTheRemedy) {
    const auto message = [](const std::string& keys) -> std::string {
        const StreamConfig config = resolve({parse_options("layout = 'scratch'\n" + keys, "options")});
        return error_of([&] { check_config(config); }).what();
    };
    EXPECT_EQ(
        message("files = 'one'\nwriters = 'all'"),
        "stage = scratch needs writers = one: a file on scratch is seen by the ranks of one node; set writers = one, or stage = "
        "none");
    EXPECT_EQ(
        message("overlap = 2"),
        "overlap = 2 contradicts stage = scratch: the simulation continues already while parts are carried to their target; set "
        "overlap = 0, or stage = none");
    EXPECT_EQ(
        message("checksum = false"),
        "checksum = off contradicts stage = scratch: a step is committed when its parts have arrived with their checksums; set "
        "checksum = on, or stage = none");
    EXPECT_EQ(
        message("stripe_count = 4"),
        "stripe_count and stripe_size have no effect with stage = scratch: the copies of parts are striped as their directory "
        "is; set its striping (lfs setstripe), or stage = none");
    for (const char* keys :
         {"", "steps = 3", "files = 'one'", "files = 'per-node'", "tree = 8", "keep = 2", "compression = 'zstd'"})
        EXPECT_NO_THROW(check_config(resolve({parse_options(std::string("layout = 'scratch'\n") + keys, "options")}))) << keys;
}

TEST(Settings, StageOfTheConfigurationFileHoldsForStreams) {
    const std::string toml =
        "[stage]\nfiles = ['out/**']\nscratch = '/dev/shm'\nmin_free = '2 GiB'\n[stream.T]\nmin_free = '1 MiB'\n";
    const StreamConfig other = resolve(parse_config_file(toml, "tailrace.toml", "other"));
    EXPECT_EQ(other.scratch, "/dev/shm");
    EXPECT_EQ(other.min_free_bytes, 2ull << 30);
    EXPECT_EQ(resolve(parse_config_file(toml, "tailrace.toml", "T")).min_free_bytes, 1u << 20);
    EXPECT_EQ(error_of([&] { parse_config_file("[stage]\nmin_free = 'much'\n", "tailrace.toml", "T"); }).status(),
              Status::BAD_CONFIG);
}

TEST(Check, PresetsTakeAnyNumberOfSteps) {
    for (const char* preset : {"single", "fpp", "hds", "shared"})
        for (const char* steps : {"1", "7", "'all'"})
            EXPECT_NO_THROW(check_config(resolve(
                {parse_options(std::string("layout = '") + preset + "'\nsteps = " + steps + "\ndurability = 'step'", "o")})));
}

TEST(Check, KeepingSomeStepsNeedsFilesThatEnd) {
    EXPECT_NO_THROW(check_config(resolve({parse_options("keep = 2\nsteps = 3", "options")})));
    const StreamConfig config = resolve({parse_options("keep = 2\nsteps = 'all'", "options")});
    EXPECT_EQ(
        std::string(error_of([&] { check_config(config); }).what()),
        "keep = 2 contradicts steps = all: old steps are removed with their files, and here one file holds all steps; set steps = "
        "N, or keep = all");
}

}  // namespace
}  // namespace tailrace
