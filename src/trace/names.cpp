// Names of files, groups of ranks, places and phases: each is stored in the log once, and events have its id.
#include <stddef.h>
#include <string.h>

#include "trace/atomics.hpp"
#include "trace/log.hpp"
#include "trace/process_state.hpp"
#include "trace/slots.hpp"

namespace tailrace::trace {
namespace {

// After this number of probes without a free place, a name may be stored a second time.
constexpr uint32_t kNameProbes = 8;

// Whether the log has this name. Otherwise `reserved` is the place that was set to the id; nullptr where no place was free.
bool is_known(ProcessState& process, uint64_t id, std::atomic<uint64_t>*& reserved) {
    reserved = nullptr;
    for (uint32_t probe = 0; probe < kNameProbes; ++probe) {
        std::atomic<uint64_t>& place = process.known_names[(id + probe) % kKnownNames];
        uint64_t known = place.load(std::memory_order_relaxed);
        if (known == id) return true;
        if (known != 0) continue;
        if (place.compare_exchange_strong(known, id)) {
            reserved = &place;
            return false;
        }
        if (known == id) return true;  // another thread stores it
    }
    return false;
}

}  // namespace

uint64_t name_id(const char* name, uint64_t bytes) {
    const uint64_t id = hash_of(name, bytes);
    ProcessState* process = recording_process();
    std::atomic<uint64_t>* reserved;
    if (process == nullptr || is_known(*process, id, reserved)) return id;
    const auto slots = static_cast<uint32_t>((sizeof(Name) - sizeof(Name::text) + bytes + kSlotBytes - 1) / kSlotBytes);
    if (slots >= kSlotsOfChunk) return id;
    auto* slot = static_cast<Name*>(claim_slots(*process, slots));
    if (slot == nullptr) slot = static_cast<Name*>(claim_slots_beyond_budget(*process, slots));
    if (slot == nullptr) {
        if (reserved != nullptr) reserved->store(0);  // the next event with this name tries again
        return id;
    }
    slot->file = id;
    slot->bytes = static_cast<uint32_t>(bytes);
    slot->slots = slots;
    // `call` is stored before the text, so that a reader never takes the slots of the text for events. The id, a hash of the text,
    // shows the reader whether the text is whole.
    as_atomic(slot->call).store(static_cast<uint16_t>(Call::name), std::memory_order_release);
    memcpy(reinterpret_cast<char*>(slot) + offsetof(Name, text), name, bytes);
    return id;
}

}  // namespace tailrace::trace
