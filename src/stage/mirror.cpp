// The sink `mirror`: the same names at the target.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <vector>

#include "base/local_file_system.hpp"
#include "base/paths.hpp"
#include "base/system_error.hpp"
#include "base/workers.hpp"
#include "stage/attributes.hpp"
#include "stage/sink.hpp"
#include "stage/stop.hpp"

namespace tailrace {
namespace {

// The target may be a parallel file system, where each call waits for a server: several threads wait at once. On two processors 8
// were fastest (docs/staging.md has the seconds).
constexpr size_t kThreads = 8;
constexpr size_t kMostBufferBytes = 4u << 20;

class Mirror : public Sink {
public:
    explicit Mirror(const SinkPlace& place)
        : place_(place), target_(open_folder(place.target)), temporary_(open_folder(place.temporary)),
          syncs_at_once_(!is_on_local_file_system(temporary_.get())), buffers_(kThreads) {}

    void add(std::span<Item> items, const std::function<void()>& on_copied) override {
        uint64_t longest = 1;
        for (Item& item : items) {
            copies_.emplace_back(std::to_string(place_.first + copies_.size()), &item);
            longest = std::max(longest, item.identity.size_bytes);
        }
        buffer_bytes_ = std::min<uint64_t>(longest, kMostBufferBytes);
        for_each_copy([&](Copy& copy, size_t thread) {
            throw_if_stopped();
            add_one(copy, thread);
            on_copied();
        });
    }

    void sync() override {
        for_each_copy([&](const Copy& copy, size_t) {
            if (copy.file.is_open() && !copy.is_synced) sync_one(copy);
        });
    }

    void compare() override {
        for_each_copy([&](const Copy& copy, size_t thread) {
            if (!copy.file.is_open() || copy.is_early) return;  // an early copy was compared when it was made
            const std::string path = path_of(*copy.item);
            if (sum_of_stored(copy.file.get(), 0, copy.item->identity.size_bytes, buffer_of(thread), path) != copy.item->sum)
                fail(Status::CORRUPT, "the copy of ", path, " reads back other bytes than were written: its device may be damaged");
        });
    }

    void publish() override {
        for (const Copy& copy : copies_) make_parents(*copy.item);
        for_each_copy([&](const Copy& copy, size_t) {
            const ItemKind kind = copy.item->kind;
            if (kind == ItemKind::file || kind == ItemKind::symbolic_link)
                rename_path(copy.is_early ? copy.item->early_path : temporary_path_of(copy), path_of(*copy.item));
        });
        for (const Copy& copy : copies_) {
            if (copy.item->kind == ItemKind::hard_link) publish_link(copy);
            if (copy.item->kind == ItemKind::folder) publish_folder(*copy.item);
        }
        copies_.clear();
    }

    void sync_names() override {
        const std::vector<std::string> folders(folders_.begin(), folders_.end());
        for_each_index(folders.size(), kThreads, [&](size_t k, size_t) { sync_directory(place_.target + "/" + folders[k]); });
        folders_.clear();
    }

    void abandon() noexcept override {
        for (const Copy& copy : copies_)  // keep early copies for the next attempt
            if (!copy.is_early) ::unlinkat(temporary_.get(), copy.name.c_str(), 0);
        copies_.clear();
    }

private:
    struct Copy {
        Copy(std::string named, Item* of) : name(std::move(named)), item(of), is_early(of->early_use != EarlyUse::none) {}
        std::string name;
        Item* item;
        bool is_early, is_synced = false;
        Descriptor file;
    };

    void for_each_copy(const std::function<void(Copy& copy, size_t thread)>& work) {
        for_each_index(copies_.size(), kThreads, [&](size_t k, size_t thread) { work(copies_[k], thread); });
    }

    std::span<char> buffer_of(size_t thread) {
        buffers_[thread].resize(buffer_bytes_);
        return buffers_[thread];
    }

    std::string path_of(const Item& item) const { return place_.target + "/" + item.target_path(); }

