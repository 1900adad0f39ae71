#include "stream/group.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/error.hpp"
#include "gather/agree.hpp"
#include "layout/parts.hpp"
#include "part/seal.hpp"
#include "stream/storage_choice.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kFirstBlockSteps = 8;
constexpr uint64_t kLargestBlockSteps = 1024;

std::string parent_of(const std::string& path) { return std::filesystem::path(path).parent_path(); }

PartMap part_map(const Communicator& ranks, const Layout& layout) { return {layout, {ranks.size(), ranks.nodes()}}; }

// A box of a dense array, copied out.
std::vector<std::byte> slice_of(const std::vector<std::byte>& values, uint64_t element_bytes, const Box& box) {
    const auto begin = values.begin() + static_cast<long>(box.offset[0] * element_bytes);
    return {begin, begin + static_cast<long>(box.count[0] * element_bytes)};
}

}  // namespace

Group::Group(const Communicator& ranks, const Communicator* part_ranks, const StreamConfig& config, Place place, bool with_static)
    : ranks_(ranks), part_ranks_(part_ranks), config_(config), place_(std::move(place)), with_static_(with_static) {
    const PartMap map = part_map(ranks, config.layout);
    part_ = map.part_of(ranks.rank());
    writers_ = map.writers(part_);
    writer_ = map.writer_number(part_, ranks.rank());
    is_writer_ = writer_ < writers_;
    first_writer_ = is_writer_ && writer_ == 0;
}

std::string Group::pending_part_path() const {
    const std::string group = path_of(pending_path(config_.layout, place_.stream, place_.start));
    return has_one_part(config_.layout) ? group
                                        : group + "/" + part_path_in_group(config_.layout, place_.stream, place_.start, part_);
}

std::string Group::present_path() const { return published() ? part_path() : pending_part_path(); }

std::string Group::part_path() const { return path_of(tailrace::part_path(config_.layout, place_.stream, place_.start, part_)); }

void Group::prepare() const {
    if (has_one_part(config_.layout)) {
        if (ranks_.rank() == 0) create_part(pending_part_path(), config_.layout.storage).close();
        return;
    }
    if (!first_writer_) return;
    const std::string mine = parent_of(pending_part_path());
    if (several_writers()) {
        make_directories(mine, path_of(parts_directory(place_.stream)));
        return create_part(pending_part_path(), config_.layout.storage).close();
    }
    // The first writer in each leaf of the tree makes it.
    const std::string group = path_of(pending_path(config_.layout, place_.stream, place_.start));
    if (part_ == 0 || mine != parent_of(group + "/" + part_path_in_group(config_.layout, place_.stream, place_.start, part_ - 1)))
        make_directories(mine, path_of(parts_directory(place_.stream)));
}

uint64_t Group::laid_out() const { return blocks_.empty() ? 0 : blocks_.back().first_step + blocks_.back().steps; }

void Group::make_room(const PartContent& content, ImageCache& cache, std::optional<Error>& error) {
    if (steps_ == laid_out()) lay_out_more(content);
    if (!first_writer_ || image_is_made_) return;
    auto failed = attempt([&] {
        if (!several_steps() && cache) {
            image_ = *cache;
        } else {
            image_ = image_of(content, block_end(content.placement, blocks_.back()));
            if (!several_steps()) cache = image_;
        }
        image_is_made_ = true;
    });
    if (failed && !error) error = std::move(failed);
}

// Of all steps that are laid out, with the way to their seals.
Image Group::image_of(const PartContent& content, uint64_t metadata_address) const {
    Description description = content.description;
    if (content.seal_slot_bytes > 0)
        description.attributes.push_back(
            seal_attribute(seal_map(content.placement, blocks_, content.seal_writers, content.seal_slot_bytes)));
    return make_image(description, content.placement, blocks_, laid_out(), metadata_address);
}

void Group::lay_out_more(const PartContent& content) {
    const uint64_t laid = laid_out();
    StepBlock block{laid, 1, content.placement.static_end()};
    if (several_steps()) {
        block.steps = std::min(capacity() - laid, std::clamp(laid, kFirstBlockSteps, kLargestBlockSteps));
        if (laid > 0) {
            const uint64_t end = image_ ? image_->file_bytes : first_writer_ && reopened_ ? file_.size_bytes() : 0;
            block.address = content.placement.align(end, content.placement.step_pitch());
            if (several_writers()) block.address = part_ranks_->broadcast(block.address, 0);
        }
    }
    blocks_.push_back(block);
    grew_ = true;
    image_is_made_ = image_written_ = false;
}

