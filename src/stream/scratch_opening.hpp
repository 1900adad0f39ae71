// Makes the outboxes of a stream with stage = scratch when it is opened.
#pragma once

#include <memory>

#include "gather/communicator.hpp"
#include "layout/keys.hpp"
#include "record/history.hpp"
#include "stream/outbox.hpp"
#include "stream/stream_paths.hpp"

namespace tailrace {

struct ScratchOpening {
    std::unique_ptr<Outbox> outbox;  // null on ranks that write no part, and with stage = none
    ScratchPlaces places;            // of all ranks, on rank 0
};

// Collective. Does nothing with stage = none. Throws on all ranks if one has no scratch.
ScratchOpening open_scratch(const Communicator& ranks, const StreamPaths& paths, const StreamConfig& config);

}  // namespace tailrace
