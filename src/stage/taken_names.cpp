#include "stage/taken_names.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/paths.hpp"
#include "base/system_error.hpp"
#include "stage/escaped_name.hpp"

namespace tailrace {

// One line for each file: DRAIN NAME, the name escaped. A line without its end was not finished, and the program had no answer yet.
TakenNames::TakenNames(const std::string& folder) : path_(folder + "/tailrace-taken") {
    if (!path_exists(path_)) return;
    const std::string all = File::open_users_file(path_).read_all();
    for (size_t begin = 0, end; (end = all.find('\n', begin)) != std::string::npos; begin = end + 1) {
        const std::string_view line = std::string_view(all).substr(begin, end - begin);
        const size_t space = line.find(' ');
        if (space == std::string_view::npos) continue;
        names_[std::string(line.substr(0, space))].insert(unescaped_name(line.substr(space + 1)));
    }
}

bool TakenNames::has(std::string_view drain, std::string_view name) const {
    const auto names = names_.find(drain);
    return names != names_.end() && names->second.contains(name);
}

void TakenNames::add(const std::string& drain, const std::string& name) {
    const std::string line = drain + " " + escaped_name(name) + "\n";
    constexpr mode_t kMode = 0666;
    if (!file_.is_open())
        file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, kMode));
    if (!file_.is_open()) fail_system("open", path_, errno);
    // In one call, because runs of several nodes may write here.
    const ssize_t written = ::write(file_.get(), line.data(), line.size());
    if (written != static_cast<ssize_t>(line.size())) fail_system("write to", path_, written < 0 ? errno : ENOSPC);
    names_[drain].insert(name);
}

}  // namespace tailrace
