#include "stream/group.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "gather/agree.hpp"
#include "layout/parts.hpp"
#include "part/part_reader.hpp"
#include "part/seal.hpp"
#include "stream/storage_choice.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kFirstBlockSteps = 8;
constexpr uint64_t kLargestBlockSteps = 1024;
// The device begins with what close() will sync when a part is written: ten files of 6.3 MiB, written and then synced, took 30 ms
// instead of 41, each 0.1 ms longer to write. Of larger ones the caller would wait for the device, 28 ms for 128 MiB.
constexpr uint64_t kDeviceTakesAtOnceBytes = 16u << 20;

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

PartMap part_map(const Communicator& ranks, const Layout& layout) { return {layout, ranks.topology()}; }

// A box of a dense array, copied out.
std::vector<std::byte> slice_of(const std::vector<std::byte>& values, uint64_t element_bytes, const Box& box) {
    const auto begin = values.begin() + static_cast<long>(box.offset[0] * element_bytes);
    return {begin, begin + static_cast<long>(box.count[0] * element_bytes)};
}

}  // namespace

Group::Group(const Communicator& ranks, const Communicator* part_ranks, const StreamConfig& config, WriteQueue& queue, Place place,
             bool with_static)
    : ranks_(ranks), part_ranks_(part_ranks), config_(config), queue_(queue), place_(std::move(place)), with_static_(with_static) {
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

void Group::prepare(bool begun) const {
    if (!first_writer_) return;
    if (has_one_part(config_.layout)) {
        if (several_writers()) create_part(pending_part_path(), config_.layout.storage).close();
        return;
    }
    // The first writer in each leaf of the tree makes it.
    const std::string group = path_of(pending_path(config_.layout, place_.stream, place_.start)),
                      mine = parent_of(pending_part_path());
    const bool first_in_leaf =
        part_ == 0 || mine != parent_of(group + "/" + part_path_in_group(config_.layout, place_.stream, place_.start, part_ - 1));
    const std::string within = begun ? group : path_of(parts_directory(place_.stream));
    if (mine != within && (several_writers() || first_in_leaf)) make_directories(mine, within);
    if (several_writers()) create_part(pending_part_path(), config_.layout.storage).close();
}

uint64_t Group::laid_out() const { return blocks_.empty() ? 0 : blocks_.back().first_step + blocks_.back().steps; }

void Group::make_room(const PartContent& content, ImageCache& cache, std::optional<Error>& error) {
    if (steps_ == laid_out()) lay_out_more(content);
    if (!first_writer_ || image_is_made_ || !content.packed.empty()) return;
    attempt(error, [&] {
        if (!several_steps() && cache) {
            image_ = cache;
        } else {
            image_ = std::make_shared<Image>(image_of(content, block_end(content.placement, blocks_.back())));
            if (!several_steps()) cache = image_;
        }
        image_is_made_ = true;
    });
}

// Of all steps that are laid out, with the way to their seals.
Image Group::image_of(const PartContent& content, uint64_t metadata_address) const {
    if (content.seal_slot_bytes == 0)
        return make_image(content.description, content.placement, blocks_, laid_out(), metadata_address, chunks_);
    Description description = content.description;
    description.attributes.push_back(
        seal_attribute(seal_map(content.placement, blocks_, content.seal_writers, content.seal_slot_bytes)));
    return make_image(description, content.placement, blocks_, laid_out(), metadata_address, chunks_);
}

uint64_t Group::end(const PartContent& content) const {
    return blocks_.empty() ? 0 : std::max(end_of_metadata(), block_end(content.placement, blocks_.back()));
}

void Group::take_back_chunks(const PartContent& content, uint64_t steps) {
    chunks_.resize(content.arrays.size());
    for (const size_t a : content.packed) chunks_[a].resize(steps * content.description.arrays[a].packing->grid.count());
}

void Group::place_chunks(const PartContent& content, ChunkPlaces chunks) {
    if (!first_writer_) return;
    take_back_chunks(content, steps_);  // a step that failed may have left its own
    uint64_t behind = end(content);
    for (size_t k = 0; k < content.packed.size(); ++k) {
        std::ranges::copy(chunks[k], std::back_inserter(chunks_[content.packed[k]]));
        for (const Extent& chunk : chunks[k]) behind = std::max(behind, chunk.address + chunk.bytes);
    }
    image_ = std::make_shared<Image>(image_of(content, content.placement.align(behind, 0)));
    image_written_ = false;
}

// Of the steps that an earlier run wrote.
void Group::find_chunks(const PartContent& content) {
    take_back_chunks(content, 0);
    const PartReader part(part_path());
    for (const size_t a : content.packed) {
        const Array& array = content.description.arrays[a];
        const Extents extents = extents_of(content.description, array, 1), shape(extents.begin() + 1, extents.end());
        for (uint64_t step = 0; step < steps_; ++step)
            std::ranges::copy(part.find({array.name, array.type, shape, true}, step).chunks, std::back_inserter(chunks_[a]));
    }
}

void Group::lay_out_more(const PartContent& content) {
    const uint64_t laid = laid_out();
    StepBlock block{laid, 1, content.placement.static_end()};
    if (several_steps()) {
        block.steps = std::min(capacity() - laid, std::clamp(laid, kFirstBlockSteps, kLargestBlockSteps));
        if (laid > 0) {
            block.address = content.placement.align(end_of_metadata(), content.placement.step_pitch());
            if (several_writers()) block.address = part_ranks_->broadcast(block.address, 0);
        }
    }
    blocks_.push_back(block);
    grew_ = true;
    image_is_made_ = image_written_ = false;
}

void Group::reopen(const PartContent& content, const PartGrowth& growth, uint64_t steps, const std::vector<StepEntry>& committed) {
    // First: a part that cannot be opened leaves a group without steps.
    if (is_writer_) file_ = std::make_shared<HeldFile>(File::open_write(part_path()), false);
    if (first_writer_) reopened_end_ = file_->size_bytes();
    reopened_ = published_ = true;
    steps_ = committed_ = steps;
    for (StepBlock block : growth.blocks) {
        if (block.first_step >= steps) break;
        block.steps = std::min(block.steps, steps - block.first_step);
        blocks_.push_back(block);
    }
    if (first_writer_ && !content.packed.empty()) find_chunks(content);
    // A run that was killed may have left the last steps without their times.
    double stored = std::numeric_limits<double>::quiet_NaN();
    for (auto step = committed.rbegin(); first_writer_ && step != committed.rend() && std::isnan(stored); ++step) {
        untimed_.insert(untimed_.begin(), {time_address(content, step->step), step->time});
        file_->read_at(untimed_.front().first, &stored, sizeof stored);
    }
}

void Group::begin_write(const PartContent& content, bool alone, bool may_come_first) {
    if (!is_writer_) return;
    if (!file_) {
        const auto file = std::make_shared<HeldFile>();
        const bool exists = several_writers();  // prepare() has made it
        const bool hold = !several_steps() && !several_writers();
        const std::string within = may_come_first ? path_of(parts_directory(place_.stream)) : "";
        queue_.run([=, path = pending_part_path(), storage = config_.layout.storage] {
            *file = {exists ? File::open_write(path) : create_part(path, storage, within), hold};
        });
        file_ = file;
    }
    // Room on the device beforehand: writes to the page cache of ext4 were up to twice as fast, and a full device is found out
    // at once.
    if (first_writer_) {
        const uint64_t end = step_address_now(content) + content.placement.step_pitch();
        const uint64_t begin = steps_ > 0 ? step_address_now(content) : 0;
        queue_.run([=, file = file_] { file->reserve(begin, end - begin); });
    }
    write_times();
    const bool checksum = config_.layout.storage.checksum;
    const auto gaps = alone ? PartWriter::Gaps::mine : PartWriter::Gaps::not_mine;
    static_out_.emplace(queue_, file_, checksum, gaps);
    step_out_.emplace(queue_, file_, checksum, gaps);
    exchange_out_.emplace(queue_, file_, checksum, PartWriter::Gaps::not_mine);
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
        if (content.description.arrays[a].packing) continue;
        PartWriter& out = varies ? *step_out_ : *static_out_;
        const uint64_t address = array_address(content, a);
        switch (array.from) {
            case PartArray::From::slab: {
                const Slab& slab = plan.slabs()[array.slab];
                if (slab.exchanged || !slab.written) break;
                for (const size_t b : slab.mine) {
                    const Box& box = data.boxes[array.variable][b];
                    const BlockView& memory = data.memory[array.variable][b];
                    if (memory.dense() != nullptr && box == slab.box)
                        out.add(address, memory.dense(), memory.piece_bytes());
                    else
                        out.add_strided(address, Runs(slab.box.count, within(slab.box, box)), memory, 0, slab.box.elements());
                }
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

// Of what this writer has written, when it is known.
void Group::write_seals(const PartContent& content, const std::shared_ptr<Written>& written) {
    if (content.seal_slot_bytes == 0) return;
    const Placement& placement = content.placement;
    const uint64_t slot_bytes = content.seal_slot_bytes, steps_begin = blocks_.front().address;
    const uint64_t static_begin = placement.static_addresses().empty() ? 0 : placement.static_addresses().front();
    const bool seals_static = writes_static() && !placement.static_addresses().empty();
    const uint64_t static_seals = placement.static_seal(), step_seals = step_address_now(content) + placement.step_seal();
    // An earlier run had more writers: the room of those that are missing says that they wrote nothing.
    const uint64_t missing_until = first_writer_ ? content.seal_writers : 0;
    const std::vector<std::shared_ptr<ExtentWriter>> extents{static_out_->written(), step_out_->written(),
                                                             exchange_out_->written()};
    queue_.run([=, file = file_, me = writer_, missing_from = writers_, step = steps_] {
        std::vector<SealRecord> of_static, of_step;
        for (const auto& of : extents)
            for (const SealRecord& record : of->records())
                (of == extents[0] || (of == extents[2] && record.address >= static_begin && record.address < steps_begin)
                     ? of_static
                     : of_step)
                    .push_back(record);
        const auto write = [&](uint64_t number, uint64_t address, uint64_t writer, const std::vector<SealRecord>& records) {
            const std::vector<std::byte> seal = make_seal(number, writer, records);
            if (seal.size() > slot_bytes)
                fail(Status::INTERNAL, "the seal of a step needs ", seal.size(), " bytes, planned were ", slot_bytes);
            file->write_at(address + writer * slot_bytes, seal.data(), seal.size());
            written->digest += Checksum::of(seal.data(), seal.size());
        };
        const auto write_all = [&](uint64_t number, uint64_t address, std::vector<SealRecord>& records) {
            std::sort(records.begin(), records.end(),
                      [](const SealRecord& a, const SealRecord& b) { return a.address < b.address; });
            write(number, address, me, records);
            for (uint64_t writer = missing_from; writer < missing_until; ++writer) write(number, address, writer, {});
        };
        if (seals_static) write_all(kSealOfStatic, static_seals, of_static);
        write_all(step, step_seals, of_step);
    });
}

// The steps that are laid out and not written yet have no time.
void Group::write_no_times(const PartContent& content) {
    const StepBlock& block = blocks_.back();
    queue_.run([file = file_, steps = block.steps, pitch = content.placement.step_pitch(),
                first = block.address + content.placement.step_offsets().back()] {
        const double no_time = std::numeric_limits<double>::quiet_NaN();
        for (uint64_t k = 0; k < steps; ++k) file->write_at(first + k * pitch, &no_time, sizeof no_time);
    });
}

// New metadata first, behind all that readers use, then the superblock that makes it count. Where a loss of power must not take
// earlier steps along, the metadata is on the device before.
void Group::put_in_force(const std::shared_ptr<const Image>& image, bool last) {
    queue_.run([file = file_, image, then_sync = last && sync_steps(), sync = has_steps() && durability() != Durability::none] {
        file->write_at(image->metadata_address, image->metadata.data(), image->metadata.size());
        const bool ends_later = image->metadata_address + image->metadata.size() < image->file_bytes;
        if (ends_later && file->size_bytes() < image->file_bytes) file->set_size(image->file_bytes);
        if (sync) file->sync();
        file->write_at(0, image->superblock.data(), image->superblock.size());
        if (then_sync) file->sync();
    });
    image_written_ = true;
}

std::shared_ptr<const Group::Written> Group::end_write(const PartContent& content) {
    const auto written = std::make_shared<Written>();
    if (!is_writer_) return written;
    exchange_out_->flush();
    write_seals(content, written);
    if (first_writer_ && several_steps() && grew_) write_no_times(content);
    // There is none where another rank has failed to compress what this one was to place.
    if (first_writer_ && !image_written_ && image_) {
        if (!content.packed.empty() && several_steps() && several_writers())
            written->image = image_;
        else
            put_in_force(image_, false);
    }
    if (sync_steps()) queue_.run([file = file_] { file->sync(); });
    abandon_write();
    if (!several_steps()) {
        const bool begins_sync = durability() == Durability::close && !several_writers();
        queue_.run([file = file_, begins_sync, later = queue_.is_later()] {
            if (begins_sync && (later || file->size_bytes() <= kDeviceTakesAtOnceBytes)) file->begin_sync();
            file->close();
        });
        file_.reset();
    }
    return written;
}

void Group::abandon_write() noexcept {
    static_out_.reset();
    step_out_.reset();
    exchange_out_.reset();
}

void Group::publish() {
    if (published_) return;
    const bool sync = sync_steps(), one_part = has_one_part(config_.layout);
    const std::string from = path_of(pending_path(config_.layout, place_.stream, place_.start));
    const std::string to = path_of(group_path(config_.layout, place_.stream, place_.start));
    const std::string parts = path_of(parts_directory(place_.stream));
    queue_.run([=] {
        // Of a stream's directory that has vanished no new one is made: it would lack all earlier steps.
        if (parent_of(to).starts_with(parts + "/")) make_directories(parent_of(to), parts);
        if (sync && !one_part) sync_directory(from);
        // A directory that stands there was never committed: a run was killed before its journal line.
        one_part ? rename_path(from, to) : replace_directory(from, to);
        if (sync) sync_directory(parent_of(to));
    });
    published_ = true;
}

void Group::step_committed(const PartContent& content, uint64_t number, double time) {
    committed_ = number + 1;
    if (!several_steps() || !first_writer_) return;
    untimed_.emplace_back(time_address(content, number), time);
    // The journal has the step, so it is there, whatever has failed since; a time that cannot be written now is written before the
    // next step.
    const WriteQueue::Commit commit(queue_, 0);
    attempt([&] { write_times(); });
}

void Group::write_times() {
    while (!untimed_.empty()) {
        queue_.run([file = file_, address = untimed_.front().first, time = untimed_.front().second] {
            file->write_at(address, &time, sizeof time);
        });
        untimed_.erase(untimed_.begin());
    }
}

void Group::finish(const PartContent& content) {
    if (!several_steps() || !is_writer_ || !has_steps()) return;
    write_times();
    if (first_writer_ && steps_ < laid_out()) {
        queue_.wait();
        while (blocks_.back().first_step >= steps_) blocks_.pop_back();
        blocks_.back().steps = steps_ - blocks_.back().first_step;
        if (!content.packed.empty()) take_back_chunks(content, steps_);  // of a step that failed
        // Behind everything first: the times of the steps that did not come are read as long as the old metadata is in force. Then
        // into their room.
        image_ = std::make_shared<Image>(image_of(content, content.placement.align(file_->size_bytes(), 0)));
        put_in_force(image_, false);
        if (!content.packed.empty()) return close_part();  // chunks lie in between: nothing can be cut off
        auto trimmed = std::make_shared<Image>(image_of(content, block_end(content.placement, blocks_.back())));
        if (trimmed->metadata_address + trimmed->metadata.size() <= image_->metadata_address) {
            image_ = std::move(trimmed);
            put_in_force(image_, false);
        }
        // What is cut off is what the old superblock refers to.
        queue_.run([file = file_, bytes = image_->file_bytes, sync = durability() != Durability::none] {
            if (sync) file->sync();
            file->set_size(bytes);
        });
    }
    close_part();
}

void Group::close_part() {
    queue_.run([file = file_, sync = durability() != Durability::none] {
        if (sync) file->sync();
        file->close();
    });
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

std::vector<std::string> pending_paths(const std::string& directory, const std::string& stream) {
    const std::string parts = directory + "/" + parts_directory(stream);
    std::vector<std::string> paths;
    for (const std::string& entry : list_directory(parts))
        if (entry.starts_with(kPendingPrefix)) paths.push_back(parts + "/" + entry);
    return paths;
}

}  // namespace tailrace
