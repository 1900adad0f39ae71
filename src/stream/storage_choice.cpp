#include "stream/storage_choice.hpp"

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/paths.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kLeastBlockBytes = 4096;
constexpr uint64_t kMostBlockBytes = 16u << 20;  // aligning to larger blocks would waste more space than it saves time
constexpr uint64_t kLustreStripeBytes = 1u << 20;
constexpr uint64_t kElementBytes = 8;

bool is_prime(uint64_t number) {
    for (uint64_t d = 2; d * d <= number; ++d)
        if (number % d == 0) return false;
    return number > 1;
}

void note(StorageChoice& choice, const std::string& text) { choice.report["notes"].push_back(text); }

void choose_striping(const std::string& tool, bool lustre, StorageChoice& choice) {
    Storage& storage = choice.storage;
    if (storage.stripe_count == 0 && storage.stripe_bytes == 0) return;
    if (!lustre || tool.empty()) {
        note(choice,
             !lustre ? "stripe_count and stripe_size: the file system is not Lustre; files are not striped"
                     : "stripe_count and stripe_size: neither liblustreapi nor lfs is on this node; striped as the directory is");
        storage.stripe_count = storage.stripe_bytes = 0;
        return;
    }
    const uint64_t count = composite_stripe_count(storage.stripe_count);
    if (count != storage.stripe_count)
        note(choice,
             text("stripe_count = ", storage.stripe_count, " is prime, which leaves one writer or all to divide it: ", count));
    storage.stripe_count = count;
}

void choose_alignment(uint64_t block_bytes, const Json& requested, const Storage* before, StorageChoice& choice) {
    Storage& storage = choice.storage;
    if (before != nullptr) {
        if (before->alignment_bytes != storage.alignment_bytes || before->align_threshold_bytes != storage.align_threshold_bytes)
            note(choice, "alignment: as in the file that this run appends to");
        storage.alignment_bytes = before->alignment_bytes;
        storage.align_threshold_bytes = before->align_threshold_bytes;
        return;
    }
    if (requested.contains("alignment")) return;
    storage.alignment_bytes = block_bytes;
    // An array shorter than a block would mostly be followed by a gap.
    if (!requested.contains("align_threshold"))
        storage.align_threshold_bytes = std::max(storage.align_threshold_bytes, block_bytes);
}

}  // namespace

uint64_t composite_stripe_count(uint64_t count) { return count > 2 && is_prime(count) ? count - 1 : count; }

StorageChoice choose_storage(const std::string& directory, const Storage& wanted, const Json& requested, const Storage* before) {
    const bool lustre = is_on_lustre(directory);
    const std::string tool = lustre ? striping_tool() : "";
    StorageChoice choice{wanted, Json::object(), clients_share_cache(directory)};
    uint64_t block_bytes = preferred_bytes_of(directory);
    choice.report = {{"file_system", lustre ? "lustre" : "other"},
                     {"block_bytes", block_bytes},
                     {"striping_by", tool.empty() ? "none" : tool},
                     {"notes", Json::array()}};
    if (!choice.clients_share_cache)
        note(choice, text("the clients of the file system of ", directory,
                          " share no cache: writers flush growing files before a step is committed, and such a file has one writer "
                          "where ranks "
                          "are on several nodes"));
    choose_striping(tool, lustre, choice);
    if (lustre) {
        block_bytes = choice.storage.stripe_bytes;
        if (const auto of_directory = block_bytes == 0 ? striping_of(directory) : std::nullopt) block_bytes = of_directory->bytes;
        if (block_bytes == 0) block_bytes = kLustreStripeBytes;
    }
    if (block_bytes < kLeastBlockBytes || block_bytes > kMostBlockBytes || block_bytes % kElementBytes != 0)
        block_bytes = kLeastBlockBytes;
    choose_alignment(block_bytes, requested, before, choice);
    return choice;
}

StorageChoice choose_storage(const std::string& directory, const StreamConfig& config, const Json& requested,
                             const History& history) {
    const bool grows = config.layout.part_is_dataset() && !history.empty() && history.groups.back().layout.part_is_dataset();
    const Storage* before = grows ? &history.groups.back().layout.storage : nullptr;
    return choose_storage(directory, config.layout.storage, requested, before);
}

Json storage_json(const StorageChoice& choice, const StreamConfig& config) {
    return {{"effective", effective_json(choice.in(config))},
            {"report", choice.report},
            {"clients_share_cache", choice.clients_share_cache}};
}

StorageChoice storage_of(const Json& json) {
    Settings settings{"rank 0", {}};
    for (const auto& [key, value] : json.at("effective").items()) settings.values.emplace_back(key, value.get<std::string>());
    return {resolve({settings}).layout.storage, json.at("report"), json.at("clients_share_cache")};
}

File create_part(const std::string& path, const Storage& storage, const std::string& within) {
    const std::string directory = std::filesystem::path(path).parent_path();
    if (storage.stripe_count == 0 && storage.stripe_bytes == 0) {
        if (!within.empty()) try {
                return File::create(path);
            } catch (const Error& error) {
                if (error.status() != Status::NOT_FOUND) throw;
                make_directories(directory, within);
            }
        return File::create(path);
    }
    // create_striped() does not report why it failed, so look for the directory first.
    if (!within.empty() && !path_exists(directory)) make_directories(directory, within);
    create_striped(path, {storage.stripe_count, storage.stripe_bytes});
    return File::open_write(path);
}

void read_back_striping(const std::string& part, StorageChoice& choice) {
    if (choice.report.at("striping_by") == "none") return;
    const auto found = striping_of(part);
    if (!found) return note(choice, text("the striping of ", part, " could not be read back"));
    Storage& storage = choice.storage;
    const Striping wanted{storage.stripe_count, storage.stripe_bytes};
    if ((wanted.count > 0 && wanted.count != found->count) || (wanted.bytes > 0 && wanted.bytes != found->bytes))
        note(choice, text("asked for ", wanted.count, " stripes of ", wanted.bytes, " bytes, the file system gave ", found->count,
                          " of ", found->bytes));
    if (composite_stripe_count(found->count) != found->count)
        note(choice, text("files have ", found->count,
                          " stripes, a prime number; set stripe_count = ", composite_stripe_count(found->count)));
    choice.report["stripe_count"] = storage.stripe_count = found->count;
    choice.report["stripe_bytes"] = storage.stripe_bytes = found->bytes;
}

}  // namespace tailrace
