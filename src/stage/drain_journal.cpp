#include "stage/drain_journal.hpp"

#include <filesystem>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/paths.hpp"
#include "stage/journal_path.hpp"
#include "stage/work_folder.hpp"

namespace tailrace {
namespace {

std::string aside_name_of(uint64_t number, size_t at) { return text(number, "-", at); }

Json files_of(std::span<const Item> items) {
    Json files = Json::array();
    for (const Item& item : items) {
        const Identity& is = item.identity;
        files.push_back(Json::array({hex_of_path(item.path), is.device, is.inode, is.size_bytes, is.mtime_ns}));
    }
    return files;
}

// Ends a shipment of a killed drain that may have set files aside: by then all of them had their names at the target. Where the
// program has removed one since, its name is given back, because the target may as well have lost it.
void end_begun(const Json& line, uint64_t number, Scratch& scratch, const std::string& target) {
    size_t at = 0;
    for (const Json& file : line.at("files")) {
        const std::string path = path_of_hex(file.at(0)), at_target = target + "/" + path;
        const bool is_at_target = path_exists(at_target);
        if (is_at_target) sync_directory(std::filesystem::path(at_target).parent_path());
        scratch.end_set_aside(path, aside_name_of(number, at++), is_at_target);
    }
}

}  // namespace

DrainJournal::DrainJournal(Scratch& scratch, const std::string& target) : journal_(scratch.state_path() + "/journal.jsonl") {
    std::map<uint64_t, Json> published, begun;
    for (const Json& line : read_journal(scratch.state_path() + "/journal.jsonl").lines) {
        const std::string kind = line.value("kind", "");
        if (kind == "begin") token_ = line.at("token");
        if (kind == "begun") begun[number_ = line.at("number")] = line;
        if (kind == "published") {
            published[number_ = line.at("number")] = line;
            begun.erase(number_);
        }
        if (kind == "freed") {
            published.erase(line.at("number").get<uint64_t>());
            begun.erase(line.at("number").get<uint64_t>());
        }
    }
    if (token_.empty()) {
        token_ = random_token();
        journal_.append({{"kind", "begin"}, {"token", token_}, {"version", 1}}, false);
    }
    for (const auto& [number, line] : begun) end_begun(line, number, scratch, target);
    scratch.look_for_writers();
    for (const auto& [number, line] : published) {
        size_t at = 0;
        for (const Json& file : line.at("files")) {
            Item item;
            item.path = path_of_hex(file.at(0));
            item.identity.device = file.at(1);
            item.identity.inode = file.at(2);
            item.identity.size_bytes = file.at(3);
            item.identity.mtime_ns = file.at(4);
            scratch.remove_recorded(item, aside_name_of(number, at++));
        }
        journal_.append({{"kind", "freed"}, {"number", number}}, false);
    }
}

std::string DrainJournal::aside_name(size_t at) const { return aside_name_of(number_, at); }

void DrainJournal::note(const Json& line) {
    try {
        journal_.append(line, false);
    } catch (const Error& error) {
        if (error.status() != Status::NO_SPACE) throw;  // if scratch is full, drain it all the same
    }
}

void DrainJournal::append_begun(std::span<const Item> items) {
    journal_.append({{"kind", "begun"}, {"number", ++number_}, {"files", files_of(items)}}, true);
    has_begun_ = true;
}

void DrainJournal::append_published(std::span<const Item> items, uint64_t count, uint64_t bytes) {
    if (!has_begun_) ++number_;
    has_begun_ = false;
    journal_.append({{"kind", "published"}, {"number", number_}, {"count", count}, {"bytes", bytes}, {"files", files_of(items)}},
                    true);
}

void DrainJournal::append_freed() { journal_.append({{"kind", "freed"}, {"number", number_}}, false); }

}  // namespace tailrace
