// Patterns of [stage], and names on scratch by a rules file that is made here, byte by byte.
#include "place/stage.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "place/paths.hpp"

namespace tailrace::place {
namespace {

bool has(const char* pattern, std::string_view path) { return has_path(pattern, path.data(), static_cast<uint32_t>(path.size())); }

// A slow reference for has_path(): tries all lengths of each star.
bool has_slowly(std::string_view pattern, std::string_view path, bool begins_name) {
    if (pattern.empty()) return path.empty();
    if (pattern.starts_with("**")) {
        std::string_view rest = pattern.substr(2);
        while (rest.starts_with("*")) rest.remove_prefix(1);
        if (begins_name && rest.starts_with("/")) {
            rest.remove_prefix(1);
            for (size_t taken = 0; taken <= path.size(); ++taken)
                if ((taken == 0 || path[taken - 1] == '/') && has_slowly(rest, path.substr(taken), true)) return true;
            return false;
        }
        for (size_t taken = 0; taken <= path.size(); ++taken)
            if (has_slowly(rest, path.substr(taken), taken == 0 ? begins_name : path[taken - 1] == '/')) return true;
        return false;
    }
    if (pattern.front() == '*') {
        for (size_t taken = 0; taken <= path.size() && (taken == 0 || path[taken - 1] != '/'); ++taken)
            if (has_slowly(pattern.substr(1), path.substr(taken), taken == 0 && begins_name)) return true;
        return false;
    }
    if (path.empty() || (pattern.front() == '?' ? path.front() == '/' : pattern.front() != path.front())) return false;
    return has_slowly(pattern.substr(1), path.substr(1), path.front() == '/');
}

TEST(Patterns, StarsAndSlashes) {
    EXPECT_TRUE(has("out/**", "out/a/b"));
    EXPECT_FALSE(has("out/**", "out"));
    EXPECT_TRUE(has("*.nc", "a.nc"));
    EXPECT_FALSE(has("*.nc", "b/a.nc"));
    EXPECT_TRUE(has("**/*.nc", "a.nc"));
    EXPECT_FALSE(has("a?c", "a/c"));
    EXPECT_FALSE(has("", "a"));
}

// All patterns and paths of up to five characters out of few.
TEST(Patterns, AreWhatTryingAllLengthsSays) {
    const auto all_of = [](std::string_view letters, size_t most) {
        std::vector<std::string> all = {""};
        for (size_t begin = 0, length = 0; length < most; ++length) {
            const size_t end = all.size();
            for (size_t at = begin; at < end; ++at)
                for (const char letter : letters) all.push_back(all[at] + letter);
            begin = end;
        }
        return all;
    };
    const std::vector<std::string> paths = all_of("ab/", 5);
    for (const std::string& pattern : all_of("a*/?", 5))
        for (const std::string& path : paths)
            ASSERT_EQ(has(pattern.c_str(), path), has_slowly(pattern, path, true)) << pattern << " and " << path;
}

// A rules file with [stage] alone.
class StageFile {
public:
    explicit StageFile(const char* base_as = "") {
        bytes_.resize(kNodes + 2 * sizeof(StageNode));
        StageRecord record{};
        record.base = put("/base");
        record.base_as = put(base_as);
        record.nodes = kNodes;
        record.node_count = 2;
        for (uint32_t n = 0; n < 2; ++n) {
            const StageNode named{put(n == 0 ? "node" : "node2"), put(n == 0 ? "/scratch/run" : "/scratch2/r"), 1, 2};
            std::memcpy(bytes_.data() + kNodes + n * sizeof(StageNode), &named, sizeof named);
        }
        record.patterns = put(std::string_view("out/**\0x*\0", 10));
        std::memcpy(bytes_.data() + sizeof(Header), &record, sizeof record);
        seal();
    }
    void seal() {
        Header header{};
        std::memcpy(header.magic, kMagic, sizeof kMagic);
        header.version = kVersion;
        header.bytes = static_cast<uint32_t>(bytes_.size());
        header.stage = sizeof(Header);
        std::memcpy(bytes_.data(), &header, sizeof header);
        constexpr size_t kBehind = 24;
        header.checksum = checksum(bytes_.data() + kBehind, bytes_.size() - kBehind);
        std::memcpy(bytes_.data(), &header, sizeof header);
    }
    StageRecord& record() { return *reinterpret_cast<StageRecord*>(bytes_.data() + sizeof(Header)); }
    StageNode& node(size_t n) { return reinterpret_cast<StageNode*>(bytes_.data() + kNodes)[n]; }
    const StageNode* named(std::string_view name) const {
        const Rules rules(bytes_.data());
        return Stage(rules).node(name.data(), name.size());
    }
    const char* problem() const { return Rules::problem(bytes_.data(), bytes_.size()); }
    std::string on_scratch(const char* path, int32_t* pattern = nullptr) const {
        char to[kPathRoom];
        int32_t number = -1;
        const uint64_t size = scratch_path(Rules(bytes_.data()), *named("node"), path, to, number);
        if (pattern != nullptr) *pattern = number;
        return {to, size};
    }
    std::string at_target(std::string_view path, const char* node = "node") const {
        char to[kPathRoom];
        const uint64_t size = path_of_staged(Rules(bytes_.data()), *named(node), path.data(), path.size(), to);
        return {to, size};
    }

private:
    static constexpr size_t kNodes = sizeof(Header) + sizeof(StageRecord);

