#include "stage/bundle_reader.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/checksum.hpp"
#include "base/system_error.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kMostRead = 4u << 20;  // at once

}  // namespace

bool is_name_below(std::string_view name) {
    if (name.find('\0') != std::string_view::npos) return false;
    for (size_t begin = 0; begin <= name.size();) {
        const size_t slash = std::min(name.find('/', begin), name.size());
        const std::string_view part = name.substr(begin, slash - begin);
        if (part.empty() || part == "." || part == "..") return false;
        begin = slash + 1;
    }
    return true;
}

bool is_link_below(std::string_view name, std::string_view link) {
    if (link.empty() || link.front() == '/' || link.find('\0') != std::string_view::npos) return false;
    int64_t depth = std::count(name.begin(), name.end(), '/');
    bool went_down = false;
    for (size_t begin = 0; begin <= link.size();) {
        const size_t slash = std::min(link.find('/', begin), link.size());
        const std::string_view part = link.substr(begin, slash - begin);
        begin = slash + 1;
        if (part.empty() || part == ".") continue;
        // Refuse `..` after a name: the name may be a link to any folder, and `..` then means the parent of that folder.
        if (part == ".." && (went_down || --depth < 0)) return false;
        went_down = went_down || part != "..";
    }
    return true;
}

BundleReader::BundleReader(const std::string& path) : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (!file_.is_open()) fail_system("open", path, errno);
    struct stat status;
    if (::fstat(file_.get(), &status) != 0) fail_system("stat", path, errno);
    const auto bytes = static_cast<uint64_t>(status.st_size);
    constexpr char kNoIndex[] = "no bundle of `tailrace drain`: it has no index at its end; `tar -tf` lists other tar files";
    if (!S_ISREG(status.st_mode) || bytes < sizeof end_) refuse(kNoIndex);
    if (read_up_to(file_.get(), bytes - sizeof end_, &end_, sizeof end_, path) != sizeof end_) refuse("it became shorter");
    if (std::memcmp(end_.magic, kBundleMagic, sizeof end_.magic) != 0) refuse(kNoIndex);
    if (Checksum::of(&end_, offsetof(BundleEnd, end_sum)) != end_.end_sum) refuse("its last 64 bytes are damaged");
    if (end_.version == 0 || end_.version > kBundleVersion)
        refuse("version " + std::to_string(end_.version) + ": of another version of Tailrace");
    const uint64_t room = bytes - sizeof end_;
    if (end_.index_at > room || end_.index_bytes != room - end_.index_at) refuse("its index is not where its end says");
    if (end_.entry_bytes < kFirstEntryBytes || end_.count > end_.index_bytes / end_.entry_bytes)
        refuse("its index is shorter than its entries");
    index_ = std::make_unique_for_overwrite<char[]>(end_.index_bytes);
    if (read_up_to(file_.get(), end_.index_at, index_.get(), end_.index_bytes, path) != end_.index_bytes)
        refuse("it became shorter");
    if (Checksum::of(index_.get(), end_.index_bytes) != end_.sum) refuse("its index is damaged");
    if (end_.marks > 0) read_marks();
}

void BundleReader::read_marks() {
    if (end_.marks > (end_.index_bytes - marks_at()) / sizeof(FrameMark)) refuse("its index is shorter than its marks of frames");
    std::vector<FrameMark> marks(end_.marks);
    std::memcpy(marks.data(), index_.get() + marks_at(), marks.size() * sizeof(FrameMark));
    if (const std::string why = FrameReader::problem_of(marks, end_.index_at); !why.empty()) refuse(why);
    frames_ = std::make_unique<FrameReader>(file_.get(), path_, std::move(marks));
}

void BundleReader::read(const Member& member, uint64_t at, std::span<char> into) const {
    if (frames_) return frames_->read(member.data_at + at, into);
    if (read_up_to(file_.get(), member.data_at + at, into.data(), into.size(), path_) != into.size())
        refuse("it became shorter while it was read");
}

