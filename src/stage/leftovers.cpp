#include "stage/leftovers.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string_view>
#include <vector>

#include "base/paths.hpp"
#include "stage/scratch.hpp"

namespace tailrace {
namespace {

constexpr std::string_view kExtractions = ".tailrace-extract-", kDrains = ".tailrace-drain-", kComparisons = "tailrace-compare-";
constexpr char kLockName[] = "lock";
constexpr int64_t kOld_s = 24 * 3600;  // an unlocked file of an extraction that is as old as this is abandoned

class Search {
public:
    Search(const ScavengeOptions& options, const std::function<void(const Leftover&)>& see) : options_(options), see_(see) {}

    void below(const Descriptor& folder, const std::string& path) {
        // Open the folder again: a duplicated descriptor would continue to read where the first one stopped.
        const std::unique_ptr<DIR, decltype([](DIR* opened) { ::closedir(opened); })> opened(
            ::fdopendir(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
        if (!opened) {
            ++unreadable_;
            return;
        }
        std::vector<std::string> names;
        while (const dirent* entry = ::readdir(opened.get()))
            if (is_worth_a_look(*entry)) names.emplace_back(entry->d_name);
        std::sort(names.begin(), names.end());
        for (const std::string& name : names) one(folder, name, path + "/" + name);
    }
    uint64_t unreadable() const { return unreadable_; }

private:
    static bool is_worth_a_look(const dirent& entry) {
        const std::string_view name = entry.d_name;
        if (name == "." || name == "..") return false;
        return entry.d_type == DT_DIR || entry.d_type == DT_UNKNOWN || name.starts_with(kExtractions);
    }

    void one(const Descriptor& parent, const std::string& name, const std::string& path) {
        struct stat status;
        if (::fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
        const bool is_own = status.st_uid == ::geteuid();
        if (S_ISREG(status.st_mode) && name.starts_with(kExtractions) && is_own) {
            see_file(parent, name, path, status);
            return;
        }
        if (!S_ISDIR(status.st_mode)) return;
        const Descriptor folder = open_beneath(parent.get(), name, O_RDONLY | O_DIRECTORY);
        if (!folder.is_open()) {
            ++unreadable_;
            return;
        }
        if (is_own && name.starts_with(kExtractions))
            each_owner(folder, path, LeftoverKind::extraction);
        else if (is_own && name.starts_with(kDrains))
            each_owner(folder, path, LeftoverKind::drain);
        else if (is_own && name == kStateFolder)
            outbox(parent, folder, path);
        else if (is_own && name.starts_with(kComparisons) && path_exists(path + "/" + kLockName))
            comparison(folder, path);
        else
            below(folder, path);
    }

    // A leftover of an older version, whose extractions had one file each, without a lock.
    void see_file(const Descriptor& parent, const std::string& name, const std::string& path, const struct stat& status) {
        Leftover found;
        found.path = path;
        found.made_s = status.st_mtim.tv_sec;
        found.files = 1;
        found.bytes = static_cast<uint64_t>(status.st_size);
        if (std::time(nullptr) - found.made_s >= kOld_s) found.state = LeftoverState::abandoned;
        if (options_.remove && found.state == LeftoverState::abandoned)
            found.is_removed = ::unlinkat(parent.get(), name.c_str(), 0) == 0;
        see_(found);
    }

    // Looks at NAME/TOKEN of each owner. An empty NAME is left by an owner that was killed before it made its TOKEN.
    void each_owner(const Descriptor& outer, const std::string& path, LeftoverKind kind) {
        for (const std::string& token : list_directory(path)) {
            const Descriptor own = open_beneath(outer.get(), token, O_RDONLY | O_DIRECTORY);
            if (own.is_open()) locked(own, path + "/" + token, kind, path + "/" + token);
        }
        if (options_.remove) remove_directory_if_empty(path);
    }

    void comparison(const Descriptor& folder, const std::string& path) {
        locked(folder, path, LeftoverKind::comparison, path + "/copy");
    }

    // `to_remove`: the folder itself, or what of it is a leftover. The lock is held until it is gone.
    void locked(const Descriptor& folder, const std::string& path, LeftoverKind kind, const std::string& to_remove) {
        const Lock lock = take_lock(folder.get(), kLockName, options_.any_node);
        Leftover found = found_at(to_remove, kind, lock);
        count(folder, found);
        // Its owner was killed before it made the lock. If the owner still runs, it makes another folder when this one is removed.
        if (lock.state == LockState::absent && found.files == 0) found.state = LeftoverState::abandoned;
        if (options_.remove && found.state == LeftoverState::abandoned) {
            remove_tree(to_remove);
            if (to_remove != path) remove_file(path + "/" + kLockName);
            found.is_removed = true;
        }
        see_(found);
    }

    void outbox(const Descriptor& scratch, const Descriptor& state, const std::string& path) {
        const Lock lock = take_lock(state.get(), kLockName, options_.any_node);
        Leftover found = found_at(path, LeftoverKind::outbox, lock);
        for (const std::string& name : scan_below(scratch.get())) count_one(scratch, name, found);
        const std::vector<std::string> aside = list_directory(path + "/removing");
        if (found.state == LeftoverState::abandoned && (found.files > 0 || !aside.empty()))
            found.state = LeftoverState::undelivered;
        if (options_.remove && found.state == LeftoverState::abandoned) {
            remove_tree(path);
            found.is_removed = true;
        }
        see_(found);
    }

    static Leftover found_at(const std::string& path, LeftoverKind kind, const Lock& lock) {
        Leftover found;
        found.path = path;
        found.kind = kind;
        found.state = state_of(lock);
        found.node = lock.node;
        found.made_s = lock.made_s;
        return found;
    }

    static LeftoverState state_of(const Lock& lock) {
        switch (lock.state) {
            case LockState::held: return LeftoverState::in_use;
            case LockState::free: return LeftoverState::abandoned;
            case LockState::elsewhere: return LeftoverState::elsewhere;
            default: return LeftoverState::unknown;
        }
    }

    static void count(const Descriptor& folder, Leftover& found) {
        for (const std::string& name : scan_below(folder.get()))
            if (name != kLockName) count_one(folder, name, found);
    }
    static void count_one(const Descriptor& folder, const std::string& name, Leftover& found) {
        std::string last;
        struct stat status;
        const Descriptor parent = open_parent(folder.get(), name, false, last);
        if (!parent.is_open() || ::fstatat(parent.get(), last.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
        if (S_ISDIR(status.st_mode)) return;
        ++found.files;
        if (S_ISREG(status.st_mode)) found.bytes += static_cast<uint64_t>(status.st_size);
    }

    const ScavengeOptions& options_;
    const std::function<void(const Leftover&)>& see_;
    uint64_t unreadable_ = 0;
};

}  // namespace

const char* kind_name(LeftoverKind kind) {
    constexpr const char* kNames[] = {"extraction", "drain", "outbox", "comparison"};
    return kNames[static_cast<uint8_t>(kind)];
}

const char* state_name(LeftoverState state) {
    constexpr const char* kNames[] = {"abandoned", "undelivered", "in use", "elsewhere", "unknown"};
    return kNames[static_cast<uint8_t>(state)];
}

uint64_t scavenge(const std::string& folder, const ScavengeOptions& options, const std::function<void(const Leftover&)>& see) {
    Search search(options, see);
    search.below(open_folder(folder), folder);
    return search.unreadable();
}

}  // namespace tailrace
