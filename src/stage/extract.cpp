#include "stage/extract.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <span>

#include "base/checksum.hpp"
#include "base/paths.hpp"
#include "base/system_error.hpp"

namespace tailrace {
namespace {

constexpr size_t kExtractBytes = 4u << 20;
constexpr mode_t kPermissions = 0777;  // a bundle gives no file the rights of another user

timespec time_of(int64_t ns) {
    constexpr int64_t kSecond = 1000000000;
    const int64_t rest = (ns % kSecond + kSecond) % kSecond;
    return {.tv_sec = (ns - rest) / kSecond, .tv_nsec = rest};
}

}  // namespace

Extraction::Extraction(const BundleReader& bundle, const std::string& folder) : bundle_(bundle), folder_path_(folder) {
    make_directories(folder);
    folder_ = open_folder(folder);
}

void Extraction::fail_at(const char* action, const Member& member) const {
    const int code = errno;
    const std::string path = folder_path_ + "/" + std::string(member.name);
    if (code == EEXIST)
        fail(Status::BAD_ARGUMENT, path, " is there already and was not replaced: remove it, or name another folder with --into");
    if (code == EXDEV || code == ELOOP || code == ENOTDIR)
        fail(Status::BAD_ARGUMENT, path, ": a folder on its way is a symbolic link or no folder: name another folder with --into");
    fail_system(action, path, code);
}

void Extraction::take(const std::string& name) {
    each_member(bundle_, name, [this](const Member& member) { make(member); });
}

void Extraction::make(const Member& member) {
    std::string name;
    const Descriptor parent = open_parent(folder_.get(), std::string(member.name), true, name);
    if (!parent.is_open()) fail_at("open the folder of", member);
    const timespec times[2] = {time_of(member.mtime_ns), time_of(member.mtime_ns)};
    switch (member.kind) {
        case ItemKind::folder:
            if (::mkdirat(parent.get(), name.c_str(), (member.mode & kPermissions) | S_IRWXU) != 0 && errno != EEXIST)
                fail_at("make folder", member);
            if (!open_beneath(parent.get(), name, O_RDONLY | O_DIRECTORY).is_open()) fail_at("open folder", member);
            return;
        case ItemKind::symbolic_link:
            if (!is_link_below(member.name, member.link))
                fail(Status::BAD_ARGUMENT, bundle_.path(), ": the symbolic link ", std::string(member.name), " leads to ",
                     std::string(member.link), ", which may be outside of ", folder_path_, ": it is not made; `tar -xf` makes it");
            if (::symlinkat(std::string(member.link).c_str(), parent.get(), name.c_str()) != 0) fail_at("make link", member);
            ::utimensat(parent.get(), name.c_str(), times, AT_SYMLINK_NOFOLLOW);
            break;
        case ItemKind::hard_link: make_hard_link(member, parent.get(), name); break;
        case ItemKind::file: make_file(member, parent.get(), name); break;
    }
    ++files_;
}

// A name of a file that was extracted before is linked; of one that was not, the bytes are copied.
void Extraction::make_hard_link(const Member& member, int parent, const std::string& name) {
    if (made_.contains(member.link)) {
        std::string first;
        const Descriptor from = open_parent(folder_.get(), std::string(member.link), false, first);
        if (!from.is_open() || ::linkat(from.get(), first.c_str(), parent, name.c_str(), 0) != 0) fail_at("link", member);
        return;
    }
    const std::optional<Member> first = bundle_.find(member.link);
    if (!first || first->kind != ItemKind::file)
        fail(Status::CORRUPT, bundle_.path(), ": ", std::string(member.name), " is a name of ", std::string(member.link),
             ", which is no file in it");
    make_file(*first, parent, name);
}

void Extraction::make_file(const Member& member, int parent, const std::string& name) {
    buffer_.resize(kExtractBytes);
    const std::string temporary = ".tailrace-extract-" + std::to_string(::getpid());
    const Descriptor file(
        ::openat(parent, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file.is_open()) fail_at("create", member);
    struct Removal {
        int parent;
        const std::string& name;
        ~Removal() { ::unlinkat(parent, name.c_str(), 0); }
    } const removal{parent, temporary};
    Checksum sum;
    for (uint64_t at = 0; at < member.data_bytes;) {
        const size_t bytes = std::min<uint64_t>(buffer_.size(), member.data_bytes - at);
        if (read_up_to(bundle_.descriptor(), member.data_at + at, buffer_.data(), bytes, bundle_.path()) != bytes)
            fail(Status::CORRUPT, bundle_.path(), ": it became shorter while it was read");
        sum.add(buffer_.data(), bytes);
        write_fully(file.get(), at, buffer_.data(), bytes, folder_path_ + "/" + std::string(member.name));
        at += bytes;
    }
    if (sum.value() != member.sum)
        fail(Status::CORRUPT, bundle_.path(), ": the bytes of ", std::string(member.name),
             " are damaged: their checksum is another; it was not extracted");
    const timespec times[2] = {time_of(member.mtime_ns), time_of(member.mtime_ns)};
    if (::fchmod(file.get(), member.mode & kPermissions) != 0 || ::futimens(file.get(), times) != 0)
        fail_at("set the mode of", member);
    // link refuses a name that is there; rename would replace it.
    if (::linkat(parent, temporary.c_str(), parent, name.c_str(), 0) != 0) fail_at("make", member);
    bytes_ += member.data_bytes;
    made_.emplace(member.name);
}

}  // namespace tailrace