void Group::reopen(const PartContent& content, const PartGrowth& growth, uint64_t steps, double last_time) {
    reopened_ = true;
    steps_ = steps;
    for (StepBlock block : growth.blocks) {
        if (block.first_step >= steps) break;
        block.steps = std::min(block.steps, steps - block.first_step);
        blocks_.push_back(block);
    }
    if (is_writer_) file_ = File::open_write(part_path());
    // A run that was killed may have left the last step without its time.
    if (first_writer_ && steps > 0)
        untimed_ = {{step_address(content.placement, blocks_, steps - 1) + content.placement.step_offsets().back(), last_time}};
}

void Group::begin_write(const PartContent& content, bool alone) {
    if (!is_writer_) return;
    if (!file_.is_open()) {
        const std::string path = steps_ > 0 ? part_path() : pending_part_path();
        const bool exists = has_one_part(config_.layout) || several_writers() || steps_ > 0;
        file_ = exists ? File::open_write(path) : create_part(path, config_.layout.storage);
    }
    // Room on the device beforehand: writes to the page cache of ext4 were up to twice as fast, and a full device is found out
    // at once.
    if (first_writer_) {
        const uint64_t begin = steps_ > 0 ? step_address_now(content) : 0;
        file_.reserve(begin, step_address_now(content) + content.placement.step_pitch() - begin);
    }
    write_time();
    const bool checksum = config_.layout.storage.checksum;
    const auto gaps = alone ? PartWriter::Gaps::mine : PartWriter::Gaps::not_mine;
    static_out_.emplace(file_, checksum, gaps);
    step_out_.emplace(file_, checksum, gaps);
    exchange_out_.emplace(file_, checksum, PartWriter::Gaps::not_mine);
}

uint64_t Group::array_address(const PartContent& content, size_t array) const {
    return content.description.arrays[array].varies ? step_address_now(content) + content.step_offset(array)
                                                    : content.static_address(array);
}

void Group::write_direct(const PartContent& content, const Definitions& definitions, const StepPlan& plan, const StepData& data,
                         double time) {
    if (!is_writer_) return;
    time_ = time;
    slices_.clear();
    slices_.reserve(content.arrays.size());
    for (size_t a = 0; a < content.arrays.size(); ++a) {
        const PartArray& array = content.arrays[a];
        const bool varies = content.description.arrays[a].varies;
        if (!varies && !writes_static()) continue;
        PartWriter& out = varies ? *step_out_ : *static_out_;
        const uint64_t address = array_address(content, a);
        switch (array.from) {
            case PartArray::From::slab: {
                const Slab& slab = plan.slabs()[array.slab];
                if (slab.exchanged || !slab.written) break;
                for (const size_t b : slab.mine)
                    out.add_strided(address, Runs(slab.box.count, within(slab.box, data.boxes[array.variable][b])),
                                    data.memory[array.variable][b], 0, slab.box.elements());
                break;
            }
            case PartArray::From::replicated: {
                if (!first_writer_) break;
                const std::vector<std::byte>& values = data.values[array.variable];
                if (array.slice.count.empty()) {
                    out.add(address, values.data(), values.size());
                } else {
                    slices_.push_back(slice_of(values, type_bytes(definitions.variables()[array.variable].type), array.slice));
                    out.add(address, slices_.back().data(), slices_.back().size());
                }
                break;
            }
            case PartArray::From::time:
                // A step of several has its time value once it is committed.
                if (first_writer_ && !several_steps()) out.add(address, &time_, sizeof time_);
                break;
        }
    }
    static_out_->flush();
    step_out_->flush();
}

void Group::write_seal(const PartContent& content, uint64_t step, uint64_t address, std::vector<SealRecord> records,
                       uint64_t& digest) {
    if (content.seal_slot_bytes == 0) return;
    std::sort(records.begin(), records.end(), [](const SealRecord& a, const SealRecord& b) { return a.address < b.address; });
    const auto write = [&](uint64_t writer, const std::vector<SealRecord>& of_writer) {
        const std::vector<std::byte> seal = make_seal(step, writer, of_writer);
        if (seal.size() > content.seal_slot_bytes)
            fail(Status::INTERNAL, "the seal of a step needs ", seal.size(), " bytes, planned were ", content.seal_slot_bytes);
        file_.write_at(address + writer * content.seal_slot_bytes, seal.data(), seal.size());
        digest += Checksum::of(seal.data(), seal.size());
    };
    write(writer_, records);
    // An earlier run had more writers: the room of those that are missing says that they wrote nothing.
    if (first_writer_)
        for (uint64_t writer = writers_; writer < content.seal_writers; ++writer) write(writer, {});
}

// The steps that are laid out and not written yet have no time.
void Group::write_no_times(const PartContent& content) {
    const double no_time = std::numeric_limits<double>::quiet_NaN();
    const uint64_t time_offset = content.placement.step_offsets().back();
    const StepBlock& block = blocks_.back();
    for (uint64_t k = 0; k < block.steps; ++k)
        file_.write_at(block.address + k * content.placement.step_pitch() + time_offset, &no_time, sizeof no_time);
}

