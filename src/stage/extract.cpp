#include "stage/extract.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <span>

#include "base/paths.hpp"
#include "base/system_error.hpp"
#include "stage/attributes.hpp"

namespace tailrace {
namespace {

constexpr char kTemporary[] = "file";
constexpr char kDescriptors[] = "/proc/self/fd";
constexpr mode_t kPermissions = 0777;  // a bundle gives no file the rights of another user

std::string work_name() { return ".tailrace-extract-" + std::to_string(::geteuid()); }

timespec time_of(int64_t ns) {
    constexpr int64_t kSecond = 1000000000;
    const int64_t rest = (ns % kSecond + kSecond) % kSecond;
    return {.tv_sec = (ns - rest) / kSecond, .tv_nsec = rest};
}

}  // namespace

void Extraction::begin() {
    make_directories(folder_path_);
    folder_ = open_folder(folder_path_);
    has_unnamed_ = ::access(kDescriptors, X_OK) == 0;  // without them such a file cannot get a name
    if (::faccessat(folder_.get(), work_name().c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) make_work_folder();  // removes leftovers
}

void Extraction::make_work_folder() { work_.emplace(folder_path_, work_name()); }

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
    if (!folder_.is_open()) begin();
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
    make_file(bundle, file_of(bundle, member), parent, name);
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

// A file that has no name below the folder, so that a killed extraction leaves none.
Descriptor Extraction::new_file(int parent) {
    constexpr mode_t kOwn = S_IRUSR | S_IWUSR;
    if (has_unnamed_) {
        Descriptor file(::openat(parent, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, kOwn));
        if (file.is_open()) return file;
        has_unnamed_ = false;  // such as NFS; other errors come again below
    }
    if (!work_) make_work_folder();
    Descriptor file(::openat(work_->descriptor(), kTemporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwn));
    if (!file.is_open()) fail_system("create", work_->path() + "/" + kTemporary, errno);
    return file;
}

// Uses link, which fails if the name exists; rename would replace the existing file.
void Extraction::give_name(int file, int parent, const std::string& name, const Member& member) {
    if (has_unnamed_) {
        const std::string path = std::string(kDescriptors) + "/" + std::to_string(file);
        if (::linkat(AT_FDCWD, path.c_str(), parent, name.c_str(), AT_SYMLINK_FOLLOW) != 0) fail_at("make", member);
        return;
    }
    if (::linkat(work_->descriptor(), kTemporary, parent, name.c_str(), 0) != 0) {
        if (errno == EXDEV)
            fail(Status::BAD_ARGUMENT, folder_path_, "/", std::string(member.name), " is on another file system than ",
                 folder_path_, ": name a folder of one file system with --into");
        fail_at("make", member);
    }
}

void Extraction::make_file(const BundleReader& bundle, const Member& member, int parent, const std::string& name) {
    const Descriptor file = new_file(parent);
    struct Removal {
        const Extraction& of;
        ~Removal() {
            if (!of.has_unnamed_) ::unlinkat(of.work_->descriptor(), kTemporary, 0);
        }
    } const removal{*this};
    uint64_t at = 0;
    each_piece_of(bundle, member, [&](std::span<const char> piece) {
        write_fully(file.get(), at, piece.data(), piece.size(), folder_path_ + "/" + std::string(member.name));
        at += piece.size();
    });
    set_attributes(bundle, member, file.get());
    const timespec times[2] = {time_of(member.mtime_ns), time_of(member.mtime_ns)};
    if (::fchmod(file.get(), member.mode & kPermissions) != 0 || ::futimens(file.get(), times) != 0)
        fail_at("set the mode of", member);
    give_name(file.get(), parent, name, member);
    bytes_ += member.data_bytes;
}

}  // namespace tailrace
