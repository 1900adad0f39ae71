// What a drain has done so far, in the journal of its scratch folder. A drain that was killed is finished from it, and
// `tailrace drain status` and `resume` read it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/journal.hpp"
#include "stage/item.hpp"
#include "stage/scratch.hpp"

namespace tailrace {

class DrainJournal {
public:
    // Removes from scratch what an earlier drain had published to the target, and begins the journal where there is none.
    DrainJournal(Scratch& scratch, const std::string& target);

    const std::string& token() const { return token_; }  // of the scratch folder, in names at the target
    uint64_t number() const { return number_; }          // of the last shipment that was published; 0: none
    // The name in the state folder of an item of that shipment, before it is removed.
    std::string aside_name(size_t at) const;
    // The name of the folder at the target for all work folders of this scratch folder.
    std::string temporary_name() const { return ".tailrace-drain-" + token_; }

    // Appends a line that later drains can do without: no line is written if scratch is full.
    void note(const Json& line);
    // Begins the next shipment, whose items are set aside before they are recorded as published; durable.
    void append_begun(std::span<const Item> items);
    // Appends that the items are at the target, as the next shipment or the one that was begun; durable. `count` of them are no
    // folders.
    void append_published(std::span<const Item> items, uint64_t count, uint64_t bytes);
    // Appends that the last shipment is gone from scratch.
    void append_freed();

private:
    Journal journal_;
    std::string token_;
    uint64_t number_ = 0;
    bool has_begun_ = false;
};

}  // namespace tailrace
