// Bundles with an index that no drain would write. Their checksums are correct, so each bundle is refused because of its contents.
#include "stage/bundle_reader.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "../error_of.hpp"
#include "../temporary_directory.hpp"
#include "base/checksum.hpp"
#include "stage/attributes.hpp"
#include "stage/bundle_set.hpp"
#include "stage/extract.hpp"

namespace tailrace {
namespace {

struct Named {
    std::string name, link;
    BundleEntry entry;
};

constexpr char kData[] = "the bytes of all files";
constexpr uint64_t kDataAt = 512, kDataBytes = sizeof kData - 1, kIndexAt = 2048;

Named named(const std::string& name, ItemKind kind = ItemKind::file, const std::string& link = "") {
    const bool is_file = kind == ItemKind::file;
    return {name,
            link,
            {.name_at = 0,
             .name_bytes = static_cast<uint32_t>(name.size()),
             .kind = static_cast<uint32_t>(kind),
             .link_bytes = static_cast<uint32_t>(link.size()),
             .mode = 06755,
             .data_at = kDataAt,
             .data_bytes = is_file ? kDataBytes : 0,
             .mtime_ns = 1234567890123456789,
             .sum = is_file ? Checksum::of(kData, kDataBytes) : 0,
             .attributes_bytes = 0,
             .reserved = 0}};
}

Named with_attributes(const std::string& name, const std::string& attributes) {
    Named made = named(name);
    made.link = attributes;  // of a file: no link, so the attributes follow the name
    made.entry.attributes_bytes = static_cast<uint32_t>(attributes.size());
    return made;
}

std::string index_of(std::vector<Named> members) {
    std::string index(members.size() * sizeof(BundleEntry), '\0'), names;
    for (size_t i = 0; i < members.size(); ++i) {
        members[i].entry.name_at += names.size();
        names += members[i].name + members[i].link;
        std::memcpy(index.data() + i * sizeof(BundleEntry), &members[i].entry, sizeof(BundleEntry));
    }
    return index + names;
}

BundleEnd end_of(const std::string& index, uint64_t count) {
    BundleEnd end{};
    std::memcpy(end.magic, kBundleMagic, sizeof end.magic);
    end.version = kBundleVersion;
    end.entry_bytes = sizeof(BundleEntry);
    end.count = count;
    end.index_at = kIndexAt;
    end.index_bytes = index.size();
    end.sum = Checksum::of(index.data(), index.size());
    return end;
}

std::string write(const std::string& path, const std::string& index, BundleEnd end) {
    end.end_sum = Checksum::of(&end, offsetof(BundleEnd, end_sum));
    std::string all(kIndexAt, '\0');
    std::memcpy(all.data() + kDataAt, kData, kDataBytes);
    all += index;
    all.append(reinterpret_cast<const char*>(&end), sizeof end);
    std::ofstream(path, std::ios::binary) << all;
    return path;
}

std::string write(const std::string& path, const std::vector<Named>& members) {
    const std::string index = index_of(members);
    return write(path, index, end_of(index, members.size()));
}

uint64_t take(const std::string& path, const std::string& folder, const std::string& name) {
    Extraction extraction(folder);
    each_member_of(path, {name}, [&](const BundleReader& bundle, const Member& member) { extraction.make(bundle, member); });
    return extraction.bytes();
}

std::string message_of(const std::string& path, const std::string& folder, const std::string& name = "") {
    return error_of([&] { take(path, folder, name); }).what();
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST(BundleReader, FindsOneOfManyNames) {
    const TemporaryDirectory folder;
    std::vector<Named> members;
    for (int i = 100000; i < 172000; ++i) members.push_back(named("data/" + std::to_string(i)));
    const BundleReader bundle(write(folder / "a.tar", members));
    EXPECT_EQ(bundle.count(), 72000u);
    ASSERT_TRUE(bundle.find("data/123456"));
    EXPECT_EQ(bundle.find("data/123456")->name, "data/123456");
    for (const char* absent : {"", "data", "data/", "data/1", "data/172000", "e"}) EXPECT_FALSE(bundle.find(absent)) << absent;
    EXPECT_EQ(take(folder / "a.tar", folder / "out", "data/123456"), kDataBytes);
    struct stat status;
    ASSERT_EQ(::stat((folder / "out/data/123456").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0755u) << "a bundle gives no set-user-id";
    EXPECT_EQ(status.st_mtim.tv_sec, 1234567890);
    EXPECT_EQ(status.st_mtim.tv_nsec, 123456789);
}

TEST(BundleReader, NamesThatLeaveTheFolderAreRefused) {
    for (const std::string& name :
         {std::string("/etc/passwd"), std::string("../a"), std::string("a/../../b"), std::string("a/.."), std::string("."),
          std::string(""), std::string("a//b"), std::string("a/"), std::string("a\0b", 3)}) {
        const TemporaryDirectory folder;
        EXPECT_TRUE(says(message_of(write(folder / "a.tar", {named(name)}), folder / "out"), "absolute, empty, or has")) << name;
        EXPECT_FALSE(std::filesystem::exists(folder / "out")) << name;
    }
}

TEST(BundleReader, LinksThatLeaveTheFolderAreRefused) {
    for (const char* link : {"/etc", "..", "../..", "b/../..", "b/../c", ""}) {
        const TemporaryDirectory folder;
        const std::string path = write(folder / "a.tar", {named("link", ItemKind::symbolic_link, link)});
        EXPECT_TRUE(says(message_of(path, folder / "out"), "may be outside of")) << link;
        EXPECT_TRUE(std::filesystem::is_empty(folder / "out")) << link;
    }
    EXPECT_TRUE(is_link_below("a/b/c", "../../d"));
    EXPECT_TRUE(is_link_below("a/b", "./c/d"));
    EXPECT_FALSE(is_link_below("a/b", "../../d"));
}

TEST(BundleReader, FilesGoThroughNoLink) {
    const TemporaryDirectory folder;
    const std::string path = write(folder / "a.tar", {named("a", ItemKind::symbolic_link, "b"), named("a/x"), named("b/y")});
    std::filesystem::create_directory(folder / "b");
    EXPECT_TRUE(says(message_of(path, folder / "out"), "is a symbolic link or no folder"));
    std::filesystem::create_directory(folder / "second");
    std::filesystem::create_symlink(folder / "b", folder / "second/b");
    EXPECT_TRUE(says(message_of(path, folder / "second", "b/y"), "is a symbolic link"));
    EXPECT_TRUE(std::filesystem::is_empty(folder / "b"));
}

TEST(BundleReader, OtherKindsAndBytesElsewhereAreRefused) {
    const TemporaryDirectory folder;
    Named device = named("device");
    device.entry.kind = 4;
    EXPECT_TRUE(says(message_of(write(folder / "a.tar", {device}), folder / "out"), "no file, link or folder"));
    Named outside = named("outside");
    outside.entry.data_at = kIndexAt - 1;
    EXPECT_TRUE(says(message_of(write(folder / "a.tar", {outside}), folder / "out"), "lie outside of it"));
    outside.entry.data_at = ~uint64_t{0} - 4;
    EXPECT_TRUE(says(message_of(write(folder / "a.tar", {outside}), folder / "out"), "lie outside of it"));
    Named far = named("far");
    far.entry.name_at = ~uint64_t{0} - 1;
    EXPECT_TRUE(says(message_of(write(folder / "a.tar", {far}), folder / "out"), "lies outside of it"));
    Named damaged = named("damaged");
    ++damaged.entry.sum;
    EXPECT_TRUE(says(message_of(write(folder / "a.tar", {damaged}), folder / "out"), "their checksum is another"));
    const std::string hard = write(folder / "a.tar", {named("a", ItemKind::hard_link, "/etc/passwd")});
    EXPECT_TRUE(says(message_of(hard, folder / "out"), "which is no file in it"));
    EXPECT_TRUE(std::filesystem::is_empty(folder / "out"));
}

TEST(BundleReader, AttributesOfTheUserAreSetAndOthersRefused) {
    const TemporaryDirectory folder;
    const std::vector<Attribute> attributes = {{"user.a=b", std::string("1\n\0x", 4)}, {"user.empty", ""}};
    EXPECT_EQ(unpacked(packed(attributes)), attributes);
    take(write(folder / "a.tar", {with_attributes("good", packed(attributes))}), folder / "out", "");
    const Descriptor made(::open((folder / "out/good").c_str(), O_RDONLY | O_CLOEXEC));
    std::vector<Attribute> found = user_attributes_of(made.get(), "good");
    std::ranges::sort(found, {}, &Attribute::name);
    EXPECT_EQ(found, attributes);

    const std::string whole = packed(attributes);
    std::vector<std::string> hostile = {whole + "x", whole.substr(0, whole.size() - 1), std::string(8, '\xff')};
    for (const std::string& name : {std::string("security.capability"), std::string("trusted.x"), std::string("user."),
                                    std::string(), std::string("user.a\0b", 8)})
        hostile.push_back(packed({{name, "1"}}));
    for (const std::string& bytes : hostile) {
        const std::string path = write(folder / "a.tar", {with_attributes("bad", bytes)});
        EXPECT_TRUE(says(message_of(path, folder / "out"), "are damaged, or not those of a user")) << bytes;
        EXPECT_FALSE(std::filesystem::exists(folder / "out/bad")) << bytes;
    }
    Named outside = with_attributes("outside", whole);
    ++outside.entry.attributes_bytes;
    EXPECT_TRUE(says(message_of(write(folder / "a.tar", {outside}), folder / "out"), "lies outside of it"));
}

// Version 1 had no attributes. A later version may have fields that this one does not know, at the end of each entry.
TEST(BundleReader, ShorterAndLongerEntriesAreRead) {
    for (const size_t entry_bytes : {size_t{kFirstEntryBytes}, sizeof(BundleEntry) + 24}) {
        const TemporaryDirectory folder;
        const std::string index = index_of({named("a"), named("b")});
        std::string other;
        for (size_t i = 0; i < 2; ++i) {
            std::string entry = index.substr(i * sizeof(BundleEntry), sizeof(BundleEntry));
            entry.resize(entry_bytes, '\xff');
            other += entry;
        }
        other += index.substr(2 * sizeof(BundleEntry));
        BundleEnd end = end_of(other, 2);
        end.version = entry_bytes == kFirstEntryBytes ? 1 : kBundleVersion;
        end.entry_bytes = static_cast<uint32_t>(entry_bytes);
        EXPECT_EQ(take(write(folder / "a.tar", other, end), folder / "out", "b"), kDataBytes) << entry_bytes;
    }
}

TEST(BundleReader, MarksOfFramesThatLieAreRefused) {
    const TemporaryDirectory folder;
    const std::vector<std::vector<FrameMark>> hostile = {
        {{0, 0}},
        {{1, 0}, {2, 9}},
        {{0, 1}, {2, 9}},
        {{0, 0}, {600, 9}, {600, 18}},
        {{0, 0}, {600, 9}, {700, 9}},
        {{0, 0}, {600, 9}, {500, 18}},
        {{0, 0}, {kMostFrameBytes + 1, 9}},
        {{0, 0}, {~uint64_t{0}, 9}},
        {{0, 0}, {600, 1500}},
        {{0, 0}, {4000, kIndexAt + 1}},
    };
    for (size_t i = 0; i < hostile.size(); ++i) {
        std::string index = index_of({named("a")});
        index.insert(sizeof(BundleEntry), reinterpret_cast<const char*>(hostile[i].data()), hostile[i].size() * sizeof(FrameMark));
        BundleEnd end = end_of(index, 1);
        end.marks = hostile[i].size();
        const std::string said = message_of(write(folder / "a.tar", index, end), folder / "out");
        EXPECT_TRUE(says(said, "frames") || says(said, "a frame of it")) << i << ": " << said;
    }
    const std::string index = index_of({named("a")});
    for (const uint64_t count : {uint64_t{9}, ~uint64_t{0}, ~uint64_t{0} / sizeof(FrameMark) + 2}) {
        BundleEnd end = end_of(index, 1);
        end.marks = count;
        EXPECT_TRUE(says(message_of(write(folder / "a.tar", index, end), folder / "out"), "shorter than its marks")) << count;
    }
}

// Bytes that are no frame of zstd, or one of another length than the index says.
TEST(BundleReader, DamagedFramesAreRefused) {
    const TemporaryDirectory folder;
    std::vector<char> frame;
    const std::string tar = std::string(kDataAt, '\0') + kData;
    FrameCompressor(1).append(tar, frame);
    for (const int change : {0, 1, 2, 3}) {
        std::vector<char> stored = frame;
        FrameMark marks[2] = {{0, 0}, {tar.size(), frame.size()}};
        if (change == 1) stored[stored.size() / 2] ^= 1;
        if (change == 2) ++marks[1].tar_at;
        if (change == 3) --marks[1].stored_at;
        std::string index = index_of({named("a")});
        index.insert(sizeof(BundleEntry), reinterpret_cast<const char*>(marks), sizeof marks);
        BundleEnd end = end_of(index, 1);
        end.marks = 2;
        end.end_sum = Checksum::of(&end, offsetof(BundleEnd, end_sum));
        std::string all(stored.begin(), stored.end());
        all.resize(kIndexAt);
        all += index;
        all.append(reinterpret_cast<const char*>(&end), sizeof end);
        std::ofstream(folder / "a.tar.zst", std::ios::binary) << all;
        const auto extracted = [&] { return take(folder / "a.tar.zst", folder / "out", "a"); };
        if (change == 0)
            EXPECT_EQ(extracted(), kDataBytes);
        else
            EXPECT_TRUE(says(error_of(extracted).what(), "are damaged")) << change;
        std::filesystem::remove_all(folder / "out");
    }
}

TEST(BundleReader, CompressionsByName) {
    EXPECT_EQ(zstd_level_of("none"), 0);
    EXPECT_EQ(zstd_level_of("zstd"), 1);
    EXPECT_EQ(zstd_level_of("zstd:19"), 19);
    for (const char* wrong : {"", "zstd:", "zstd:0", "zstd:20", "zstd:x", "zstd:1x", "zstd:-1", "zstd:111", "gzip"})
        EXPECT_TRUE(says(error_of([&] { zstd_level_of(wrong); }).what(), "choose none, zstd or zstd:N")) << wrong;
}

TEST(BundleReader, EndsThatLieAreRefused) {
    const TemporaryDirectory folder;
    const std::string index = index_of({named("a"), named("b")});
    const BundleEnd good = end_of(index, 2);
    BundleEnd end = good;
    end.count = ~uint64_t{0} / sizeof(BundleEntry);
    EXPECT_TRUE(says(message_of(write(folder / "a.tar", index, end), folder / "out"), "shorter than its entries"));
    end = good;
    end.index_at = ~uint64_t{0} - 10;
    EXPECT_TRUE(says(message_of(write(folder / "a.tar", index, end), folder / "out"), "not where its end says"));
    end = good;
    end.entry_bytes = 8;
    EXPECT_TRUE(says(message_of(write(folder / "a.tar", index, end), folder / "out"), "shorter than its entries"));
    end = good;
    end.version = 9;
    EXPECT_TRUE(says(message_of(write(folder / "a.tar", index, end), folder / "out"), "of another version"));
    EXPECT_FALSE(std::filesystem::exists(folder / "out")) << "nothing is made before the index was read";
}

// An index with random changes and right checksums: it is read, or refused; nothing is made beside the folder.
TEST(BundleReader, RandomChangesNeverLeaveTheFolder) {
    const TemporaryDirectory folder("/dev/shm");  // it makes many files
    std::mt19937 draw(34);
    const auto below = [&](size_t most) { return std::uniform_int_distribution<size_t>(0, most - 1)(draw); };
    const std::vector<Named> members = {named("a"),
                                        named("b", ItemKind::symbolic_link, "a"),
                                        named("c", ItemKind::hard_link, "a"),
                                        named("d", ItemKind::folder),
                                        named("d/e"),
                                        named("d/f", ItemKind::symbolic_link, "../a")};
    const std::string whole = index_of(members);
    constexpr char kPieces[] = {'/', '.', '\0', 'a', 'd', '\xff', 1, 2, 3, 4};
    size_t refused = 0, read = 0;
    for (int round = 0; round < 400; ++round) {
        std::string index = whole;
        for (size_t changes = 1 + below(3); changes > 0; --changes) {
            const size_t at = below(2) == 0 ? below(index.size()) : members.size() * sizeof(BundleEntry) + below(16);
            index[at] = kPieces[below(sizeof kPieces)];
        }
        if (below(10) == 0) index.resize(below(index.size()));
        const std::string path = write(folder / "a.tar", index, end_of(index, below(20) == 0 ? below(9) : members.size()));
        const std::string out = folder / "out";
        try {
            take(path, out, "");
            ++read;
        } catch (const Error&) {
            ++refused;
        }
        std::filesystem::remove_all(out);
        size_t entries = 0;
        for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++entries;
        ASSERT_EQ(entries, 1u) << "round " << round << " made a file beside its folder";
    }
    EXPECT_GT(refused, 40u);
    EXPECT_GT(read, 40u);
}

}  // namespace tailrace
