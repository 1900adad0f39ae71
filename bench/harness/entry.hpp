// An entry "method:variant" is a method with settings. The program lists all entries, and runs those named in its arguments.
#pragma once

#include "job.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace bench {

using Json = nlohmann::ordered_json;

template <typename Method>
struct EntryOf {
    std::string method;
    std::string variant;
    std::string files;  // a word for the kind of files, which the bench's tables show
    std::string settings;
    std::function<std::unique_ptr<Method>()> make;

    std::string name() const { return method + ":" + variant; }
    std::string family() const { return method.substr(0, method.find('_')); }  // "raw", "tailrace", or a peer's library
};

// The folder of an entry's files.
inline std::string folder_of(const std::string &directory, std::string entry) {
    std::replace(entry.begin(), entry.end(), ':', '-');
    return directory + "/" + entry;
}

// Whether a list of names, separated by commas, contains the name `one`.
inline bool names(const std::string &list, const std::string &one) {
    return ("," + list + ",").find("," + one + ",") != std::string::npos;
}

template <typename Method>
void list_entries(const std::vector<EntryOf<Method>> &entries) {
    for (const auto &entry : entries)
        std::cout << Json{{"entry", entry.name()}, {"files", entry.files}, {"settings", entry.settings}} << '\n';
}

template <typename Method>
std::vector<EntryOf<Method>> select(const std::vector<EntryOf<Method>> &all, const std::string &names) {
    std::vector<EntryOf<Method>> selected;
    std::istringstream words(names);
    for (std::string name; std::getline(words, name, ',');) {
        const auto found = std::find_if(all.begin(), all.end(), [&](const auto &entry) { return entry.name() == name; });
        if (found == all.end()) fail("no entry '" + name + "'; print all with `--list 1`");
        selected.push_back(*found);
    }
    if (selected.empty()) fail("--entries names no entry; print all with `--list 1`");
    return selected;
}

}  // namespace bench
