// Refuses layouts that contradict themselves.
#include "base/error.hpp"
#include "layout/chunks.hpp"
#include "layout/keys.hpp"
#include "layout/value.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kLeastTreeEntries = 8;
constexpr uint64_t kMostAlignmentBytes = uint64_t{1} << 40;

void check_staged(const Layout& layout) {
    const auto refuse = [](const auto&... parts) { fail(Status::BAD_LAYOUT, parts...); };
    if (layout.steps == Layout::kAllSteps)
        refuse("steps = all contradicts stage = scratch: a file leaves scratch when it is complete, and this one never is; ",
               "set steps = N, or stage = none");
    if (layout.writers.kind != Writers::Kind::one)
        refuse("stage = scratch needs writers = one: a file on scratch is seen by the ranks of one node; ",
               "set writers = one, or stage = none");
    if (layout.overlap_steps > 0)
        refuse("overlap = ", layout.overlap_steps,
               " contradicts stage = scratch: the simulation continues already while parts are ",
               "carried to their target; set overlap = 0, or stage = none");
    if (!layout.storage.checksum)
        refuse("checksum = off contradicts stage = scratch: a step is committed when its parts have arrived with their checksums; ",
               "set checksum = on, or stage = none");
    if (layout.storage.stripe_count > 0 || layout.storage.stripe_bytes > 0)
        refuse(
            "stripe_count and stripe_size have no effect with stage = scratch: the copies of parts are striped as their directory ",
            "is; set its striping (lfs setstripe), or stage = none");
}

}  // namespace

void check_choices(const Layout& layout) {
    const auto refuse = [](const auto&... parts) { fail(Status::BAD_LAYOUT, parts...); };
    const bool per_rank = layout.files.kind == Files::Kind::per_rank;
    if (layout.files.kind == Files::Kind::number && layout.files.number == 0)
        refuse("files = 0 leaves no file to write; set files = N with N at least 1, or files = one");
    if (per_rank && layout.writers.kind == Writers::Kind::all)
        refuse(
            "writers = all contradicts files = per-rank: each file is one rank's; set writers = one (layout = fpp), "
            "or files = one (layout = shared)");
    if (per_rank && layout.writers.kind == Writers::Kind::per_node)
        refuse(
            "writers = per-node contradicts files = per-rank: each file is one rank's; set writers = one (layout = fpp), "
            "or files = per-node (layout = node)");
    if (per_rank && layout.writers.kind == Writers::Kind::dedicated)
        refuse("writers = dedicated:", layout.writers.number, " contradicts files = per-rank: each file is one rank's; ",
               "set writers = one, or files = N or per-node");
    if (layout.writers.kind == Writers::Kind::dedicated && layout.writers.number == 0)
        refuse("writers = dedicated:0 leaves no rank to write; set dedicated:N with N at least 1, or writers = one");
    if (layout.tree_entries > 0 && layout.tree_entries < kLeastTreeEntries)
        refuse("tree = ", layout.tree_entries, " is too small a bound on the entries of a directory; set at least ",
               kLeastTreeEntries, ", or tree = flat");
    const Storage& storage = layout.storage;
    if (storage.alignment_bytes > kMostAlignmentBytes)
        refuse("alignment = ", size_text(storage.alignment_bytes), " leaves most of a file empty; set at most ",
               size_text(kMostAlignmentBytes));
    const bool compresses = storage.compression.kind != Compression::Kind::none;
    if (!compresses && storage.chunk_bytes > 0)
        refuse("chunk = ", size_text(storage.chunk_bytes), " has no effect without compression: an array is stored as one extent; ",
               "set compression = deflate, or chunk = 0");
    if (!compresses && storage.bit_round > 0)
        refuse("bit_round = ", storage.bit_round, " has no effect without compression: it makes no file smaller; ",
               "set compression = deflate, or bit_round = 0");
    if (compresses && layout.steps != 1 && layout.files.kind != Files::Kind::one && layout.writers.kind != Writers::Kind::one)
        refuse("compression is not possible with several files, several steps in each and several writers: only one rank of each ",
               "file knows the addresses of a step's chunks, and all must be written before the step is committed; ",
               "set writers = one, files = one or steps = 1");
    if (storage.chunk_bytes > 0 && (storage.chunk_bytes < kLeastChunkBytes || storage.chunk_bytes > kMostChunkBytes))
        refuse("chunk = ", size_text(storage.chunk_bytes), " is not from ", size_text(kLeastChunkBytes), " to ",
               size_text(kMostChunkBytes), "; set such a size, or chunk = 0");
    if (layout.stage == Stage::scratch) check_staged(layout);
}

void check_config(const StreamConfig& config) {
    check_choices(config.layout);
    if (config.keep_steps > 0 && config.layout.steps == Layout::kAllSteps)
        fail(Status::BAD_LAYOUT, "keep = ", config.keep_steps,
             " contradicts steps = all: old steps are removed with their files, and here one file holds all steps; ",
             "set steps = N, or keep = all");
}

}  // namespace tailrace
