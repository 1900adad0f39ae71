#include "layout/plan.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <map>
#include <numeric>
#include <random>
#include <set>

#include "../error_of.hpp"
#include "../sanitized.hpp"
#include "layout/join.hpp"
#include "layout/keys.hpp"
#include "layout/part_boxes.hpp"
#include "layout/parts.hpp"
#include "layout/placement.hpp"

namespace tailrace {
namespace {

Layout planned_layout(const std::string& toml) { return resolve({parse_options(toml, "test")}).layout; }

// ---- brute force: element by element, from the rules as plan.hpp says them -----------------------------

struct TruePlan {
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> message_bytes;  // (from, to)
    std::map<uint64_t, uint64_t> writer_bytes;
    std::map<std::pair<std::string, uint64_t>, uint64_t> byte_writer;  // (path, address) -> rank
};

uint64_t owner_of(const PlanVariable& variable, uint64_t position) {
    uint64_t rank = 0, pitch = 1;
    for (size_t d = variable.shape.size(); d-- > 0; position /= variable.shape[d]) {
        const uint64_t index = position % variable.shape[d];
        uint64_t at = 0;
        while (split_begin(variable.shape[d], variable.grid[d], at + 1) <= index) ++at;
        rank += at * pitch;
        pitch *= variable.grid[d];
    }
    return rank;
}

// The arrays that hold a variable in a part: its positions in the variable, in the order of the file.
std::vector<std::vector<uint64_t>> arrays_of_part(const PlanRequest& request, const PlanVariable& variable, const PartMap& parts,
                                                  uint64_t part) {
    const Box whole{Shape(variable.shape.size(), 0), variable.shape};
    std::vector<Box> boxes{whole};
    if (request.layout.files.kind != Files::Kind::one) {
        boxes.clear();
        for (uint64_t rank = parts.first_rank(part); rank < parts.last_rank(part); ++rank)
            if (Box block = Decomposition(variable.shape, variable.grid).block(rank); block.elements() > 0) boxes.push_back(block);
        boxes = join_blocks(std::move(boxes));
    }
    std::vector<std::vector<uint64_t>> arrays;
    for (const Box& box : boxes) {
        const Spans spans(variable.shape, box);
        arrays.emplace_back();
        for (uint64_t span = 0; span < spans.count(); ++span)
            for (uint64_t i = 0; i < spans.length(); ++i) arrays.back().push_back(spans.begin(span) + i);
    }
    return arrays;
}

bool written_by_owners(const PlanRequest& request, const PlanVariable& variable, const std::vector<uint64_t>& positions) {
    if (request.layout.writers.kind != Writers::Kind::all) return false;
    uint64_t shortest = UINT64_MAX, length = 0;
    for (size_t i = 0; i < positions.size(); ++i) {
        ++length;
        if (i + 1 < positions.size() && owner_of(variable, positions[i + 1]) == owner_of(variable, positions[i])) continue;
        shortest = std::min(shortest, length);
        length = 0;
    }
    return shortest * type_bytes(variable.type) >= kDirectSpanBytes;
}

TruePlan by_element(const PlanRequest& request) {
    TruePlan truth;
    const PartMap parts(request.layout, request.topology);
    for (uint64_t part = 0; part < parts.parts(); ++part)
        for (uint64_t k = 0; k < parts.writers(part); ++k) truth.writer_bytes[parts.writer(part, k)] += k == 0 ? 8 : 0;
    for (const PlanVariable& variable : request.variables) {
        const uint64_t bytes = type_bytes(variable.type);
        for (uint64_t part = 0; part < parts.parts(); ++part) {
            if (variable.shape.empty()) {
                truth.writer_bytes[parts.writer(part, 0)] += bytes;
                continue;
            }
            for (const std::vector<uint64_t>& positions : arrays_of_part(request, variable, parts, part)) {
                const bool direct = written_by_owners(request, variable, positions);
                for (uint64_t at = 0; at < positions.size(); ++at) {
                    const uint64_t owner = owner_of(variable, positions[at]);
                    const uint64_t slab = split_index(positions.size(), parts.writers(part), at);
                    const uint64_t writer = direct ? owner : parts.writer(part, slab);
                    truth.writer_bytes[writer] += bytes;
                    if (writer != owner) truth.message_bytes[{owner, writer}] += bytes;
                }
            }
        }
    }
    return truth;
}

Summary summary_by_element(const PlanRequest& request, const TruePlan& truth) {
    Summary summary;
    std::set<std::string> files, directories;
    std::map<std::string, std::set<std::string>> entries;
    const PartMap parts(request.layout, request.topology);
    std::vector<std::string> paths{journal_path(request.stream)};
    const uint64_t in_file = request.layout.steps == Layout::kAllSteps ? request.steps : request.layout.steps;
    for (uint64_t start = 0; start < request.steps; start += in_file)
        for (uint64_t part = 0; part < parts.parts(); ++part) {
            paths.push_back(part_path(request.layout, request.stream, start, part));
            files.insert(paths.back());
        }
    for (std::string path : paths)
        for (size_t slash = path.rfind('/'); slash != std::string::npos; slash = path.rfind('/')) {
            const std::string directory = path.substr(0, slash);
            entries[directory].insert(path);
            path = directory;
        }
    summary.files = files.size();
    summary.directories = entries.size();
    for (const auto& [directory, names] : entries)
        summary.most_directory_entries = std::max<uint64_t>(summary.most_directory_entries, names.size());
    summary.writers = truth.writer_bytes.size();
    summary.least_writer_bytes = UINT64_MAX;
    for (const auto& [rank, bytes] : truth.writer_bytes) {
        summary.bytes += bytes * request.steps;
        summary.least_writer_bytes = std::min(summary.least_writer_bytes, bytes * request.steps);
        summary.most_writer_bytes = std::max(summary.most_writer_bytes, bytes * request.steps);
    }
    for (const auto& [pair, bytes] : truth.message_bytes) {
        summary.messages += request.steps;
        summary.message_bytes += bytes * request.steps;
        summary.largest_message_bytes = std::max(summary.largest_message_bytes, bytes);
    }
    return summary;
}

void print(std::ostream& out, const Summary& s) {
    out << "files " << s.files << " directories " << s.directories << " writers " << s.writers << " bytes " << s.bytes
        << " messages " << s.messages << " (" << s.message_bytes << " bytes, largest " << s.largest_message_bytes << ") per writer "
        << s.least_writer_bytes << ".." << s.most_writer_bytes << " entries " << s.most_directory_entries;
}

// The plans of all ranks: their messages are those of the truth at both ends; their writes fill each part once, each by its slab.
void check_ranks(const PlanRequest& request, const TruePlan& truth) {
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> sent, received;
    std::map<uint64_t, uint64_t> written;
    std::map<std::string, std::map<uint64_t, uint64_t>> pieces;  // path -> address -> end
    for (uint64_t rank = 0; rank < request.topology.ranks; ++rank) {
        const RankPlan plan = plan_rank(request, rank);
        for (const PlannedMessage& message : plan.sends) sent[{message.from, message.to}] += message.bytes;
        for (const PlannedMessage& message : plan.receives) received[{message.from, message.to}] += message.bytes;
        for (const PlannedWrite& write : plan.writes) {
            written[rank] += write.bytes;
            EXPECT_GE(write.address, kSuperblockBytes);
            EXPECT_TRUE(pieces[plan.path].emplace(write.address, write.address + write.bytes).second);
        }
    }
    EXPECT_EQ(sent, truth.message_bytes);
    EXPECT_EQ(received, truth.message_bytes);
    for (const auto& [rank, bytes] : truth.writer_bytes) EXPECT_EQ(written[rank], bytes) << "rank " << rank;
    for (const auto& [path, of_path] : pieces) {
        uint64_t end = 0;
        for (const auto& [address, piece_end] : of_path) {
            EXPECT_GE(address, end) << path << ": writes overlap";
            end = piece_end;
        }
    }
}

TEST(Plan, EqualsBruteForceOnSmallCases) {
    std::mt19937_64 engine(7);
    const auto between = [&](uint64_t lo, uint64_t hi) { return std::uniform_int_distribution<uint64_t>(lo, hi)(engine); };
    const std::vector<std::string> layouts{"layout = 'single'",
                                           "layout = 'fpp'",
                                           "layout = 'hds'\ntree = 8",
                                           "layout = 'split:3'",
                                           "layout = 'node'",
                                           "layout = 'shared'",
                                           "layout = 'collective'",
                                           "layout = 'scratch'",
                                           "files = 2\nwriters = 'all'",
                                           "files = 'per-node'\nwriters = 'all'",
                                           "files = 2\nwriters = 'dedicated:2'",
                                           "writers = 'dedicated:3'",
                                           "files = 2\nwriters = 'per-node'",
                                           "files = 'per-node'\nwriters = 'per-node'",
                                           "files = 3\nwriters = 'all'"};
    uint64_t messages = 0;
    for (int round = 0; round < 600; ++round) {
        PlanRequest request;
        request.layout = planned_layout(layouts[static_cast<size_t>(round) % layouts.size()]);
        const std::vector<uint64_t> steps_choices{1, 3, Layout::kAllSteps};
        request.layout.steps = steps_choices[between(0, 2)];
        if (request.layout.stage == Stage::scratch) request.layout.steps = 1;
        request.steps = between(1, 8);
        request.stream = "s";
        const Shape grid{between(1, 3), between(1, 3), between(1, 3)};
        request.topology.ranks = volume(grid);
        request.topology.nodes = between(1, std::min<uint64_t>(request.topology.ranks, 4));
        for (uint64_t v = between(1, 3); v-- > 0;) {
            const Type type = between(0, 1) ? Type::F64 : Type::I16;
            if (between(0, 4) == 0)
                request.variables.push_back({"v" + std::to_string(v), type, {}, {}});
            else if (between(0, 1))
                request.variables.push_back({"v" + std::to_string(v), type, {between(0, 7), between(1, 7), between(1, 7)}, grid});
            else
                request.variables.push_back({"v" + std::to_string(v), type, {between(1, 30)}, {request.topology.ranks}});
        }
        const TruePlan truth = by_element(request);
        const Summary expected = summary_by_element(request, truth), summary = summarise(request);
        messages += expected.messages;
        std::ostringstream both;
        print(both, summary);
        both << "\nexpected: ";
        print(both, expected);
        ASSERT_EQ(summary, expected) << "round " << round << "\n" << both.str();
        check_ranks(request, truth);
        ASSERT_FALSE(HasFailure()) << "round " << round;
    }
    EXPECT_GT(messages, 1000u);
}

TEST(Plan, LongSpansAreWrittenByTheirOwnersWhereAllWrite) {
    const uint64_t long_enough = kDirectSpanBytes / 8;
    for (const char* layout : {"layout = 'shared'", "files = 2\nwriters = 'all'", "files = 3\nwriters = 'all'"})
        for (const uint64_t row : {long_enough - 1, long_enough}) {
            PlanRequest request;
            request.layout = planned_layout(layout);
            request.topology = {8, 2};
            request.variables = {{"T", Type::F64, {4, 4 * row}, {2, 4}}};
            const TruePlan truth = by_element(request);
            EXPECT_EQ(summarise(request), summary_by_element(request, truth));
            EXPECT_EQ(summarise(request).messages == 0, row == long_enough) << layout;
            check_ranks(request, truth);
        }
}

TEST(Plan, WritesAreAtTheAddressesOfThePlacement) {
    PlanRequest request;
    request.layout = planned_layout("layout = 'shared'");
    request.topology = {2, 1};
    request.stream = "plot";
    request.variables = {{"T", Type::F32, {4, 5}, {1, 2}}, {"steps_done", Type::I32, {}, {}}, {"q", Type::F64, {6}, {2}}};
    const RankPlan first = plan_rank(request, 0), second = plan_rank(request, 1);
    EXPECT_EQ(first.path, "plot.parts/000000.nc");
    // T at 4096 (80 bytes), q at 4176 (48 bytes), then the scalar (4, at a multiple of 8) and time.
    EXPECT_EQ(first.writes,
              (std::vector<PlannedWrite>{{"T", 4096, 40}, {"q", 4176, 24}, {"steps_done", 4224, 4}, {"time", 4232, 8}}));
    EXPECT_EQ(second.writes, (std::vector<PlannedWrite>{{"T", 4136, 40}, {"q", 4200, 24}}));
    // Rank 0 has columns 0 and 1 of 5; the second half of the rows is rank 1's to write, and the other way round.
    EXPECT_EQ(first.sends, (std::vector<PlannedMessage>{{0, 1, 16}}));
    EXPECT_EQ(first.receives, (std::vector<PlannedMessage>{{1, 0, 24}}));
}

// How long it takes is a claim of bench scale; what compares all ranks with all others would not end within the time of a test.
TEST(Plan, OfAMillionRanksTakesNoMemory) {
    constexpr uint64_t kBlocksAlong = kSanitized ? 20 : 100;
    constexpr uint64_t kRanks = kBlocksAlong * kBlocksAlong * kBlocksAlong, kAlong = 10 * kBlocksAlong;
    const std::vector<std::string> layouts{"layout = 'single'",     "layout = 'fpp'",     "layout = 'hds'",
                                           "layout = 'split:1000'", "layout = 'node'",    "layout = 'shared'",
                                           "layout = 'collective'", "layout = 'scratch'", "files = 1000\nwriters = 'per-node'"};
    const auto peak_kib = [] {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_maxrss;
    };
    const auto before_kib = peak_kib();
    for (const std::string& toml : layouts) {
        PlanRequest request;
        request.layout = planned_layout(toml);
        request.topology = {kRanks, kRanks / 100};
        const Shape shape{kAlong, kAlong, kAlong}, grid{kBlocksAlong, kBlocksAlong, kBlocksAlong};
        request.variables = {
            {"u", Type::F64, shape, grid}, {"v", Type::F64, shape, grid}, {"T", Type::F32, {kAlong + 1, kAlong, kAlong - 1}, grid}};
        const Summary summary = summarise(request);
        const RankPlan plan = plan_rank(request, kRanks / 9 * 7);
        std::cout << toml << ": ";
        print(std::cout, summary);
        std::cout << "\n";
        const uint64_t parts = summary.files;
        EXPECT_EQ(summary.bytes, 16 * kAlong * kAlong * kAlong + 4 * (kAlong + 1) * kAlong * (kAlong - 1) + 8 * parts);
        const uint64_t sent = std::accumulate(plan.sends.begin(), plan.sends.end(), uint64_t{0},
                                              [](uint64_t sum, const PlannedMessage& message) { return sum + message.bytes; });
        EXPECT_LE(sent, 30'000u);
        EXPECT_EQ(summary.messages == 0, parts == kRanks) << toml;
        EXPECT_LE(summary.most_directory_entries, toml == "layout = 'hds'" ? 1000u : kRanks);
    }
    std::cout << peak_kib() - before_kib << " KiB more memory at the peak\n";
    if (!kSanitized) {
        EXPECT_LT(peak_kib() - before_kib, 64 * 1024);
    }
}

}  // namespace
}  // namespace tailrace