    std::string temporary_path_of(const Copy& copy) const { return place_.temporary + "/" + copy.name; }

    void add_one(Copy& copy, size_t thread) {
        Item& item = *copy.item;
        if (copy.is_early) return take_early(copy);
        if (item.kind == ItemKind::symbolic_link) make_link(copy);
        if (item.kind != ItemKind::file) return;
        copy.file = make_file(copy);
        uint64_t at = 0;
        item.sum = read_item(item, buffer_of(thread), [&](std::span<const char> bytes) {
            write_fully(copy.file.get(), at, bytes.data(), bytes.size(), path_of(item));
            ::sync_file_range(copy.file.get(), static_cast<off_t>(at), static_cast<off_t>(bytes.size()), SYNC_FILE_RANGE_WRITE);
            at += bytes.size();
        });
        set_attributes(copy.file.get(), item);
        if (!syncs_at_once_) return;
        sync_one(copy);
        copy.is_synced = true;
    }

    void sync_one(const Copy& copy) const {
        if (::fsync(copy.file.get()) != 0) fail_system("fsync", path_of(*copy.item), errno);
    }

    // A temporary name exists if a shipment was abandoned and its copy could not be removed.
    Descriptor make_file(const Copy& copy) const {
        const auto make = [&] {
            constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
            return Descriptor(::openat(temporary_.get(), copy.name.c_str(), kFlags, S_IRUSR | S_IWUSR));
        };
        Descriptor file = make();
        if (!file.is_open() && errno == EEXIST) {
            ::unlinkat(temporary_.get(), copy.name.c_str(), 0);
            file = make();
        }
        if (!file.is_open()) fail_system("create the copy of", path_of(*copy.item), errno);
        return file;
    }

    void make_link(const Copy& copy) const {
        ::unlinkat(temporary_.get(), copy.name.c_str(), 0);
        if (::symlinkat(copy.item->link.c_str(), temporary_.get(), copy.name.c_str()) != 0)
            fail_system("link", path_of(*copy.item), errno);
    }

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

    // Follows symbolic links within the target, because the user has made them.
    void make_parents(const Item& item) {
        const size_t slash = item.path.rfind('/');
        const std::string folder = slash == std::string::npos ? "." : item.path.substr(0, slash);
        folders_.insert(".");
        if (!folders_.insert(folder).second) return;
        make_directories(place_.target + "/" + folder, place_.target);
        for (size_t end = folder.rfind('/'); end != std::string::npos && end > 0; end = folder.rfind('/', end - 1))
            folders_.insert(folder.substr(0, end));
    }

    void publish_link(const Copy& copy) const {
        const std::string path = path_of(*copy.item), first = place_.target + "/" + copy.item->link;
        ::unlinkat(temporary_.get(), copy.name.c_str(), 0);
        if (::link(first.c_str(), temporary_path_of(copy).c_str()) != 0) fail_system("link", path, errno);
        rename_path(temporary_path_of(copy), path);
        ::unlinkat(temporary_.get(), copy.name.c_str(), 0);  // renaming over another name of the same file leaves both
    }

    void publish_folder(const Item& item) const {
        const std::string path = path_of(item);
        make_directories(path, place_.target);
        ::chmod(path.c_str(), item.identity.mode & 07777);
    }

    SinkPlace place_;
    Descriptor target_, temporary_;
    // Whether a file is synced when it was written, or when all are written. RATIONALE: a local file system writes many files
    // together. MooseFS syncs a file that was just written in a millisecond, and makes one wait that was written before: 500 files
    // took 0.4 instead of 2.1 to 3.3 s.
    const bool syncs_at_once_;
    std::vector<std::vector<char>> buffers_;  // one a thread, made when it is needed
    size_t buffer_bytes_ = 1;
    std::vector<Copy> copies_;
    std::set<std::string> folders_;  // in which names were made that are not synced yet
};

}  // namespace

std::unique_ptr<Sink> make_mirror(const SinkPlace& place) { return std::make_unique<Mirror>(place); }

}  // namespace tailrace
