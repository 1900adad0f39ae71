#include "layout/keys.hpp"

#include <gtest/gtest.h>

#include <set>

#include "../error_of.hpp"
#include "layout/value.hpp"

namespace tailrace {
namespace {

StreamConfig config_of(const std::string& toml) { return resolve({parse_options(toml, "options")}); }

TEST(Value, SizesHaveUnitsOf1024) {
    const std::map<std::string, uint64_t> good{{"0", 0},
                                               {"4096", 4096},
                                               {"4096 B", 4096},
                                               {"4 KiB", 4096},
                                               {"1MiB", 1 << 20},
                                               {"3 GiB", 3ULL << 30},
                                               {"16777215 TiB", 16777215ULL << 40}};
    for (const auto& [text, bytes] : good) EXPECT_EQ(parse_size(text), bytes) << text;
    for (const char* text :
         {"", "KiB", " 4 KiB", "4  KiB", "4 kb", "4 KB", "4k", "-4", "4.5 MiB", "1e6", "16777216 TiB", "99999999999999999999"})
        EXPECT_EQ(parse_size(text), std::nullopt) << text;
    for (const unsigned long long bytes :
         {0ULL, 1ULL, 1023ULL, 1024ULL, 1536ULL, 4096ULL, 3ULL << 20, 5ULL << 40, UINT64_MAX + 0ULL})
        EXPECT_EQ(parse_size(size_text(bytes)), bytes) << size_text(bytes);
    EXPECT_EQ(size_text(3 << 20), "3 MiB");
}

TEST(Value, NearestIsByEdits) {
    const std::vector<std::string> words{"files", "tree", "time"};
    EXPECT_EQ(nearest("fils", words), "files");
    EXPECT_EQ(nearest("tre", words), "tree");
    EXPECT_EQ(nearest("timee", words), "time");
}

TEST(Keys, EachKeyReadsBackWhatItSays) {
    const std::map<std::string, std::vector<std::string>> values{
        {"layout", {"single", "fpp", "hds", "split:8", "node", "shared", "collective", "scratch"}},
        {"files", {"one", "per-node", "per-rank", "7"}},
        {"writers", {"one", "per-node", "all", "dedicated:3"}},
        {"steps", {"1", "24", "all"}},
        {"tree", {"flat", "8", "1000"}},
        {"stage", {"none", "scratch"}},
        {"overlap", {"0", "2"}},
        {"stripe_count", {"0", "4"}},
        {"stripe_size", {"0", "1 MiB"}},
        {"alignment", {"8", "4 KiB"}},
        {"align_threshold", {"0", "64 KiB"}},
        {"compression", {"none", "deflate:9", "zstd:3"}},
        {"shuffle", {"on", "off"}},
        {"chunk", {"0", "4 MiB"}},
        {"bit_round", {"0", "12"}},
        {"durability", {"none", "close", "step"}},
        {"checksum", {"on", "off"}},
        {"mode", {"append", "replace", "resume"}},
        {"resume_before", {"first", "2.5"}},
        {"take_over", {"on", "off"}},
        {"time", {"time", "t_2"}},
        {"keep", {"all", "3"}},
        {"overlap_memory", {"1 MiB", "2 GiB"}},
        {"overlap_policy", {"block", "drop", "spill"}},
        {"spill_directory", {"/tmp", "/local/scratch"}},
        {"scratch", {"auto", "/dev/shm", "$TMPDIR/mine"}},
        {"min_free", {"0", "1 GiB"}},
        {"exchange_bytes", {"64 KiB", "1 GiB"}},
        {"ranks_per_node", {"0", "2"}},
    };
    std::set<std::string> names;
    for (const Key& key : all_keys()) {
        EXPECT_TRUE(names.insert(key.name).second) << key.name << " is declared twice";
        EXPECT_FALSE(key.meaning.empty());
        ASSERT_TRUE(values.contains(key.name)) << key.name << " has no values in this test";
        for (const std::string& value : values.at(key.name)) {
            StreamConfig config;
            key.set(value, config);
            EXPECT_EQ(key.get(config), value) << key.name;
            StreamConfig again;
            key.set(key.get(config), again);
            EXPECT_EQ(again.layout, config.layout) << key.name;
        }
    }
    EXPECT_EQ(names.size(), values.size());
}

constexpr const char* kCompressions = "none | deflate[:N] (N from 1, the default, to 9) | zstd[:N] (N from 1, the default, to 19)";

TEST(Keys, ACodecAloneIsItsLeastLevel) {
    for (const Key& key : all_keys())
        if (key.name == "compression") {
            StreamConfig config;
            key.set("deflate", config);
            EXPECT_EQ(key.get(config), "deflate:1");
        }
}

TEST(Keys, RefusedValuesNameKeyValueAndWhatIsAllowed) {
    const std::vector<std::tuple<std::string, std::string, std::string>> refused{
        {"layout", "fp", "single | fpp | hds | split:N | node | shared | collective | scratch"},
        {"layout", "split", "split:N, with N files, such as split:8"},
        {"layout", "split:0", "split:N, with N files, such as split:8"},
        {"layout", "split:x", "single | fpp | hds | split:N | node | shared | collective | scratch"},
        {"layout", "fpp:3", "fpp, without a number"},
        {"files", "two", "one | per-node | per-rank | N (N at least 1)"},
        {"files", "0", "one | per-node | per-rank | N (N at least 1)"},
        {"files", "-1", "one | per-node | per-rank | N (N at least 1)"},
        {"writers", "dedicated:0", "one | per-node | all | dedicated:N (N at least 1)"},
        {"writers", "dedicated", "one | per-node | all | dedicated:N (N at least 1)"},
        {"steps", "0", "1 | N | all (N at least 1)"},
        {"steps", "many", "1 | N | all (N at least 1)"},
        {"tree", "7", "flat | N (N at least 8)"},
        {"tree", "0", "flat | N (N at least 8)"},
        {"stage", "tape", "none | scratch"},
        {"scratch", "", "auto | a folder on a disk of the node, such as /dev/shm; $NAME is a variable"},
        {"min_free", "much", "a size, such as 1 GiB; or 0"},
        {"overlap", "-1", "N"},
        {"stripe_count", "four", "N"},
        {"stripe_size", "100 KiB", "a size that is a multiple of 64 KiB, such as 1 MiB; or 0"},
        {"alignment", "0", "a size that is a multiple of 8, such as 4 KiB or 1 MiB"},
        {"alignment", "12", "a size that is a multiple of 8, such as 4 KiB or 1 MiB"},
        {"align_threshold", "64 KB", "a size, such as 64 KiB"},
        {"compression", "gzip", kCompressions},
        {"compression", "deflate:10", kCompressions},
        {"compression", "zstd:0", kCompressions},
        {"shuffle", "yes", "on | off"},
        {"chunk", "big", "a size from 32 KiB to 2 GiB, such as 4 MiB; or 0"},
        {"bit_round", "few", "N"},
        {"durability", "always", "none | close | step"},
        {"checksum", "true", "on | off"},
        {"mode", "overwrite", "append | replace | resume"},
        {"resume_before", "soon", "first | TIME, a number"},
        {"take_over", "maybe", "on | off"},
        {"time", "2time", "a name of letters, digits and _ that begins with a letter"},
        {"time", "", "a name of letters, digits and _ that begins with a letter"},
        {"keep", "0", "all | N (N at least 1)"},
        {"overlap_memory", "1 KiB", "a size of at least 1 MiB, such as 1 GiB"},
        {"overlap_policy", "forget", "block | drop | spill"},
        {"spill_directory", "", "a directory of a fast local disk"},
        {"exchange_bytes", "1 KiB", "a size of at least 64 KiB, such as 32 MiB"},
        {"ranks_per_node", "2.5", "N"},
    };
    std::set<std::string> seen;
    for (const auto& [key, value, allowed] : refused) {
        seen.insert(key);
        const Error error = error_of([&] { config_of("\n" + key + " = '" + value + "'"); });
        EXPECT_EQ(error.status(), Status::BAD_CONFIG);
        EXPECT_EQ(error.what(), "options, line 2: " + key + " = '" + value + "' is not possible; allowed: " + allowed);
    }
    EXPECT_EQ(seen.size(), all_keys().size()) << "a key has no refused value in this test";
}

TEST(Keys, PresetsAreThePointsOfTheDesign) {
    using F = Files::Kind;
    using W = Writers::Kind;
    struct Point {
        std::string preset;
        Files files;
        Writers writers;
        uint64_t tree_entries = 0;
        Stage stage = Stage::none;
    };
    const std::vector<Point> points{
        {"single", {F::one}, {W::one}},          {"fpp", {F::per_rank}, {W::one}},
        {"hds", {F::per_rank}, {W::one}, 1000},  {"split:8", {F::number, 8}, {W::one}},
        {"node", {F::per_node}, {W::one}},       {"shared", {F::one}, {W::all}},
        {"collective", {F::one}, {W::per_node}}, {"scratch", {F::per_rank}, {W::one}, 0, Stage::scratch}};
    ASSERT_EQ(points.size(), all_presets().size());
    for (const Point& point : points) {
        // A preset leaves nothing of an earlier one.
        for (const char* before : {"single", "hds", "scratch", "shared"}) {
            const auto earlier = parse_options(std::string("layout = '") + before + "'", "a");
            const Layout layout = resolve({earlier, parse_options("layout = '" + point.preset + "'", "b")}).layout;
            EXPECT_EQ(layout.files, point.files) << point.preset;
            EXPECT_EQ(layout.writers, point.writers) << point.preset;
            EXPECT_EQ(layout.tree_entries, point.tree_entries) << point.preset;
            EXPECT_EQ(layout.stage, point.stage) << point.preset;
        }
    }
    EXPECT_EQ(config_of("layout = 'split:1'").layout.files, (Files{F::one}));
    EXPECT_EQ(config_of("files = 1").layout.files, (Files{F::one}));
}

TEST(Keys, SingleKeysOverrideTheirPresetWhateverTheOrder) {
    for (const char* toml : {"layout = 'fpp'\ntree = 500", "tree = 500\nlayout = 'fpp'"}) {
        const StreamConfig config = config_of(toml);
        EXPECT_EQ(config.layout.tree_entries, 500u);
        EXPECT_EQ(config.layout.files.kind, Files::Kind::per_rank);
        EXPECT_EQ(config.preset, "fpp");
    }
    const StreamConfig config = resolve({parse_options("tree = 500", "weak"), parse_options("layout = 'fpp'", "strong")});
    EXPECT_EQ(config.layout.tree_entries, 0u) << "a stronger preset decides the tree, too";
}

TEST(Keys, JsonHoldsAllKeysAndPresets) {
    const auto json = keys_json();
    EXPECT_EQ(json["keys"].size(), all_keys().size());
    std::vector<std::string> presets;
    for (const auto& preset : json["presets"]) presets.push_back(preset["name"].get<std::string>());
    EXPECT_EQ(presets, (std::vector<std::string>{"single", "fpp", "hds", "split:N", "node", "shared", "collective", "scratch"}));
    EXPECT_EQ(json["presets"][2].dump(),
              R"({"name":"hds","meaning":"a file for each rank, in a tree of directories of bounded size",)"
              R"("keys":{"files":"per-rank","writers":"one","steps":"1","tree":"1000","stage":"none"}})");
    const auto effective = effective_json(config_of("layout = 'split:4'\nexchange_bytes = '1MiB'\nchecksum = false"));
    EXPECT_EQ(effective["layout"], "split:4");
    EXPECT_EQ(effective["files"], "4");
    EXPECT_EQ(effective["exchange_bytes"], "1 MiB");
    EXPECT_EQ(effective["checksum"], "off");
}

}  // namespace
}  // namespace tailrace
