#include "base/striping.hpp"

#include <dlfcn.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/paths.hpp"

extern char** environ;

namespace tailrace {
namespace {

constexpr long kLustreMagic = 0x0BD00BD0;
constexpr uint64_t kMostCount = 1u << 16, kMostBytes = uint64_t{1} << 40;  // liblustreapi: larger numbers mean "default"

// The functions of liblustreapi that Tailrace uses, as the manual pages declare them: most machines have no package with the
// headers.
struct LustreLibrary {
    struct llapi_layout;
    int (*file_create)(const char* name, unsigned long long stripe_size, int stripe_offset, int stripe_count,
                       int pattern) = nullptr;
    llapi_layout* (*layout_get_by_path)(const char* path, uint32_t flags) = nullptr;
    int (*stripe_count_get)(const llapi_layout* layout, uint64_t* count) = nullptr;
    int (*stripe_size_get)(const llapi_layout* layout, uint64_t* bytes) = nullptr;
    void (*layout_free)(llapi_layout* layout) = nullptr;

    bool is_there() const { return file_create && layout_get_by_path && stripe_count_get && stripe_size_get && layout_free; }
};

template <class Function>
void find(void* library, const char* name, Function& function) {
    void* found = ::dlsym(library, name);
    std::memcpy(&function, &found, sizeof found);
}

const LustreLibrary& lustre_library() {
    static const LustreLibrary loaded = [] {
        LustreLibrary names;
        void* library = ::dlopen("liblustreapi.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) library = ::dlopen("liblustreapi.so", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) return names;
        find(library, "llapi_file_create", names.file_create);
        find(library, "llapi_layout_get_by_path", names.layout_get_by_path);
        find(library, "llapi_layout_stripe_count_get", names.stripe_count_get);
        find(library, "llapi_layout_stripe_size_get", names.stripe_size_get);
        find(library, "llapi_layout_free", names.layout_free);
        return names;
    }();
    return loaded;
}

bool has_lfs() {
    const char* path = std::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (::access((folder + "/lfs").c_str(), X_OK) == 0) return true;
    return false;
}

struct LfsResult {
    int status = 0;
    std::string output;
};

LfsResult run_lfs(std::vector<std::string> words) {
    words.insert(words.begin(), "lfs");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int ends[2];
    if (::pipe(ends) != 0) fail(Status::IO_FAILED, "cannot make a pipe for lfs: ", std::strerror(errno));
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    ::posix_spawn_file_actions_addclose(&actions, ends[0]);
    ::posix_spawn_file_actions_addclose(&actions, ends[1]);
    pid_t process = 0;
    const int code = ::posix_spawnp(&process, "lfs", &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    LfsResult result;
    std::array<char, 512> bytes;
    for (ssize_t n; code == 0 && (n = ::read(ends[0], bytes.data(), bytes.size())) != 0;) {
        if (n < 0 && errno != EINTR) break;
        if (n > 0) result.output.append(bytes.data(), static_cast<size_t>(n));
    }
    ::close(ends[0]);
    if (code != 0) fail(Status::IO_FAILED, "cannot start lfs: ", std::strerror(code));
    while (::waitpid(process, &result.status, 0) < 0 && errno == EINTR) {}
    while (!result.output.empty() && std::isspace(static_cast<unsigned char>(result.output.back()))) result.output.pop_back();
    return result;
}

std::optional<uint64_t> number_of(const LfsResult& result) {
    uint64_t number = 0;
    const char* end = result.output.data() + result.output.size();
    const auto [at, code] = std::from_chars(result.output.data(), end, number);
    if (result.status != 0 || code != std::errc() || at != end) return std::nullopt;
    return number;
}

[[noreturn]] void fail_striping(const std::string& path, const Striping& striping, const std::string& why) {
    fail(Status::IO_FAILED, "cannot create ", path, " with stripe_count = ", striping.count, ", stripe_size = ", striping.bytes,
         ": ", why, "; set both to 0 to stripe as the directory does");
}

}  // namespace

uint64_t preferred_bytes_of(const std::string& directory) {
    struct stat status;
    if (::stat(directory.c_str(), &status) != 0) return 0;
    return static_cast<uint64_t>(status.st_blksize);
}

bool is_on_lustre(const std::string& directory) {
    struct statfs system;
    return ::statfs(directory.c_str(), &system) == 0 && static_cast<long>(system.f_type) == kLustreMagic;
}

bool clients_share_cache(const std::string& directory) {
    // Numbers from linux/magic.h and the kernel's fs/smb/client.
    constexpr std::array<uint32_t, 8> kApart = {0x6969,     0x517b,     0xff534d42, 0xfe534d42,
                                                0x5346414f, 0x6b414653, 0x01021997, 0x65735546};
    struct statfs system;
    return ::statfs(directory.c_str(), &system) != 0 ||
           std::ranges::find(kApart, static_cast<uint32_t>(system.f_type)) == kApart.end();
}

std::string striping_tool() {
    if (lustre_library().is_there()) return "liblustreapi";
    return has_lfs() ? "lfs" : "";
}

void create_striped(const std::string& path, const Striping& striping) {
    remove_file(path);
    if (lustre_library().is_there()) {
        const int code = lustre_library().file_create(path.c_str(), striping.bytes, -1, static_cast<int>(striping.count), 0);
        if (code != 0) fail_striping(path, striping, std::strerror(-code));
    } else if (has_lfs()) {
        std::vector<std::string> words = {"setstripe"};
        if (striping.count > 0) words.insert(words.end(), {"-c", std::to_string(striping.count)});
        if (striping.bytes > 0) words.insert(words.end(), {"-S", std::to_string(striping.bytes)});
        words.push_back(path);
        const LfsResult result = run_lfs(words);
        if (result.status != 0) fail_striping(path, striping, "lfs: " + result.output);
    } else {
        fail(Status::UNSUPPORTED, "cannot stripe ", path, ": neither liblustreapi nor lfs is on this node; install one, or set ",
             "stripe_count = 0 and stripe_size = 0");
    }
}

std::optional<Striping> striping_of(const std::string& path) {
    Striping found;
    const LustreLibrary& library = lustre_library();
    if (library.is_there()) {
        LustreLibrary::llapi_layout* layout = library.layout_get_by_path(path.c_str(), 0);
        if (layout == nullptr) return std::nullopt;
        const bool known =
            library.stripe_count_get(layout, &found.count) == 0 && library.stripe_size_get(layout, &found.bytes) == 0;
        library.layout_free(layout);
        if (!known) return std::nullopt;
    } else if (has_lfs()) {
        // -d: the directory itself, not its content.
        const auto count = number_of(run_lfs({"getstripe", "-d", "-c", path})),
                   bytes = number_of(run_lfs({"getstripe", "-d", "-S", path}));
        if (!count || !bytes) return std::nullopt;
        found = {*count, *bytes};
    } else {
        return std::nullopt;
    }
    if (found.count > kMostCount) found.count = 0;
    if (found.bytes > kMostBytes) found.bytes = 0;
    return found;
}

}  // namespace tailrace
