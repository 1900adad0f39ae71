// The sink `mirror`: the same names at the target.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <vector>

#include "base/paths.hpp"
#include "base/system_error.hpp"
#include "stage/attributes.hpp"
#include "stage/sink.hpp"

namespace tailrace {
namespace {

constexpr size_t kMirrorBytes = 8u << 20;

class Mirror : public Sink {
public:
    explicit Mirror(const SinkPlace& place)
        : place_(place), target_(open_folder(place.target)), temporary_(open_folder(place.temporary)), buffer_(kMirrorBytes) {}

    void add(Item& item) override {
        Copy& copy = copies_.emplace_back(std::to_string(place_.first + copies_.size()), &item);
        if (item.early_use != EarlyUse::none) {
            take_early(copy);
            return;
        }
        const char* const name = copy.name.c_str();
        ::unlinkat(temporary_.get(), name, 0);
        if (item.kind == ItemKind::symbolic_link) {
            if (::symlinkat(item.link.c_str(), temporary_.get(), name) != 0) fail_system("link", path_of(item), errno);
        } else if (item.kind == ItemKind::file) {
            copy.file =
                Descriptor(::openat(temporary_.get(), name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
            if (!copy.file.is_open()) fail_system("create the copy of", path_of(item), errno);
            uint64_t at = 0;
            item.sum = read_item(item, buffer_, [&](std::span<const char> bytes) {
                write_fully(copy.file.get(), at, bytes.data(), bytes.size(), path_of(item));
                ::sync_file_range(copy.file.get(), static_cast<off_t>(at), static_cast<off_t>(bytes.size()), SYNC_FILE_RANGE_WRITE);
                at += bytes.size();
            });
            set_attributes(copy.file.get(), item);
        }
    }

    void sync() override {
        for (const Copy& copy : copies_)
            if (copy.file.is_open() && ::fsync(copy.file.get()) != 0) fail_system("fsync", path_of(*copy.item), errno);
    }

    void compare() override {
        for (const Copy& copy : copies_) {
            if (!copy.file.is_open() || copy.item->early_use != EarlyUse::none)
                continue;  // an early copy was compared when it was made
            const std::string path = path_of(*copy.item);
            if (sum_of_stored(copy.file.get(), 0, copy.item->identity.size_bytes, buffer_, path) != copy.item->sum)
                fail(Status::CORRUPT, "the copy of ", path, " reads back other bytes than were written: its device may be damaged");
        }
    }

    void publish() override {
        for (const Copy& copy : copies_) publish_one(copy);
        copies_.clear();
    }

    void sync_names() override {
        for (const std::string& folder : folders_) sync_directory(place_.target + "/" + folder);
        folders_.clear();
    }

    void abandon() noexcept override {
        for (const Copy& copy : copies_)  // keep early copies for the next attempt
            if (copy.item->early_use == EarlyUse::none) ::unlinkat(temporary_.get(), copy.name.c_str(), 0);
        copies_.clear();
    }

private:
    struct Copy {
        Copy(std::string named, Item* of) : name(std::move(named)), item(of) {}
        std::string name;
        Item* item;
        Descriptor file;
    };

    std::string path_of(const Item& item) const { return place_.target + "/" + item.target_path(); }

    // Takes an early copy, which is on the device already. Attributes that are set now are synced later.
    void take_early(Copy& copy) const {
        const Item& item = *copy.item;
        if (item.early_use == EarlyUse::as_it_is) return;
        copy.file = Descriptor(::open(item.early_path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
        if (!copy.file.is_open()) fail_system("open the copy of", path_of(item), errno);
        set_attributes(copy.file.get(), item);
    }

    void set_attributes(int file, const Item& item) const {
        set_user_attributes(file, user_attributes_of(item.file.get(), item.path), path_of(item));
        const Identity& is = item.identity;
        // Only root may change the owner of a file; files that other users deliver belong to these users.
        if ((is.uid != ::geteuid() || is.gid != ::getegid()) && ::fchown(file, is.uid, is.gid) != 0 && errno != EPERM)
            fail_system("set the owner of", path_of(item), errno);
        if (::fchmod(file, is.mode & 07777) != 0) fail_system("set the mode of", path_of(item), errno);
        constexpr int64_t kSecond = 1000000000;
        const timespec time{.tv_sec = is.mtime_ns / kSecond, .tv_nsec = is.mtime_ns % kSecond};
        const timespec times[2] = {time, time};
        if (::futimens(file, times) != 0) fail_system("set the time of", path_of(item), errno);
    }

    void publish_one(const Copy& copy) {
        const Item& item = *copy.item;
        std::string name;
        // Follow symbolic links within the target, because the user has made them.
        const size_t slash = item.path.rfind('/');
        const std::string folder = slash == std::string::npos ? "." : item.path.substr(0, slash);
        make_directories(place_.target + "/" + folder, place_.target);
        const std::string path = path_of(item);
        if (item.kind == ItemKind::folder) {
            make_directories(path, place_.target);
            ::chmod(path.c_str(), item.identity.mode & 07777);
        } else if (item.kind == ItemKind::hard_link) {
            const std::string first = place_.target + "/" + item.link;
            if (::link(first.c_str(), (place_.temporary + "/" + copy.name).c_str()) != 0) fail_system("link", path, errno);
            rename_path(place_.temporary + "/" + copy.name, path);
            ::unlinkat(temporary_.get(), copy.name.c_str(), 0);  // renaming over another name of the same file leaves both
        } else {
            rename_path(item.early_use == EarlyUse::none ? place_.temporary + "/" + copy.name : item.early_path, path);
        }
        folders_.insert(".");
        for (size_t end = folder.size(); end != std::string::npos && end > 0; end = folder.rfind('/', end - 1))
            folders_.insert(folder.substr(0, end));
    }

    SinkPlace place_;
    Descriptor target_, temporary_;
    std::vector<char> buffer_;
    std::vector<Copy> copies_;
    std::set<std::string> folders_;  // in which names were made that are not synced yet
};

}  // namespace

std::unique_ptr<Sink> make_mirror(const SinkPlace& place) { return std::make_unique<Mirror>(place); }

}  // namespace tailrace
