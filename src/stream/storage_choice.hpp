// What the storage keys become on the file system of a directory: asked for, in force, and why they differ.
#pragma once

#include <string>
#include <vector>

#include "base/journal.hpp"
#include "base/striping.hpp"
#include "base/system.hpp"
#include "layout/keys.hpp"
#include "record/history.hpp"

namespace tailrace {

// As far as rank 0 knows: {"file_system", "block_bytes", "striping_by", "notes": [...]}, and once a part was created there also
// {"stripe_count", "stripe_bytes"} as the file system tells them.
struct StorageChoice {
    Storage storage;
    Json told;

    StreamConfig in(StreamConfig config) const {
        config.layout.storage = storage;
        return config;
    }
};

// Local, reads the file system. `asked`: the keys that someone set. `before`: of the part that is gone on with, whose arrays stay
// where they are; none otherwise.
StorageChoice choose_storage(const std::string& directory, const Storage& wanted, const Json& asked, const Storage* before);
StorageChoice choose_storage(const std::string& directory, const StreamConfig& config, const Json& asked, const History& history);
// For the other ranks: what rank 0, which has the history, has chosen.
Json storage_json(const StorageChoice& choice, const StreamConfig& config);
StorageChoice storage_of(const Json& json);

// Local. A part is created as `storage` says; the directory's own striping without stripe keys. The directory is there, or made if
// it lies below `within`.
File create_part(const std::string& path, const Storage& storage, const std::string& within = "");

// Local. After the first part was created: reads back what came of it, into both.
void read_back_striping(const std::string& part, StorageChoice& choice);

// Lowers a count to one that writers can divide: a prime above 2 leaves 1 writer or all.
uint64_t composite_stripe_count(uint64_t count);

}  // namespace tailrace
