// Directories and names of files: one checked function for each system call. All throw Error with the path, the system's reason and
// a remedy where there is one.
#pragma once

#include <string>
#include <vector>

namespace tailrace {

// Makes the directory and its parents; existing ones are fine. `within` must exist: neither it nor a parent of it is made.
void make_directories(const std::string& path, const std::string& within = "");
void rename_path(const std::string& from, const std::string& to);
void replace_directory(const std::string& from, const std::string& to);  // removes a directory of the name `to` first
void remove_tree(const std::string& path);                               // absent is fine
void remove_directory_if_empty(const std::string& path) noexcept;        // ignores every error
void remove_file(const std::string& path);                               // absent is fine
void sync_directory(const std::string& path);
bool path_exists(const std::string& path);
std::vector<std::string> list_directory(const std::string& path);  // names, sorted; [] if absent
// Writes the text to the temporary name PATH.new and renames it to PATH.
void replace_file(const std::string& path, const std::string& content, bool sync);

}  // namespace tailrace
