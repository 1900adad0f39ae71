#include "view/read_check.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "layout/slab.hpp"

namespace tailrace {
namespace {

// The extents of the file that read_box() reads: from the first element to the last; whole chunks of a compressed array.
std::vector<Extent> extents_of(const StoredArray& array, const Box& box) {
    if (array.packing) return array.chunks;
    const Spans spans(array.shape, box);
    if (spans.count() == 0) return {};
    const uint64_t first = spans.begin(0), end = spans.begin(spans.count() - 1) + spans.length();
    return {{array.address + first * array.element_bytes, (end - first) * array.element_bytes}};
}

}  // namespace

std::vector<SealRecord>& ReadCheck::unchecked(const File& file, uint64_t step) {
    const auto [found, is_new] = unchecked_.try_emplace({file.path(), step});
    if (!is_new) return found->second;
    try {
        auto map = maps_.find(file.path());
        if (map == maps_.end()) {
            const auto stored = read_seal_map(file.path());
            if (!stored)
                fail(Status::UNSUPPORTED, file.path(), " has no checksums: it was written with checksum = off; read without them");
            map = maps_.emplace(file.path(), *stored).first;
        }
        const SealMap& seals = map->second;
        for (uint64_t writer = 0; writer < seals.writers; ++writer) {
            const uint64_t address = step == kSealOfStatic ? seals.static_address(writer) : seals.address(step, writer);
            const Seal seal = read_seal(file, address, seals.slot_bytes);
            if (seal.step != step || seal.writer != writer)
                fail(Status::CORRUPT, file.path(), ": the checksums of writer ", writer, " belong to another step or writer; ",
                     "`tailrace verify --deep` names all damage");
            found->second.insert(found->second.end(), seal.records.begin(), seal.records.end());
        }
    } catch (...) {
        unchecked_.erase(found);
        throw;
    }
    return found->second;
}

void ReadCheck::check(const StoredArray& array, const Box& box, uint64_t step) {
    const std::vector<Extent> extents = extents_of(array, box);
    if (extents.empty()) return;
    const auto is_read = [&](const SealRecord& record) {
        return std::ranges::any_of(extents, [&](const Extent& extent) {
            return record.address < extent.address + extent.bytes && extent.address < record.address + record.bytes;
        });
    };
    std::vector<SealRecord>& left = unchecked(*array.file, step);
    const auto now = std::partition(left.begin(), left.end(), [&](const SealRecord& record) { return !is_read(record); });
    if (const auto bad = verify_records(*array.file, {now, left.end()}))
        fail(Status::CORRUPT, array.file->path(), ": array '", array.name, "': bytes ", bad->address, " to ",
             bad->address + bad->bytes, " do not match their checksum; ", "`tailrace verify --deep` names all damage");
    left.erase(now, left.end());
}

}  // namespace tailrace
