#include "preload/logical_folder.hpp"

#include <errno.h>
#include <sys/mman.h>

#include "preload/handles.hpp"
#include "preload/staged_elsewhere.hpp"
#include "preload/staging.hpp"
#include "preload/tree_walk.hpp"
#include "trace/memory.hpp"

namespace tailrace::preload::logical_folder {
namespace {

namespace raw = trace::raw;

// The header of the list of an open directory's entries, which follow it one after the other, in the kernel's format.
struct Listing {
    uint64_t room, used, position;
};

constexpr uint64_t kFirstRoom = 1 << 16;
Handles listings;
constinit std::atomic<bool> has_reported_two = false;

Listing* listing_of(const DIR* directory) {
    return listings.is_empty() ? nullptr : reinterpret_cast<Listing*>(listings.find(reinterpret_cast<Word>(directory)));
}

dirent64* entry_at(Listing* listing, uint64_t at) { return reinterpret_cast<dirent64*>(reinterpret_cast<char*>(listing) + at); }

bool grow(Listing*& listing) {
    const int64_t at = raw::call(SYS_mremap, raw::address(listing), static_cast<int64_t>(listing->room),
                                 static_cast<int64_t>(listing->room * 2), MREMAP_MAYMOVE);
    if (raw::is_error(at)) return false;
    listing = reinterpret_cast<Listing*>(at);
    listing->room *= 2;
    return true;
}

bool add(Listing*& listing, const char* name, uint64_t inode, unsigned char type) {
    const uint64_t bytes = strlen(name) + 1;
    const uint64_t size = (offsetof(dirent64, d_name) + bytes + 7) / 8 * 8;
    if (listing->used + sizeof(dirent64) > listing->room && !grow(listing)) return false;
    dirent64* const entry = entry_at(listing, listing->used);
    listing->used += size;
    entry->d_ino = inode;
    entry->d_off = static_cast<off64_t>(listing->used);
    entry->d_reclen = static_cast<unsigned short>(size);
    entry->d_type = type;
    memcpy(entry->d_name, name, bytes);
    return true;
}

void report_two(const char* path, const char* physical) {
    if (has_reported_two.exchange(true)) return;
    char text[4 * 4096];
    uint64_t bytes = raw::put_text(text, "tailrace: two files have one name, and the second is used: ", sizeof text);
    for (const char* part : {path, " and ", physical, "; `tailrace place check` lists such names\n"})
        bytes += raw::put_text(text + bytes, part, sizeof text - bytes);
    raw::call(SYS_write, 2, raw::address(text), static_cast<int64_t>(bytes));
}

// The folder on scratch that belongs to a folder that is listed.
struct StagedFolder {
    int64_t descriptor = -1;