    Text put(std::string_view text) {
        const Text found = {static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(text.size())};
        bytes_.insert(bytes_.end(), text.begin(), text.end());
        return found;
    }

    std::vector<char> bytes_;
};

TEST(Stage, PathsGoToScratchAndBack) {
    const StageFile file("/other name");
    ASSERT_EQ(file.problem(), nullptr);
    int32_t pattern = -1;
    EXPECT_EQ(file.on_scratch("/base/out/a/b", &pattern), "/scratch/run/out/a/b");
    EXPECT_EQ(pattern, 0);
    EXPECT_EQ(file.on_scratch("/other name/x1", &pattern), "/scratch/run/x1");
    EXPECT_EQ(pattern, 1);
    EXPECT_EQ(file.on_scratch("/base/y"), "");
    EXPECT_EQ(file.on_scratch("/base2/out/a"), "");
    EXPECT_EQ(file.on_scratch("/base"), "");
    EXPECT_EQ(file.on_scratch(("/base/out/" + std::string(kPathRoom, 'a')).c_str()), "");
    EXPECT_EQ(file.on_scratch(("/base/out/" + std::string(kPathRoom - 15, 'a')).c_str()), "");  // no room for scratch's name
    EXPECT_EQ(file.at_target("/scratch/run/out/a"), "/base/out/a");
    EXPECT_EQ(file.at_target("/scratch/run"), "/base");
    EXPECT_EQ(file.at_target("/scratch/run2/out/a"), "");
}

TEST(Stage, EachNodeHasItsScratch) {
    const StageFile file;
    ASSERT_NE(file.named("node2"), nullptr);
    EXPECT_EQ(file.at_target("/scratch2/r/out/a", "node2"), "/base/out/a");
    EXPECT_EQ(file.at_target("/scratch/run/out/a", "node2"), "");
    EXPECT_EQ(file.named("node3"), nullptr);
    EXPECT_EQ(file.named("nod"), nullptr);
    EXPECT_EQ(file.named(""), nullptr);
}

TEST(Stage, RecordsWithoutMeaningAreRefused) {
    const auto refused_file = [](auto change) {
        StageFile file;
        change(file);
        file.seal();
        return file.problem() != nullptr;
    };
    const auto refused = [&](auto change) { return refused_file([&](StageFile& file) { change(file.record()); }); };
    EXPECT_FALSE(refused([](StageRecord&) {}));
    EXPECT_FALSE(refused([](StageRecord& record) { record.node_count = 0; }));  // no node has a scratch
    EXPECT_TRUE(refused([](StageRecord& record) { record.node_count = 1 << 15; }));
    EXPECT_TRUE(refused([](StageRecord& record) { record.node_count = ~0u; }));
    EXPECT_TRUE(refused([](StageRecord& record) { record.nodes = ~0u - 7; }));
    EXPECT_TRUE(refused([](StageRecord& record) { record.nodes += 4; }));  // not aligned
    for (const size_t n : {0, 1}) {
        EXPECT_FALSE(refused_file([&](StageFile& file) { file.node(n).name.bytes = 0; }));  // rules that only explain
        EXPECT_TRUE(refused_file([&](StageFile& file) { file.node(n).name.at = ~0u; }));
        EXPECT_TRUE(refused_file([&](StageFile& file) { file.node(n).name.bytes = 65; }));
        EXPECT_TRUE(refused_file([&](StageFile& file) { file.node(n).scratch.bytes = 0; }));
        EXPECT_TRUE(refused_file([&](StageFile& file) { file.node(n).scratch.at += 1; }));
    }
    EXPECT_TRUE(refused_file([](StageFile& file) { file.node(0).scratch.bytes = 9; }));  // ends with a slash
    EXPECT_TRUE(refused([](StageRecord& record) { record.base.bytes = 0; }));
    EXPECT_TRUE(refused([](StageRecord& record) { ++record.base.at; }));
    EXPECT_TRUE(refused([](StageRecord& record) { record.patterns.bytes = 0; }));
    EXPECT_TRUE(refused([](StageRecord& record) { --record.patterns.bytes; }));  // the last has no zero
    EXPECT_TRUE(refused([](StageRecord& record) { record.patterns.bytes = ~0u; }));
}

}  // namespace
}  // namespace tailrace::place
