#include "stage/scratch_place.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "base/error.hpp"
#include "base/paths.hpp"
#include "base/shell_word.hpp"
#include "base/system_error.hpp"

namespace tailrace {
namespace {

constexpr const char* kVariables[] = {"SLURM_TMPDIR", "TMPDIR", "LOCALWORKDIR"};  // also in python/tailrace/stage/scratch_folder.py

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// A variable that is not set stays as it is.
std::string with_variables(const std::string& named) {
    std::string out;
    for (size_t at = 0; at < named.size();) {
        const bool has_braces = named.compare(at, 2, "${") == 0;
        size_t begin = at + (has_braces ? 2 : 1), end = begin;
        while (named[at] == '$' && end < named.size() && is_of_name(named[end])) ++end;
        const char* const value = end > begin ? std::getenv(named.substr(begin, end - begin).c_str()) : nullptr;
        if (value == nullptr || (has_braces && (end == named.size() || named[end] != '}'))) {
            out += named[at++];
            continue;
        }
        out += value;
        at = end + (has_braces ? 1 : 0);
    }
    return out;
}

std::string of_batch_system() {
    for (const char* variable : kVariables)
        if (const char* const value = std::getenv(variable); value != nullptr && *value != 0) return value;
    fail(Status::BAD_CONFIG, "no scratch for stage = scratch: $SLURM_TMPDIR, $TMPDIR and $LOCALWORKDIR are not set; set ",
         "scratch = '/dev/shm', or another folder on a disk of the node");
}

// In a folder with the sticky bit others cannot rename what is ours.
void check_is_safe(const std::string& named, const std::string& real) {
    for (std::string folder = real;; folder = parent_of(folder)) {
        struct stat status;
        const std::string path = folder.empty() ? "/" : folder;
        if (::stat(path.c_str(), &status) != 0) fail_system("look at", path, errno);
        const bool others_may = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (status.st_mode & S_ISVTX) == 0;
        if (others_may || (status.st_uid != 0 && status.st_uid != ::geteuid()))
            fail(Status::BAD_CONFIG, "scratch = '", named, "': other users may rename files in ", path,
                 ", so files in it are not safe: name a folder of your own, or have its owner set the sticky bit (chmod +t ",
                 shell_word(path), ")");
        if (folder.empty()) return;
    }
}

}  // namespace

std::string scratch_place(const std::string& named) {
    const std::string written = named == "auto" ? of_batch_system() : with_variables(named);
    if (!written.starts_with('/'))
        fail(Status::BAD_CONFIG, "scratch = '", written, "': must be an absolute folder, such as /dev/shm or $TMPDIR, whose ",
             "variable is set on each node");
    char resolved[PATH_MAX];
    if (::realpath(written.c_str(), resolved) == nullptr || !is_directory(resolved))
        fail(Status::BAD_CONFIG, "scratch = '", written, "': no such folder: make it on each node, or set scratch to another one");
    const std::string real = std::string(resolved) == "/" ? "" : resolved;
    check_is_safe(written, real);
    return real;
}

void make_private_folder(const std::string& path) {
    if (::mkdir(path.c_str(), S_IRWXU) != 0) fail_system("make folder", path, errno);
}

}  // namespace tailrace
