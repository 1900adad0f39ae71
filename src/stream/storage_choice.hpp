// The storage keys on the file system of a directory: the requested values, the values in force, and why they differ.
#pragma once

#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/journal.hpp"
#include "base/striping.hpp"
#include "layout/keys.hpp"
#include "record/history.hpp"

namespace tailrace {

struct StorageChoice {
    Storage storage;
    // {"file_system", "block_bytes", "striping_by", "notes": [...]}, complete on rank 0 alone. Once a part was created there, also
    // {"stripe_count", "stripe_bytes"} as the file system gives them.
    Json report;
    // Whether all nodes see what a client of the file system has cached. If not, a growing part is flushed before each vote, and
    // has one writer if the ranks are on several nodes.
    bool clients_share_cache = true;

    StreamConfig in(StreamConfig config) const {
        config.layout.storage = storage;
        return config;
    }
};

// Local; reads properties of the file system. `requested`: the keys that were set. `before`: the storage of the part that this run
// appends to, whose arrays keep their places; null if there is none.
StorageChoice choose_storage(const std::string& directory, const Storage& wanted, const Json& requested, const Storage* before);
StorageChoice choose_storage(const std::string& directory, const StreamConfig& config, const Json& requested,
                             const History& history);
// The choice as JSON, which rank 0 broadcasts, and back. Rank 0 chooses, because it has the history.
Json storage_json(const StorageChoice& choice, const StreamConfig& config);
StorageChoice storage_of(const Json& json);

// Local. Creates a part with the striping of `storage`; without stripe keys, with the striping of its directory. Makes the
// directory if it does not exist and is below `within`.
File create_part(const std::string& path, const Storage& storage, const std::string& within = "");

// Local, called after the first part was created: reads the part's striping into `choice.storage` and `choice.report`.
void read_back_striping(const std::string& part, StorageChoice& choice);

// Lowers a stripe count to one that several writers can share equally. A prime above 2 can be shared only by 1 writer, or by as
// many writers as stripes.
uint64_t composite_stripe_count(uint64_t count);

}  // namespace tailrace
