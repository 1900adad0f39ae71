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
#include "stage/attributes.hpp"

namespace tailrace {
namespace {

constexpr size_t kExtractBytes = 4u << 20;
constexpr char kTemporary[] = "file";
constexpr mode_t kPermissions = 0777;  // a bundle gives no file the rights of another user

timespec time_of(int64_t ns) {
    constexpr int64_t kSecond = 1000000000;
    const int64_t rest = (ns % kSecond + kSecond) % kSecond;
    return {.tv_sec = (ns - rest) / kSecond, .tv_nsec = rest};
}

}  // namespace

void Extraction::begin() {
    make_directories(folder_path_);
    folder_ = open_folder(folder_path_);
    work_.emplace(folder_path_, ".tailrace-extract-" + std::to_string(::geteuid()));
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

void Extraction::make(const BundleReader& bundle, const Member& member) {
    if (!work_) begin();
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
                fail(Status::BAD_ARGUMENT, bundle.path(), ": the symbolic link ", std::string(member.name), " leads to ",
                     std::string(member.link), ", which may be outside of ", folder_path_, ": it is not made; `tar -xf` makes it");
            if (::symlinkat(std::string(member.link).c_str(), parent.get(), name.c_str()) != 0) fail_at("make link", member);
            ::utimensat(parent.get(), name.c_str(), times, AT_SYMLINK_NOFOLLOW);
            break;
        case ItemKind::hard_link: make_hard_link(bundle, member, parent.get(), name); break;
        case ItemKind::file:
            if (link_to_made(bundle, member.name, member, parent.get(), name)) break;
            make_file(bundle, member, parent.get(), name);
            made_.emplace(member.name, Made{bundle.path(), std::string(member.name)});
            break;
    }
    ++files_;
}

// Whether the file was extracted before, under any of its names; then `member` becomes another name of it.
bool Extraction::link_to_made(const BundleReader& bundle, std::string_view file, const Member& member, int parent,
                              const std::string& name) {
    const auto made = made_.find(file);
    if (links_ != HardLinks::made || made == made_.end() || made->second.bundle != bundle.path()) return false;
    std::string first;
    const Descriptor from = open_parent(folder_.get(), made->second.name, false, first);
    if (!from.is_open() || ::linkat(from.get(), first.c_str(), parent, name.c_str(), 0) != 0) fail_at("link", member);
    return true;
}

void Extraction::make_hard_link(const BundleReader& bundle, const Member& member, int parent, const std::string& name) {
    if (link_to_made(bundle, member.link, member, parent, name)) return;
    const std::optional<Member> file = bundle.find(member.link);
    if (!file || file->kind != ItemKind::file)
        fail(Status::CORRUPT, bundle.path(), ": ", std::string(member.name), " is a name of ", std::string(member.link),
             ", which is no file in it");
    make_file(bundle, *file, parent, name);
    made_.emplace(member.link, Made{bundle.path(), std::string(member.name)});
}

void Extraction::set_attributes(const BundleReader& bundle, const Member& member, int file) const {
    const std::string path = folder_path_ + "/" + std::string(member.name);
    const auto attributes = unpacked(member.attributes);
    if (!attributes)
        fail(Status::CORRUPT, bundle.path(), ": the extended attributes of ", std::string(member.name),
             " are damaged, or not those of a user; it was not extracted");
    try {
        set_user_attributes(file, *attributes, path);
    } catch (const Error& error) {
        fail(error.status(), error.what(),
             ": if this file system has no extended attributes, name a folder of another with --into");
    }
}

void Extraction::make_file(const BundleReader& bundle, const Member& member, int parent, const std::string& name) {
    buffer_.resize(kExtractBytes);
    const int work = work_->descriptor();
    const Descriptor file(::openat(work, kTemporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file.is_open()) fail_system("create", work_->path() + "/" + kTemporary, errno);
    struct Removal {
        int work;
        ~Removal() { ::unlinkat(work, kTemporary, 0); }
    } const removal{work};
    Checksum sum;
    for (uint64_t at = 0; at < member.data_bytes;) {
        const size_t bytes = std::min<uint64_t>(buffer_.size(), member.data_bytes - at);
        bundle.read(member, at, std::span(buffer_).first(bytes));
        sum.add(buffer_.data(), bytes);
        write_fully(file.get(), at, buffer_.data(), bytes, folder_path_ + "/" + std::string(member.name));
        at += bytes;
    }
    if (sum.value() != member.sum)
        fail(Status::CORRUPT, bundle.path(), ": the bytes of ", std::string(member.name),
             " are damaged: their checksum is another; it was not extracted");
    set_attributes(bundle, member, file.get());
    const timespec times[2] = {time_of(member.mtime_ns), time_of(member.mtime_ns)};
    if (::fchmod(file.get(), member.mode & kPermissions) != 0 || ::futimens(file.get(), times) != 0)
        fail_at("set the mode of", member);
    // Use link, which fails if the name exists; rename would replace the existing file.
    if (::linkat(work, kTemporary, parent, name.c_str(), 0) != 0) {
        if (errno == EXDEV)
            fail(Status::BAD_ARGUMENT, folder_path_, "/", std::string(member.name), " is on another file system than ",
                 folder_path_, ": name a folder of one file system with --into");
        fail_at("make", member);
    }
    bytes_ += member.data_bytes;
}

}  // namespace tailrace
