#include "layout/parts.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace tailrace {
namespace {

std::string digits(uint64_t number) {
    char text[24];
    std::snprintf(text, sizeof text, "%06llu", static_cast<unsigned long long>(number));
    return text;
}

// A directory also holds a few other entries: the journal, a pending group, deeper levels.
constexpr uint64_t kOtherEntries = 4;

// The directories above entry `number`, so that none holds more than `entries` entries: "" in a flat tree, else "GGG/" for the
// first fan^2 entries, "+/GGG/GGG/" for the next up to fan^3, then "+/+/GGG/GGG/GGG/". This is a pure function of the number.
// Deeper levels lie below each other, so that small bounds hold for any number.
std::string tree_directories(uint64_t entries, uint64_t number) {
    if (entries == 0) return "";
    const uint64_t fan = entries - kOtherEntries;
    std::string path, deeper;
    uint64_t group = number / fan;
    while (true) {
        char name[24];
        std::snprintf(name, sizeof name, "%03llu/", static_cast<unsigned long long>(group % fan));
        path = name + path;
        group /= fan;
        if (group == 0) return deeper + path;
        deeper += "+/";
    }
}

// The number in `name` from position `at` on, if `end` follows the number; else 0.
uint64_t number_in(const std::string& name, size_t at, std::string_view end) {
    uint64_t number = 0;
    size_t digit = at;
    for (; digit < name.size() && name[digit] >= '0' && name[digit] <= '9'; ++digit)
        number = 10 * number + static_cast<uint64_t>(name[digit] - '0');
    return digit > at && name.substr(digit).starts_with(end) ? number : 0;
}

// The path prefix of all files that run `run` has not committed yet.
std::string pending_name(const std::string& stream, uint64_t run) {
    return parts_directory(stream) + "/" + kPendingPrefix + (run > 0 ? std::to_string(run) + "-" : "");
}

}  // namespace

uint64_t PartMap::parts() const {
    switch (layout_.files.kind) {
        case Files::Kind::one: return 1;
        case Files::Kind::per_node: return topology_.nodes;
        case Files::Kind::per_rank: return topology_.ranks;
        case Files::Kind::number: return std::min(layout_.files.number, topology_.ranks);
    }
    return 1;
}

uint64_t PartMap::part_of(uint64_t rank) const {
    switch (layout_.files.kind) {
        case Files::Kind::one: return 0;
        case Files::Kind::per_node: return topology_.node_of(rank);
        case Files::Kind::per_rank: return rank;
        case Files::Kind::number: return split_index(topology_.ranks, parts(), rank);
    }
    return 0;
}

uint64_t PartMap::first_rank(uint64_t part) const {
    switch (layout_.files.kind) {
        case Files::Kind::one: return part == 0 ? 0 : topology_.ranks;
        case Files::Kind::per_node: return topology_.first_rank(part);
        case Files::Kind::per_rank: return part;
        case Files::Kind::number: return split_begin(topology_.ranks, parts(), part);
    }
    return 0;
}

uint64_t PartMap::writers(uint64_t part) const {
    const uint64_t first = first_rank(part), members = last_rank(part) - first;
    const uint64_t at_most = layout_.writers.at_most > 0 ? layout_.writers.at_most : members;
    switch (layout_.writers.kind) {
        case Writers::Kind::one: return 1;
        case Writers::Kind::all: return std::min(members, at_most);
        case Writers::Kind::per_node:
            return std::min(topology_.node_of(first + members - 1) - topology_.node_of(first) + 1, at_most);
        case Writers::Kind::dedicated: return std::min({layout_.writers.number, members, at_most});
    }
    return 1;
}

uint64_t PartMap::writer(uint64_t part, uint64_t k) const {
    const uint64_t first = first_rank(part);
    if (layout_.writers.kind == Writers::Kind::per_node && k > 0) return topology_.first_rank(topology_.node_of(first) + k);
    return first + k;
}

uint64_t PartMap::writer_number(uint64_t part, uint64_t rank) const {
    const uint64_t first = first_rank(part), count = writers(part);
    uint64_t k = count;
    if (layout_.writers.kind != Writers::Kind::per_node || rank == first)
        k = rank - first;
    else if (const uint64_t node = topology_.node_of(rank); rank == topology_.first_rank(node))
        k = node - topology_.node_of(first);
    return std::min(k, count);
}

bool has_one_part(const Layout& layout) { return layout.files.kind == Files::Kind::one; }

std::string dataset_path(const std::string& stream) { return stream + ".nc"; }
std::string parts_directory(const std::string& stream) { return stream + ".parts"; }
std::string journal_path(const std::string& stream) { return parts_directory(stream) + "/journal.jsonl"; }

std::string group_path(const Layout& layout, const std::string& stream, uint64_t start, uint64_t segment) {
    if (layout.part_is_dataset() && segment == 0) return dataset_path(stream);
    return parts_directory(stream) + "/" + tree_directories(layout.tree_entries, start) + digits(start) +
           (segment > 0 ? "-" + std::to_string(segment) : "") + (has_one_part(layout) ? ".nc" : "");
}

std::string pending_path(const Layout& layout, const std::string& stream, uint64_t start, uint64_t run) {
    return pending_name(stream, run) + digits(start) + (has_one_part(layout) ? ".nc" : "");
}

std::string pending_index_path(const std::string& stream, uint64_t run) { return pending_name(stream, run) + "index"; }

uint64_t run_of_pending(const std::string& name) {
    const std::string_view prefix = kPendingPrefix;
    return name.starts_with(prefix) ? number_in(name, prefix.size(), "-") : 0;
}

uint64_t segment_of_group(const std::string& name) {
    const size_t dash = name.find('-');
    return dash == std::string::npos || name.starts_with(kPendingPrefix) ? 0 : number_in(name, dash + 1, "");
}

std::string part_path_in_group(const Layout& layout, const std::string& stream, uint64_t start, uint64_t part) {
    return tree_directories(layout.tree_entries, part) + stream + "." + digits(start) + "." + digits(part) + ".nc";
}

std::string part_path(const Layout& layout, const std::string& stream, uint64_t start, uint64_t part, uint64_t segment) {
    const std::string group = group_path(layout, stream, start, segment);
    return has_one_part(layout) ? group : group + "/" + part_path_in_group(layout, stream, start, part);
}

}  // namespace tailrace
