#include <gtest/gtest.h>

#include "../error_of.hpp"
#include "layout/keys.hpp"
#include "layout/plan.hpp"

namespace tailrace {
namespace {

using Asked = nlohmann::json;

TEST(PlanJson, AnswersWithCountsPartsAndMessages) {
    const Asked asked =
        Asked::parse(R"({"layout": "layout = 'split:2'\nsteps = 2", "ranks": 4, "nodes": 2, "steps": 3, "name": "plot",
        "variables": [{"name": "T", "type": "f4", "shape": [4, 6], "grid": [4, 1]}], "rank": 2})");
    const auto answer = plan_json(asked);
    EXPECT_EQ(answer["layout"]["files"], "2");
    EXPECT_EQ(answer["layout"]["steps"], "2");
    auto rest = answer;
    rest.erase("layout");
    ASSERT_EQ(rest["notes"].size(), 3u) << rest["notes"];
    EXPECT_TRUE(rest["notes"][0].get<std::string>().starts_with("several files with many steps each")) << rest["notes"];
    EXPECT_NE(rest["notes"][1].get<std::string>().find("--cnk_plc=uck"), std::string::npos) << rest["notes"];
    rest.erase("notes");
    // 24 bytes a rank and step, 8 for the time in each part; steps 0 and 1 in one group, step 2 in the next.
    EXPECT_EQ(rest,
              nlohmann::ordered_json::parse(R"({"ranks": 4, "nodes": 2, "steps": 3, "files": 4, "directories": 3, "writers": 2,
        "bytes": 336, "messages": 6, "message_bytes": 144, "largest_message_bytes": 24,
        "bytes_per_writer": {"min": 168, "max": 168},
        "entries_per_directory_max": 3,
        "parts": [{"path": "plot.parts/000000/plot.000000.000000.nc", "writers": [0],
                   "writer_count": 1, "ranks": [0, 1], "bytes": 112},
                  {"path": "plot.parts/000000/plot.000000.000001.nc", "writers": [2],
                   "writer_count": 1, "ranks": [2, 3], "bytes": 112}],
        "sends": [{"from": 1, "to": 0, "bytes": 24}, {"from": 3, "to": 2, "bytes": 24}],
        "rank_plan": {"rank": 2, "part": 1, "path": "plot.parts/000000/plot.000000.000001.nc", "sends": [],
            "receives": [{"from": 3, "to": 2, "bytes": 24}],
            "writes": [{"path": "plot.parts/000000/plot.000000.000001.nc", "address": 4096, "bytes": 48, "variable": "T"},
                       {"path": "plot.parts/000000/plot.000000.000001.nc", "address": 4144, "bytes": 8, "variable": "time"}]}})"))
        << answer.dump(2);
}

TEST(PlanJson, ListsTheFirstPartsAndMessagesOnly) {
    const auto answer =
        plan_json({{"layout", "layout = 'single'"}, {"ranks", 1000}, {"variables", {{{"name", "T"}, {"shape", {5000}}}}}});
    EXPECT_EQ(answer["sends"].size(), 64u);
    EXPECT_EQ(answer["sends"][63], (nlohmann::ordered_json{{"from", 64}, {"to", 0}, {"bytes", 40}}));
    EXPECT_FALSE(answer.contains("rank_plan"));
    const auto fpp =
        plan_json({{"layout", "layout = 'fpp'"}, {"ranks", 1000}, {"variables", {{{"name", "T"}, {"shape", {5000}}}}}});
    EXPECT_EQ(fpp["parts"].size(), 64u);
    EXPECT_TRUE(fpp["sends"].empty());
}

TEST(PlanJson, RefusesWhatCannotBePlanned) {
    const std::string good = R"("variables": [{"name": "T", "shape": [8, 8], "grid": [2, 2]}])";
    const std::vector<std::tuple<Status, std::string, std::string>> refused{
        {Status::BAD_ARGUMENT, R"({"ranks": 4})",
         "plan request: 'variables' is a list of at least one {\"name\", \"type\", \"shape\", \"grid\"}"},
        {Status::BAD_ARGUMENT, "[1]", "plan request: it is not a JSON object: [1]"},
        {Status::BAD_ARGUMENT, R"({"rank": 4, "rnks": 2})",
         "plan request: it has no 'rnks'; it has layout, ranks, nodes, steps, name, variables, rank, coordinates, attributes, "
         "time_attributes"},
        {Status::BAD_ARGUMENT, R"({"ranks": 0, )" + good + "}", "0 ranks on 1 nodes; each node needs at least one rank"},
        {Status::BAD_ARGUMENT, R"({"ranks": 4, "nodes": 5, )" + good + "}",
         "4 ranks on 5 nodes; each node needs at least one rank"},
        {Status::BAD_ARGUMENT, R"({"ranks": -4, )" + good + "}", "plan request: ranks = -4 is not a whole number"},
        {Status::BAD_ARGUMENT, R"({"ranks": 4, "steps": 0, )" + good + "}", "steps = 0: nothing to plan; give at least 1"},
        {Status::BAD_ARGUMENT, R"({"ranks": 8, )" + good + "}",
         "variable 'T': the grid 2x2 does not have one block for each of the 8 ranks"},
        {Status::BAD_ARGUMENT, R"({"ranks": 4, "rank": 4, )" + good + "}", "rank 4 is not one of 4 ranks (0 to 3)"},
        {Status::BAD_ARGUMENT, R"({"variables": [{"name": "T", "shape": [2], "grid": [1, 1]}]})",
         "variable 'T': the grid has 2 dimensions and the shape 1; give both as many"},
        {Status::BAD_ARGUMENT, R"({"variables": [{"name": "T", "shape": [2], "type": "f2"}]})",
         "plan request: type 'f2' is unknown; the types are i1, i2, i4, i8, u1, u2, u4, u8, f4, f8, S1"},
        {Status::BAD_ARGUMENT, R"({"variables": [{"name": "T", "shape": [1,1,1,1,1,1,1,1,1]}]})",
         "plan request: shape of 'T' has 9 dimensions; at most 8 are possible"},
        {Status::BAD_ARGUMENT, R"({"variables": [{"name": "T", "shape": [4294967296, 4294967296, 4294967296]}]})",
         "the steps together have 2^63 bytes or more"},
        {Status::BAD_CONFIG, R"({"layout": "files = 'two'", )" + good + "}",
         "layout, line 1: files = 'two' is not possible; allowed: one | per-node | per-rank | N (N at least 1)"},
        {Status::BAD_LAYOUT, R"({"ranks": 4, "layout": "layout = 'fpp'\nwriters = 'all'", )" + good + "}",
         "writers = all contradicts files = per-rank: each file is one rank's; set writers = one (layout = fpp), or files = one "
         "(layout = shared)"},
    };
    for (const auto& [status, request, message] : refused) {
        const Error error = error_of([&] { plan_json(Asked::parse(request)); });
        EXPECT_EQ(error.status(), status) << request;
        EXPECT_EQ(error.what(), message);
    }
}

}  // namespace
}  // namespace tailrace
