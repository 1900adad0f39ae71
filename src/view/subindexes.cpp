#include "view/subindexes.hpp"

#include <algorithm>
#include <cstdio>

#include "base/error.hpp"
#include "layout/parts.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kMostShownParts = 1u << 28;  // the parts of a million subindexes

std::string subindex_path(const std::string& stream, const Subindex& subindex) {
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, ".%s%06llu.%06llu.nc", subindex.is_static ? "static." : "index.",
                  static_cast<unsigned long long>(subindex.start), static_cast<unsigned long long>(subindex.first_part));
    return subindexes_directory(stream) + "/" + stream + numbers;
}

// Adds a subindex for each kMaxIndexParts parts of one group.
void add_ranges(std::vector<Subindex>& subindexes, const Subindex& whole, uint64_t parts) {
    for (uint64_t first = 0; first < parts; first += kMaxIndexParts) {
        Subindex subindex = whole;
        subindex.first_part = first;
        subindex.last_part = std::min(parts, first + kMaxIndexParts);
        subindexes.push_back(subindex);
    }
}

const GroupEntry* group_of_static(const History& history, size_t end) {
    if (end == 0) return nullptr;
    const GroupEntry* group = history.static_group(history.steps[end - 1].group);
    const auto& variables = history.runs.back().definitions.variables();
    const bool has_any = std::ranges::any_of(variables, [](const Variable& v) { return v.is_static && !v.replicated; });
    return has_any ? group : nullptr;
}

}  // namespace

std::string subindexes_directory(const std::string& stream) { return parts_directory(stream) + "/index"; }

uint64_t shown_parts(const History& history, size_t end) {
    end = std::min(end, history.steps.size());
    uint64_t parts = 0;
    for (size_t i = 0; i < end; ++i)
        if (i == 0 || history.steps[i].group != history.steps[i - 1].group) parts += history.groups[history.steps[i].group].parts;
    const GroupEntry* of_static = group_of_static(history, end);
    return parts + (of_static != nullptr && of_static->steps == 0 ? of_static->parts : 0);
}

std::vector<Subindex> subindexes_of(const History& history, const std::string& stream, size_t end) {
    std::vector<Subindex> subindexes;
    const uint64_t parts = shown_parts(history, end);
    if (parts <= kMaxIndexParts) return subindexes;
    if (parts > kMostShownParts)
        fail(Status::CORRUPT, "stream '", stream, "' has ", parts, " parts by its journal; more than ", kMostShownParts,
             " cannot be shown by an index");
    end = std::min(end, history.steps.size());
    for (size_t first = 0, last = 0; first < end; first = last) {
        const size_t group = history.steps[first].group;
        const uint64_t start = history.groups[group].index_start;
        while (last < end && history.groups[history.steps[last].group].index_start == start) ++last;
        Subindex subindex;
        subindex.from = first, subindex.to = last, subindex.start = start;
        subindex.length = history.steps[last - 1].step + 1 - start;
        add_ranges(subindexes, subindex, std::max(kMaxIndexParts, history.groups[group].parts));
    }
    if (const GroupEntry* of_static = group_of_static(history, end); of_static != nullptr && of_static->parts > kMaxIndexParts) {
        Subindex subindex;
        subindex.start = of_static->start;
        subindex.is_static = true;
        add_ranges(subindexes, subindex, of_static->parts);
    }
    for (Subindex& subindex : subindexes) subindex.path = subindex_path(stream, subindex);
    return subindexes;
}

}  // namespace tailrace
