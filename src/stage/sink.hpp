// The destination of a shipment. The drain calls add(), once, then sync(), compare(), publish() and sync_names(), or
// abandon() at any time before publish(). To add a sink: derive from Sink, and add it to kSinks in sink.cpp. All throw Error.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "stage/item.hpp"

namespace tailrace {

struct SinkPlace {
    std::string target;     // the target folder
    std::string temporary;  // a folder within the target, for this outbox alone
    std::string name;       // the file's name without its ending, if the shipment becomes one file
    uint64_t first = 0;     // number of the first temporary name
    int zstd_level = 0;     // of a bundle; 0: it is not compressed
};

class Sink {
public:
    virtual ~Sink() = default;
    // Copies the bytes of the items, and sets their sums. Calls `on_copied` after each item; it may be called by several threads at
    // once. The items stay where they are until publish() or abandon().
    virtual void add(std::span<Item> items, const std::function<void()>& on_copied) = 0;
    virtual void sync() = 0;              // makes sure that the added items are on the device
    virtual void compare() = 0;           // reads the items from the device, not the page cache; throws CORRUPT if they differ
    virtual void publish() = 0;           // gives the files their final names
    virtual void sync_names() = 0;        // makes sure that the names are on the device
    virtual void abandon() noexcept = 0;  // removes what is not published
};

// `kind`: "mirror" or "bundle"; throws BAD_ARGUMENT for another.
void check_sink(const std::string& name);  // throws BAD_ARGUMENT if there is no such sink
std::unique_ptr<Sink> make_sink(const std::string& name, const SinkPlace& place);
std::unique_ptr<Sink> make_mirror(const SinkPlace& place);
std::unique_ptr<Sink> make_bundle(const SinkPlace& place);

// Reads an open file and calls `take` for its bytes; returns their XXH3. Throws CORRUPT if the file has become shorter.
uint64_t read_item(const Item& item, std::span<char> buffer, const std::function<void(std::span<const char>)>& take);
// XXH3 of bytes of a file, read from the device instead of the page cache. The file must have been synced.
uint64_t sum_of_stored(int file, uint64_t at, uint64_t bytes, std::span<char> buffer, const std::string& path);

}  // namespace tailrace
