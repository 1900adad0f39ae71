#include "layout/parts.hpp"

#include <gtest/gtest.h>

#include <set>

#include "../sanitized.hpp"
#include "layout/directory_census.hpp"
#include "layout/keys.hpp"

namespace tailrace {
namespace {

Layout layout_of(const std::string& toml) { return resolve({parse_options(toml, "test")}).layout; }

// Nodes with as many ranks each, and with others.
std::vector<Topology> topologies() {
    std::vector<Topology> all;
    for (uint64_t ranks = 1; ranks < 20; ++ranks)
        for (uint64_t nodes = 1; nodes <= ranks; ++nodes) all.push_back({ranks, nodes});
    for (const std::vector<uint64_t>& sizes : {std::vector<uint64_t>{4, 4, 1}, {1, 5}, {2, 7, 1, 3}, {8, 8, 8, 2}, {1, 1, 1, 6}})
        all.push_back(topology_of(sizes));
    return all;
}

TEST(PartMap, EachRankIsInOnePartAndEachPartHasWritersOfItsOwn) {
    for (const char* toml : {"layout = 'single'", "layout = 'fpp'", "layout = 'split:5'", "layout = 'node'", "layout = 'shared'",
                             "layout = 'collective'", "files = 3\nwriters = 'all'", "files = 3\nwriters = 'per-node'",
                             "files = 'per-node'\nwriters = 'dedicated:2'", "writers = 'dedicated:100'"}) {
        const Layout layout = layout_of(toml);
        for (const Topology& topology : topologies()) {
            const uint64_t ranks = topology.ranks;
            const PartMap map(layout, topology);
            EXPECT_EQ(map.first_rank(0), 0u);
            EXPECT_EQ(map.first_rank(map.parts()), ranks);
            for (uint64_t part = 0; part < map.parts(); ++part) {
                ASSERT_LT(map.first_rank(part), map.last_rank(part)) << toml;
                for (uint64_t rank = map.first_rank(part); rank < map.last_rank(part); ++rank)
                    ASSERT_EQ(map.part_of(rank), part) << toml << " " << rank << " of " << ranks;
                std::set<uint64_t> writers;
                for (uint64_t k = 0; k < map.writers(part); ++k) {
                    writers.insert(map.writer(part, k));
                    ASSERT_EQ(*writers.rbegin(), map.writer(part, k)) << "writers ascend";
                }
                ASSERT_EQ(writers.size(), map.writers(part)) << toml;
                ASSERT_GE(*writers.begin(), map.first_rank(part)) << toml;
                ASSERT_LT(*writers.rbegin(), map.last_rank(part)) << toml;
            }
        }
    }
}

TEST(PartPath, IsAsInTheArchitecturePage) {
    EXPECT_EQ(part_path(layout_of("steps = 'all'"), "history", 0, 0), "history.nc");
    EXPECT_EQ(part_path(layout_of("steps = 1"), "history", 12, 0), "history.parts/000012.nc");
    EXPECT_EQ(part_path(layout_of("layout = 'fpp'"), "history", 12, 3), "history.parts/000012/history.000012.000003.nc");
    const Layout hds = layout_of("layout = 'hds'");
    EXPECT_EQ(part_path(hds, "history", 1200, 2500), "history.parts/001/001200/002/history.001200.002500.nc");
    EXPECT_EQ(part_path(hds, "h", 0, 996 * 996), "h.parts/000/000000/+/001/000/h.000000.992016.nc");
    EXPECT_EQ(pending_path(hds, "h", 7), "h.parts/.pending-000007");
    EXPECT_EQ(pending_path(hds, "h", 7, 3), "h.parts/.pending-3-000007") << "each run has its own";
    EXPECT_EQ(pending_index_path("h", 3), "h.parts/.pending-3-index");
    EXPECT_EQ(run_of_pending(".pending-3-000007.nc"), 3u);
    EXPECT_EQ(run_of_pending(".pending-12-index"), 12u);
    for (const char* name : {".pending-000007", ".pending-000007.nc", ".pending-index", ".pending-writer-n1-15", "000012-3"})
        EXPECT_EQ(run_of_pending(name), 0u) << name;
    EXPECT_EQ(segment_of_group("000012-3"), 3u);
    EXPECT_EQ(segment_of_group("000012-3.nc"), 3u);
    for (const char* name : {"000012", "000012.nc", ".pending-3-000007", "torn-3"})
        EXPECT_EQ(segment_of_group(name), name[0] == 't' ? 3u : 0u) << name;
    EXPECT_EQ(part_path(layout_of("steps = 'all'"), "h", 0, 0, 3), "h.parts/000000-3.nc");
    EXPECT_EQ(part_path(layout_of("layout = 'fpp'"), "h", 12, 3, 2), "h.parts/000012-2/h.000012.000003.nc");
    EXPECT_EQ(journal_path("h"), "h.parts/journal.jsonl");
    // Numbers of more than six digits are longer, not cut.
    EXPECT_EQ(part_path(layout_of("steps = 1"), "h", 1234567, 0), "h.parts/1234567.nc");
}

TEST(PartMap, NumbersTheWritersOfAPart) {
    for (const char* files : {"'one'", "3", "'per-node'", "'per-rank'"})
        for (const char* writers : {"'one'", "'all'", "'per-node'", "'dedicated:2'"})
            for (const Topology& topology : topologies()) {
                const Layout layout = layout_of("files = " + std::string(files) + "\nwriters = " + writers);
                const PartMap map(layout, topology);
                for (uint64_t rank = 0; rank < topology.ranks; ++rank) {
                    const uint64_t part = map.part_of(rank), count = map.writers(part);
                    uint64_t expected = count;
                    for (uint64_t k = 0; k < count; ++k)
                        if (map.writer(part, k) == rank) expected = k;
                    ASSERT_EQ(map.writer_number(part, rank), expected) << files << " " << writers << " rank " << rank;
                }
            }
}

TEST(PartMap, OneWriterANodeIsTheFirstRankOfThatNode) {
    const Topology topology = topology_of({4, 4, 1});
    const PartMap one(layout_of("layout = 'shared'\nwriters = 'per-node'"), topology), node(layout_of("layout = 'node'"), topology);
    for (const uint64_t k : {0, 1, 2}) {
        EXPECT_EQ(one.writer(0, k), 4 * k);
        EXPECT_EQ(node.first_rank(k), 4 * k);
    }
    EXPECT_EQ(node.last_rank(2), 9u);
}

TEST(PartPath, NoDirectoryHasMoreEntriesThanTheTreeAllows) {
    constexpr uint64_t kParts = kSanitized ? 5'000 : 100'000;
    for (const uint64_t bound : {8, 9, 20, 100, 1000})
        for (const char* files : {"'one'", "'per-rank'"}) {
            const Layout layout = layout_of("files = " + std::string(files) + "\nsteps = 1\ntree = " + std::to_string(bound));
            DirectoryCensus steps, parts;
            std::set<std::string> paths;
            steps.add("journal.jsonl");
            steps.add(".pending-100000");
            for (uint64_t i = 0; i < kParts; ++i) {
                const std::string group = group_path(layout, "s", i).substr(std::string("s.parts/").size());
                EXPECT_TRUE(paths.insert(group).second) << "two groups at " << group;
                steps.add(group);
                parts.add(part_path_in_group(layout, "s", 0, i));
            }
            EXPECT_LE(steps.most_entries(), bound) << files;
            EXPECT_LE(parts.most_entries(), bound) << files;
            EXPECT_GT(steps.directories(), 0u);
        }
    DirectoryCensus flat;
    for (uint64_t i = 0; i < 2000; ++i) flat.add(part_path_in_group(layout_of("layout = 'fpp'"), "s", 0, i));
    EXPECT_EQ(flat.most_entries(), 2000u);
}

TEST(DirectoryCensus, CountsDirectoriesOnce) {
    DirectoryCensus census;
    for (const char* path : {"a/x", "a/y", "a/b/z", "c", "d/e/f/g"}) census.add(path);
    EXPECT_EQ(census.directories(), 5u);   // a, a/b, d, d/e, d/e/f
    EXPECT_EQ(census.most_entries(), 3u);  // x, y, b in a; and a, c, d
    EXPECT_EQ(census.top_entries(), 3u);
}

}  // namespace
}  // namespace tailrace