// New metadata first, behind all that readers use, then the superblock that makes it count. Where a loss of power must not take
// earlier steps along, the metadata is on the device before.
void Group::put_image_in_force() {
    file_.write_at(image_->metadata_address, image_->metadata.data(), image_->metadata.size());
    const bool ends_later = image_->metadata_address + image_->metadata.size() < image_->file_bytes;
    if (ends_later && file_.size_bytes() < image_->file_bytes) file_.set_size(image_->file_bytes);
    if (published() && durability() != Durability::none) file_.sync();
    file_.write_at(0, image_->superblock.data(), image_->superblock.size());
    image_written_ = true;
}

uint64_t Group::end_write(const PartContent& content) {
    if (!is_writer_) return 0;
    exchange_out_->flush();
    uint64_t digest = 0;
    const uint64_t first = content.placement.static_addresses().empty() ? 0 : content.placement.static_addresses().front();
    std::vector<SealRecord> of_static = static_out_->records(), of_step = step_out_->records();
    const uint64_t steps_begin = blocks_.front().address;
    for (const SealRecord& record : exchange_out_->records())
        (record.address >= first && record.address < steps_begin ? of_static : of_step).push_back(record);
    if (writes_static() && !content.placement.static_addresses().empty())
        write_seal(content, kSealOfStatic, content.placement.static_seal(), std::move(of_static), digest);
    write_seal(content, steps_, step_address_now(content) + content.placement.step_seal(), std::move(of_step), digest);
    if (first_writer_ && !image_written_) {
        if (several_steps()) write_no_times(content);
        put_image_in_force();
    }
    if (durability() == Durability::step) file_.sync();
    static_out_.reset();
    step_out_.reset();
    exchange_out_.reset();
    if (!several_steps()) file_.close();
    return digest;
}

void Group::abandon_write() noexcept {
    static_out_.reset();
    step_out_.reset();
    exchange_out_.reset();
}

void Group::publish() const {
    const bool sync = durability() == Durability::step;
    const std::string from = path_of(pending_path(config_.layout, place_.stream, place_.start));
    const std::string to = path_of(group_path(config_.layout, place_.stream, place_.start));
    // Of a stream's directory that has vanished no new one is made: it would lack all earlier steps.
    const std::string parts = path_of(parts_directory(place_.stream));
    if (parent_of(to).starts_with(parts + "/")) make_directories(parent_of(to), parts);
    if (sync && !has_one_part(config_.layout)) sync_directory(from);
    // What stands there was never committed: a run was killed before its journal line.
    if (!has_one_part(config_.layout)) remove_tree(to);
    rename_path(from, to);
    if (sync) sync_directory(parent_of(to));
}

void Group::step_committed(const PartContent& content, double time) {
    if (several_steps() && first_writer_) {
        untimed_ = {{step_address_now(content) + content.placement.step_offsets().back(), time}};
        // The journal has the step, so it is there; a time that cannot be written now is written before the next step.
        attempt([&] { write_time(); });
    }
    ++steps_;
    grew_ = false;
}

void Group::write_time() {
    if (!untimed_) return;
    file_.write_at(untimed_->first, &untimed_->second, sizeof untimed_->second);
    untimed_.reset();
}

uint64_t Group::finish(const PartContent& content) {
    if (!several_steps() || !is_writer_ || !published()) return part_size_bytes();
    write_time();
    if (first_writer_ && steps_ < laid_out()) {
        while (blocks_.back().first_step >= steps_) blocks_.pop_back();
        blocks_.back().steps = steps_ - blocks_.back().first_step;
        // Behind everything first: the times of the steps that did not come are read as long as the old metadata is in force. Then
        // into their room.
        image_ = image_of(content, content.placement.align(file_.size_bytes(), 0));
        put_image_in_force();
        Image trimmed = image_of(content, block_end(content.placement, blocks_.back()));
        if (trimmed.metadata_address + trimmed.metadata.size() <= image_->metadata_address) {
            image_ = std::move(trimmed);
            put_image_in_force();
        }
        // What is cut off is what the old superblock refers to.
        if (durability() != Durability::none) file_.sync();
        file_.set_size(image_->file_bytes);
    }
    if (durability() == Durability::step) file_.sync();
    file_.close();
    return part_size_bytes();
}

void Group::discard() const noexcept {
    try {
        remove_tree(path_of(pending_path(config_.layout, place_.stream, place_.start)));
    } catch (const Error&) {
        // It is removed when the stream is next opened.
    }
}

PartGrowth Group::growth(const PartContent& content) const {
    return {place_.start, content.seal_writers, content.seal_slot_bytes, blocks_};
}

}  // namespace tailrace
