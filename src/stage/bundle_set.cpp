#include "stage/bundle_set.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/paths.hpp"
#include "base/shell_word.hpp"
#include "stage/taken_names.hpp"

namespace tailrace {
namespace {

constexpr size_t kMostOpen = 4;  // bundles

// The parts of a bundle's file name NODE-TOKEN-NUMBER.tar or NODE-TOKEN-NUMBER.tar.zst. `drain` is NODE-TOKEN; empty: the file is
// not named like a bundle.
struct BundleName {
    std::string drain;
    uint64_t number = 0;
};
BundleName parsed(std::string_view path) {
    std::string_view name = path.substr(path.rfind('/') + 1);
    const std::string_view ending = name.ends_with(kCompressedEnding) ? kCompressedEnding : kEnding;
    if (!name.ends_with(ending)) return {};
    name.remove_suffix(ending.size());
    const size_t dash = name.rfind('-');
    if (dash == std::string_view::npos) return {};
    const std::string_view digits = name.substr(dash + 1);
    const std::string_view drain = name.substr(0, dash);
    constexpr size_t kMostDigits = 18, kToken = 8;
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (digits.empty() || digits.size() > kMostDigits || !std::ranges::all_of(digits, is_digit)) return {};
    const size_t token = drain.rfind('-');
    if (token == std::string_view::npos || drain.size() - token - 1 != kToken) return {};
    return {std::string(drain), std::stoull(std::string(digits))};
}

bool is_folder(const std::string& path) {
    struct stat status;
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

std::vector<std::string> bundles_in_or_none(const std::string& folder) {
    if (!is_folder(folder)) return {};
    std::vector<std::pair<BundleName, std::string>> found;
    for (const std::string& name : list_directory(folder))
        if (BundleName parts = parsed(name); !parts.drain.empty()) found.emplace_back(std::move(parts), folder + "/" + name);
    std::ranges::sort(found, [](const auto& a, const auto& b) {
        return a.first.drain != b.first.drain ? a.first.drain < b.first.drain : a.first.number > b.first.number;
    });
    std::vector<std::string> paths;
    for (auto& [parts, bundle] : found) paths.push_back(std::move(bundle));
    return paths;
}

std::string drain_of_bundle(const std::string& path) { return parsed(path).drain; }

std::vector<std::string> bundles_in(const std::string& path) {
    if (!is_folder(path)) return {path};
    std::vector<std::string> paths = bundles_in_or_none(path);
    if (paths.empty())
        fail(Status::NOT_FOUND, path,
             " has no bundle of `tailrace drain`, whose names are NODE-TOKEN-NUMBER.tar or .tar.zst: name the bundle itself");
    return paths;
}

Members each_member_of(const std::string& path, const std::vector<std::string>& names, const SeeMember& see, MemberOrder order) {
    std::vector<std::string> bundles = bundles_in(path);
    std::map<std::string, BundleReader> open;  // a few stay open for the second reading: that of a large index takes milliseconds
    const auto reader_of = [&](const std::string& one) -> const BundleReader& { return open.try_emplace(one, one).first->second; };
    // Find the bundle of each name first, so that `see` is never called if a name is missing, or two drains have delivered it.
    std::map<std::string, std::string, std::less<>> places;  // name -> the bundle whose copy is used
    std::vector<bool> is_found(names.size(), false), was_taken(names.size(), false);
    std::optional<TakenNames> taken;
    if (is_folder(path)) taken.emplace(path);
    Members members;
    for (const std::string& one : bundles) {
        const BundleReader& bundle = reader_of(one);
        members.all += bundle.count();
        const std::string drain = drain_of_bundle(bundle.path());
        size_t i = 0;
        const auto place = [&](const Member& member) {
            if (taken && taken->has(drain, member.name)) {
                was_taken[i] = true;
                ++members.taken;
                return;
            }
            is_found[i] = true;
            const auto [at, is_new] = places.try_emplace(std::string(member.name), bundle.path());
            if (!is_new && member.kind != ItemKind::folder && parsed(at->second).drain != parsed(bundle.path()).drain)
                fail(Status::BAD_ARGUMENT, std::string(member.name), " is in ", at->second, " and in ", bundle.path(),
                     ", which two drains have made: name the bundle that you want");
        };
        const size_t before = places.size();
        for (; i < names.size(); ++i) each_member(bundle, names[i], place);
        if (places.size() == before || open.size() > kMostOpen) open.erase(one);
    }
    for (size_t i = 0; i < names.size(); ++i) {
        if (is_found[i] || names[i].empty()) continue;
        if (was_taken[i])
            fail(Status::NOT_FOUND, names[i], " was taken out of its bundle in ", path,
                 " by a later run, and was a file of its own since: name the bundle itself if you want the copy in it");
        fail(Status::NOT_FOUND, path, " has no ", names[i], ": `tailrace ls ", shell_word(path), "` lists its ", members.all,
             " names");
    }
    std::set<std::string> used;
    for (const auto& [name, bundle] : places) used.insert(bundle);
    for (const std::string& one : bundles) {
        if (!used.contains(one)) continue;
        const BundleReader& bundle = reader_of(one);
        std::vector<Member> found;
        for (const std::string& name : names) each_member(bundle, name, [&](const Member& member) { found.push_back(member); });
        if (order == MemberOrder::position)
            std::ranges::stable_sort(
                found, {}, [](const Member& member) { return std::pair(member.kind != ItemKind::folder, member.data_at); });
        for (const Member& member : found) {
            const auto at = places.find(member.name);
            if (at == places.end() || at->second != bundle.path()) continue;
            see(bundle, member);
            places.erase(at);
        }
        open.erase(one);
    }
    return members;
}

}  // namespace tailrace