void BundleReader::refuse(const std::string& why) const { fail(Status::CORRUPT, path_, ": ", why); }

BundleEntry BundleReader::entry(uint64_t number) const {
    BundleEntry entry{};
    std::memcpy(&entry, index_.get() + number * end_.entry_bytes, std::min<size_t>(end_.entry_bytes, sizeof entry));
    const uint64_t names = end_.index_bytes - names_at();
    const uint64_t texts = uint64_t{entry.name_bytes} + entry.link_bytes + entry.attributes_bytes;
    if (entry.name_at > names || texts > names - entry.name_at) refuse("a name in its index lies outside of it");
    return entry;
}

std::string_view BundleReader::name_of(const BundleEntry& entry) const {
    return {index_.get() + names_at() + entry.name_at, entry.name_bytes};
}

Member BundleReader::at(uint64_t number) const {
    const BundleEntry found = entry(number);
    const std::string_view name = name_of(found);
    const std::string_view link(name.data() + name.size(), found.link_bytes);
    const std::string_view attributes(link.data() + link.size(), found.attributes_bytes);
    if (!is_name_below(name)) refuse("a name in its index is absolute, empty, or has `.` or `..`");
    if (found.kind > static_cast<uint32_t>(ItemKind::folder)) refuse(std::string(name) + " is no file, link or folder");
    if (found.data_at > tar_bytes() || found.data_bytes > tar_bytes() - found.data_at)
        refuse("the bytes of " + std::string(name) + " lie outside of it");
    return {.name = name,
            .link = link,
            .attributes = attributes,
            .kind = static_cast<ItemKind>(found.kind),
            .mode = found.mode,
            .data_at = found.data_at,
            .data_bytes = found.data_bytes,
            .sum = found.sum,
            .mtime_ns = found.mtime_ns};
}

uint64_t BundleReader::first_from(std::string_view name) const {
    uint64_t low = 0, high = end_.count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (name_of(entry(middle)) < name)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

std::optional<Member> BundleReader::find(std::string_view name) const {
    const uint64_t number = first_from(name);
    if (number == end_.count || name_of(entry(number)) != name) return std::nullopt;
    return at(number);
}

uint64_t each_member(const BundleReader& bundle, const std::string& name, const std::function<void(const Member&)>& see) {
    uint64_t seen = 0;
    const std::optional<Member> found = name.empty() ? std::nullopt : bundle.find(name);
    if (found) {
        see(*found);
        ++seen;
    }
    if (!found || found->kind == ItemKind::folder) {
        const std::string below = name.empty() ? "" : name + "/";
        for (uint64_t number = bundle.first_from(below); number < bundle.count(); ++number, ++seen) {
            const Member member = bundle.at(number);
            if (!member.name.starts_with(below)) break;
            see(member);
        }
    }
    return seen;
}

Member file_of(const BundleReader& bundle, const Member& member) {
    if (member.kind != ItemKind::hard_link) return member;
    const std::optional<Member> file = bundle.find(member.link);
    if (!file || file->kind != ItemKind::file)
        fail(Status::CORRUPT, bundle.path(), ": ", std::string(member.name), " is a name of ", std::string(member.link),
             ", which is no file in it");
    return *file;
}

void each_piece_of(const BundleReader& bundle, const Member& file, const std::function<void(std::span<const char>)>& use) {
    const uint64_t most = std::min<uint64_t>(kMostRead, file.data_bytes);
    const auto buffer = std::make_unique_for_overwrite<char[]>(most);
    Checksum sum;
    for (uint64_t at = 0; at < file.data_bytes;) {
        const std::span<char> piece(buffer.get(), std::min(most, file.data_bytes - at));
        bundle.read(file, at, piece);
        sum.add(piece.data(), piece.size());
        use(piece);
        at += piece.size();
    }
    if (sum.value() != file.sum)
        fail(Status::CORRUPT, bundle.path(), ": the bytes of ", std::string(file.name), " are damaged: their checksum is another");
}

}  // namespace tailrace
