#include "stage/open_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/paths.hpp"

namespace tailrace {
namespace {

bool is_number(const std::string& name) { return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos; }

std::vector<std::string> names_of(const std::string& path) {
    try {
        return list_directory(path);
    } catch (const Error&) {  // another user's process, or one that has just ended
        return {};
    }
}

bool is_for_writing(const std::string& process, const std::string& descriptor) {
    std::ifstream info(process + "/fdinfo/" + descriptor);
    std::string key, value;
    while (info >> key >> value)
        if (key == "flags:") return (std::stoul(value, nullptr, 8) & O_ACCMODE) != O_RDONLY;
    return false;
}

void add_descriptors(const std::string& process, const std::string& below, OpenFiles& found) {
    for (const std::string& descriptor : names_of(process + "/fd")) {
        const std::string link = process + "/fd/" + descriptor;
        char path[4097];
        const ssize_t bytes = ::readlink(link.c_str(), path, sizeof path - 1);
        if (bytes <= 0 || !std::string_view(path, static_cast<size_t>(bytes)).starts_with(below)) continue;
        struct stat status;
        if (is_for_writing(process, descriptor) && ::stat(link.c_str(), &status) == 0)
            found.files.emplace(status.st_dev, status.st_ino);
    }
}

// A line: ADDRESSES rw-s OFFSET DEVICE INODE PATH
void add_mappings(const std::string& process, const std::string& below, OpenFiles& found) {
    std::ifstream maps(process + "/maps");
    std::string line;
    while (std::getline(maps, line)) {
        const size_t path = line.find(below), rights = line.find(' ');
        if (path == std::string::npos || rights == std::string::npos) continue;
        if (line.size() > rights + 4 && line[rights + 2] == 'w' && line[rights + 4] == 's')
            found.mapped_paths.insert(line.substr(path));
    }
}

}  // namespace

OpenFiles OpenFiles::for_writing(const std::string& folder) {
    OpenFiles found;
    const std::string below = folder + "/";
    for (const std::string& name : names_of("/proc")) {
        if (!is_number(name)) continue;
        const std::string process = "/proc/" + name;
        add_descriptors(process, below, found);
        add_mappings(process, below, found);
    }
    return found;
}

}  // namespace tailrace
