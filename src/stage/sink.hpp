// Where a shipment goes. The drain calls add() for each item, then sync(), compare() and publish(), or abandon() at any moment.
// To add a sink: derive from Sink, and add its name in sinks() of sink.cpp. All throw Error.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "stage/item.hpp"

namespace tailrace {

struct SinkPlace {
    std::string target;     // folder
    std::string temporary;  // a folder within it, of this outbox alone
    std::string name;       // of what the shipment becomes, where it becomes one file
    uint64_t first = 0;     // number of the first temporary name
};

class Sink {
public:
    virtual ~Sink() = default;
    virtual void add(Item& item) = 0;     // copies the bytes, and sets item.sum
    virtual void sync() = 0;              // what was added is on the device
    virtual void compare() = 0;           // reads it again, past the page cache; CORRUPT where it is not what was written
    virtual void publish() = 0;           // gives it its names, on the device
    virtual void abandon() noexcept = 0;  // removes what is not published
};

// "mirror" or "bundle"; BAD_ARGUMENT for another.
std::unique_ptr<Sink> make_sink(const std::string& kind, const SinkPlace& place);
std::unique_ptr<Sink> make_mirror(const SinkPlace& place);
std::unique_ptr<Sink> make_bundle(const SinkPlace& place);

// Hands over the bytes of an open file; returns their XXH3. CORRUPT where the file is shorter than its size.
uint64_t read_item(const Item& item, std::span<char> buffer, const std::function<void(std::span<const char>)>& take);
// XXH3 of bytes of a file that is on the device, read past the page cache.
uint64_t sum_of_stored(int file, uint64_t at, uint64_t bytes, std::span<char> buffer, const std::string& path);

}  // namespace tailrace
