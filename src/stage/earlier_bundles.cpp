#include "stage/earlier_bundles.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/paths.hpp"
#include "base/system_error.hpp"
#include "place/bundled_names.hpp"
#include "place/rules.hpp"
#include "stage/bundle_set.hpp"

namespace tailrace {
namespace {

bool is_file_or_link(const Member& member) { return member.kind != ItemKind::folder; }

// Calls `see` for each file or link below a folder.
void each_below(const BundleReader& reader, const std::string& folder, const std::function<void(const Member&)>& see) {
    each_member(reader, folder, [&](const Member& member) {
        if (is_file_or_link(member) && member.name != folder) see(member);
    });
}

}  // namespace

EarlierBundles::EarlierBundles(const std::string& folder) : taken_(folder) {
    for (const std::string& path : bundles_in_or_none(folder))
        bundles_.push_back({drain_of_bundle(path), std::make_unique<BundleReader>(path)});
}

std::vector<uint64_t> EarlierBundles::hashes() const {
    std::vector<uint64_t> hashes;
    std::string last;  // folder
    for (const Bundle& bundle : bundles_)
        for (uint64_t number = 0; number < bundle.reader->count(); ++number) {
            const Member member = bundle.reader->at(number);
            if (!is_file_or_link(member) || taken_.has(bundle.drain, member.name)) continue;
            hashes.push_back(place::checksum(member.name.data(), member.name.size()));
            // Names are sorted, so most files are in the folder of the one before.
            const std::string_view folder = member.name.substr(0, member.name.rfind('/') + 1);
            if (folder.empty() || folder == last) continue;
            for (size_t at = folder.find('/'); at != std::string_view::npos; at = folder.find('/', at + 1))
                hashes.push_back(place::checksum(folder.data(), at));
            last = folder;
        }
    std::ranges::sort(hashes);
    hashes.erase(std::ranges::unique(hashes).begin(), hashes.end());
    return hashes;
}

std::vector<std::string> EarlierBundles::names_below(const std::string& folder) const {
    std::set<std::string> names;
    for (const Bundle& bundle : bundles_)
        each_below(*bundle.reader, folder, [&](const Member& member) {
            if (!taken_.has(bundle.drain, member.name)) names.emplace(member.name);
        });
    return {names.begin(), names.end()};
}

std::map<std::string, ItemKind> EarlierBundles::names_in(const std::string& folder) const {
    std::map<std::string, ItemKind> names;
    const size_t begin = folder.empty() ? 0 : folder.size() + 1;
    for (const Bundle& bundle : bundles_)
        each_below(*bundle.reader, folder, [&](const Member& member) {
            const std::string_view name = member.name.substr(begin);
            if (name.find('/') == std::string_view::npos && !taken_.has(bundle.drain, member.name))
                names.emplace(name, member.kind);
        });
    return names;
}

std::vector<EarlierBundles::Copy> EarlierBundles::copies_of(const std::string& name) const {
    std::vector<Copy> copies;
    for (const Bundle& bundle : bundles_) {
        if (!copies.empty() && copies.back().bundle->drain == bundle.drain) continue;
        const auto member = bundle.reader->find(name);
        if (member && is_file_or_link(*member) && !taken_.has(bundle.drain, name)) copies.push_back({&bundle, *member});
    }
    return copies;
}

void EarlierBundles::take(const std::string& base, const std::string& name, Extraction& extraction) {
    const std::vector<Copy> copies = copies_of(name);
    const std::string path = base + "/" + name;
    if (copies.empty() || path_exists(path)) return;
    const BundleReader& reader = *copies.front().bundle->reader;
    if (copies.size() > 1)
        fail(Status::BAD_ARGUMENT, name, " is in ", reader.path(), " and in ", copies[1].bundle->reader->path(),
             ", which two drains have made: extract the one that you want");
    try {
        extraction.make(reader, copies.front().member);
    } catch (const Error&) {
        if (!path_exists(path)) throw;  // else the program has made the file meanwhile
    }
    taken_.add(copies.front().bundle->drain, name);
}

void EarlierBundles::leave(const std::string& name) {
    for (const Copy& copy : copies_of(name)) taken_.add(copy.bundle->drain, name);
}

void write_names(const std::string& folder, const std::string& path, bool asks_other_nodes) {
    const std::vector<uint64_t> hashes = EarlierBundles(folder).hashes();
    place::BundledNames names{};
    std::memcpy(names.magic, place::kBundledMagic, sizeof names.magic);
    names.version = place::kBundledVersion;
    names.asks_other_nodes = asks_other_nodes ? 1 : 0;
    names.count = hashes.size();
    names.sum = place::checksum(hashes.data(), hashes.size() * sizeof(uint64_t));
    ::unlink(path.c_str());  // of an earlier run with the same log
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file.is_open()) fail_system("create", path, errno);
    write_fully(file.get(), 0, &names, sizeof names, path);
    if (!hashes.empty()) write_fully(file.get(), sizeof names, hashes.data(), hashes.size() * sizeof(uint64_t), path);
}

}  // namespace tailrace
