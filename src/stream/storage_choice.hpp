// What the storage keys become on the file system of a directory: requested, in force, and why they differ.
#pragma once

#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/journal.hpp"
#include "base/striping.hpp"
#include "layout/keys.hpp"
#include "record/history.hpp"

namespace tailrace {

// The report, complete on rank 0 alone: {"file_system", "block_bytes", "striping_by", "notes": [...]}. Once a part was created
// there, also {"stripe_count", "stripe_bytes"} as the file system gives them.
struct StorageChoice {
    Storage storage;
    Json report;
    // Else a growing part is flushed before each vote, and has one writer where the ranks are on several nodes.
    bool clients_share_cache = true;

    StreamConfig in(StreamConfig config) const {
        config.layout.storage = storage;
        return config;
    }
};

// Local, reads the file system. `requested`: the keys that were set. `before`: of the part that this run appends to, whose arrays
// stay where they are; null if there is none.
StorageChoice choose_storage(const std::string& directory, const Storage& wanted, const Json& requested, const Storage* before);
StorageChoice choose_storage(const std::string& directory, const StreamConfig& config, const Json& requested,
                             const History& history);
// Rank 0, which has the history, chooses. As JSON for the other ranks.
Json storage_json(const StorageChoice& choice, const StreamConfig& config);
StorageChoice storage_of(const Json& json);

// Local. Creates a part with the striping of `storage`, or without stripe keys with that of its directory. Makes the directory if
// it does not exist and lies below `within`.
File create_part(const std::string& path, const Storage& storage, const std::string& within = "");

// Local, after the first part was created: reads its striping back, into storage and report.
void read_back_striping(const std::string& part, StorageChoice& choice);

// Lowers a count to one that several writers can divide. A prime above 2 could be divided by 1 writer or by all.
uint64_t composite_stripe_count(uint64_t count);

}  // namespace tailrace