    explicit StagedFolder(const WalkedPath& path) {
        char folder[staging::kStagedRoom];
        if (!staging::is_on() || !staging::scratch_of_folder(path.text, path.bytes, folder)) return;
        descriptor = open_folder(AT_FDCWD, folder);
    }
    StagedFolder(const StagedFolder&) = delete;
    ~StagedFolder() {
        if (descriptor >= 0) raw::call(SYS_close, descriptor);
    }
    // Whether an entry is hidden: it belongs to the drain's copies at the target, which do not have their final names yet.
    bool hides(const WalkedPath& path, const char* name) const {
        return descriptor >= 0 && staging::is_of_drain(path.text, path.bytes, name);
    }
    bool has(const char* name) const { return descriptor >= 0 && staging::exists_at(static_cast<int>(descriptor), name); }
};

// Whether a file of the logical folder is hidden by one of the same name in the tree.
bool is_hidden(WalkedPath& path, const dirent64& entry) {
    char physical[place::kPathRoom];
    int32_t rule = 0;
    const uint64_t name = strlen(entry.d_name);
    if (path.bytes + name + 2 > sizeof path.text) return false;
    path.text[path.bytes] = '/';
    memcpy(path.text + path.bytes + 1, entry.d_name, name + 1);
    if (place::physical_path(placing::rules(), path.text, physical, rule) == 0) return false;
    if (!placing::exists_at(AT_FDCWD, physical)) return false;
    report_two(path.text, physical);
    return true;
}

bool fill(Listing*& listing, int64_t descriptor, WalkedPath& path, const StagedFolder& staged, staging::NamesElsewhere& elsewhere) {
    bool fits = true;
    const auto take = [&](const dirent64& entry) {
        elsewhere.leave_out(entry.d_name);
        fits = fits && add(listing, entry.d_name, entry.d_ino, entry.d_type);
    };
    listing->used = listing->position = sizeof(Listing);
    struct stat file;
    for (const char* dots : {".", ".."}) {
        const bool is_there = raw::call(SYS_newfstatat, descriptor, raw::address(dots), raw::address(&file), 0) == 0;
        fits = fits && add(listing, dots, is_there ? file.st_ino : 1, DT_DIR);
    }
    each_entry(descriptor, [&](const dirent64& entry) {
        const auto name = static_cast<uint32_t>(strlen(entry.d_name));
        if (entry.d_type == DT_DIR && place::is_tree_of(placing::rules(), path.text, path.bytes, entry.d_name, name)) return;
        if (entry.d_type != DT_DIR && staged.has(entry.d_name)) return;
        if (entry.d_type == DT_DIR && staged.hides(path, entry.d_name)) return;
        if (entry.d_type == DT_DIR || !is_hidden(path, entry)) take(entry);
    });
    // Take only files from scratch: each folder on scratch also exists at the target.
    if (staged.descriptor >= 0)
        each_entry(staged.descriptor, [&](const dirent64& entry) {
            if (entry.d_type != DT_DIR) take(entry);
        });
    raw::call(SYS_lseek, descriptor, 0, SEEK_SET);
    walk_tree(
        descriptor, path,
        [&](int64_t, const dirent64& entry) {
            if (!staged.has(entry.d_name)) take(entry);
        },
        [](int64_t, const char*) {});
    elsewhere.each([&](const char* name, unsigned char type) {
        fits = fits && add(listing, name, place::checksum(name, strlen(name)) | 1, type);  // it has no inode here yet
    });
    return fits;
}

Listing* read_all(int directory) {
    WalkedPath path;
    path.bytes = path.logical = placing::real_folder(directory, nullptr, 0, path.text);
    if (path.bytes == 0) return nullptr;
    const StagedFolder staged(path);
    staging::NamesElsewhere elsewhere(path.text, path.bytes);
    if (staged.descriptor < 0 && !elsewhere.is_asked() && !place::has_rule(placing::rules(), path.text, path.bytes)) return nullptr;
    const int64_t descriptor = open_folder(directory, ".");
    if (descriptor < 0) return nullptr;
    auto* listing =
        static_cast<Listing*>(trace::map_memory(kFirstRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (listing != nullptr) {
        listing->room = kFirstRoom;
        // A file that left scratch after the folder at the target was read would be in neither.
        const staging::ChangingNames no_delivery(staging::is_on());
        fill(listing, descriptor, path, staged, elsewhere);
    }
    raw::call(SYS_close, descriptor);
    return listing;
}

void drop(Listing* listing) { raw::call(SYS_munmap, raw::address(listing), static_cast<int64_t>(listing->room)); }

}  // namespace

void begin(DIR* directory) {
    if (!placing::is_on() || directory == nullptr) return;
    const int code = errno;
    if (Listing* listing = read_all(dirfd(directory))) {
        listings.put(reinterpret_cast<Word>(directory), reinterpret_cast<uint64_t>(listing));
        if (listing_of(directory) == nullptr) drop(listing);  // too many directories are open
    }
    errno = code;
}

void end(DIR* directory) {
    Listing* const listing = listing_of(directory);
    if (listing == nullptr) return;
    listings.remove(reinterpret_cast<Word>(directory));
    drop(listing);
}

bool read(DIR* directory, dirent64*& entry) {
    Listing* const listing = listing_of(directory);
    if (listing == nullptr) return false;
    entry = listing->position < listing->used ? entry_at(listing, listing->position) : nullptr;
    if (entry != nullptr) listing->position += entry->d_reclen;
    return true;
}

bool tell(DIR* directory, long& place) {
    const Listing* const listing = listing_of(directory);
    if (listing != nullptr) place = static_cast<long>(listing->position);
    return listing != nullptr;
}

bool seek(DIR* directory, long place) {
    Listing* const listing = listing_of(directory);
    if (listing == nullptr) return false;
    const auto wanted = static_cast<uint64_t>(place);
    listing->position = wanted >= sizeof(Listing) && wanted <= listing->used ? wanted : sizeof(Listing);
    return true;
}

bool rewind(DIR* directory) {
    if (listing_of(directory) == nullptr) return false;
    end(directory);
    begin(directory);
    return true;
}

bool remove_empty_tree(int directory, const char* path) {
    WalkedPath walked;
    walked.bytes = walked.logical = placing::real_folder(directory, path, static_cast<uint32_t>(strnlen(path, 4096)), walked.text);
    if (walked.bytes == 0 || !place::has_rule(placing::rules(), walked.text, walked.bytes)) return false;
    walked.text[walked.bytes] = '\0';
    const int64_t descriptor = open_folder(AT_FDCWD, walked.text);
    if (descriptor < 0) return false;
    walk_tree(
        descriptor, walked, [](int64_t, const dirent64&) {},
        [](int64_t parent, const char* name) { raw::call(SYS_unlinkat, parent, raw::address(name), AT_REMOVEDIR); });
    raw::call(SYS_close, descriptor);
    return true;
}

namespace {

bool flatten(const char* folder, uint32_t bytes) {
    WalkedPath path;
    if (bytes >= sizeof path.text) return true;
    memcpy(path.text, folder, bytes);
    path.text[bytes] = '\0';
    path.bytes = path.logical = bytes;
    const int64_t descriptor = open_folder(AT_FDCWD, path.text);
    if (descriptor < 0) return true;  // no such folder yet
    int64_t worst = 0;
    walk_tree(
        descriptor, path,
        [&](int64_t from, const dirent64& entry) {
            constexpr int kNoReplace = 1;
            const int64_t result =
                raw::call(SYS_renameat2, from, raw::address(entry.d_name), descriptor, raw::address(entry.d_name), kNoReplace);
            worst = result < 0 ? result : worst;
        },
        [](int64_t parent, const char* name) { raw::call(SYS_unlinkat, parent, raw::address(name), AT_REMOVEDIR); });
    raw::call(SYS_close, descriptor);
    if (worst != 0) errno = static_cast<int>(-worst);
    return worst == 0;
}

bool is_within(const char* folder, uint32_t bytes, const char* outer, uint32_t outer_bytes) {
    return bytes >= outer_bytes && memcmp(folder, outer, outer_bytes) == 0 && (bytes == outer_bytes || folder[outer_bytes] == '/');
}

}  // namespace

bool flatten_before_rename(int directory, const char* from, int to_directory, const char* to) {
    char real[placing::kRoom], target[placing::kRoom];
    const uint32_t bytes = placing::real_folder(directory, from, static_cast<uint32_t>(strnlen(from, 4096)), real);
    const char* const slash = strrchr(to, '/');
    const uint32_t to_bytes = slash == nullptr ? 0 : slash == to ? 1 : static_cast<uint32_t>(slash - to);
    const uint32_t target_bytes = placing::real_folder(to_directory, to, to_bytes, target);
    if (bytes == 0 || target_bytes == 0) return true;  // the call itself will fail
    const place::Rules rules = placing::rules();
    for (uint32_t r = 0; r < rules.count(); ++r) {
        const place::Rule& rule = rules.rule(r);
        const char* const folder = rules.folder_of(rule);
        if (rule.is_below != 0) {
            const bool leaves =
                is_within(real, bytes, folder, rule.folder.bytes) && !is_within(target, target_bytes, folder, rule.folder.bytes);
            if (!leaves && !is_within(folder, rule.folder.bytes, real, bytes)) continue;
            errno = EXDEV;  // mv and other tools then copy the files one by one
            return false;
        }
        if (is_within(folder, rule.folder.bytes, real, bytes) && !flatten(folder, rule.folder.bytes)) return false;
    }
    return true;
}

}  // namespace tailrace::preload::logical_folder
