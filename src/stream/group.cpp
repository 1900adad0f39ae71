#include "stream/group.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/paths.hpp"
#include "gather/agree.hpp"
#include "layout/parts.hpp"
#include "part/part_reader.hpp"
#include "stream/storage_choice.hpp"

namespace tailrace {
namespace {

// durability = close: the device begins with a file as soon as it is written, unless it is larger than this. Ten files of 6.3 MiB,
// written and then synced, took 30 ms instead of 41; each took 0.1 ms longer to write. With larger files the caller would wait for
// the device: 28 ms for 128 MiB.
constexpr uint64_t kEarlySyncBytes = 16u << 20;

constexpr double kNoTime = std::numeric_limits<double>::quiet_NaN();

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

PartRole role_of(const Communicator& ranks, const Layout& layout) {
    const PartMap map(layout, ranks.topology());
    const uint64_t part = map.part_of(ranks.rank());
    return {part, map.writer_number(part, ranks.rank()), map.writers(part)};
}

}  // namespace

Group::Group(const Communicator& ranks, const Communicator* part_ranks, const StreamConfig& config, WriteQueue& queue, Place place,
             std::shared_ptr<DescribedPart> part, bool with_static)
    : part_ranks_(part_ranks), config_(config), queue_(queue), place_(std::move(place)), role_(role_of(ranks, config.layout)),
      with_static_(with_static), space_(config.layout), step_(queue, role_) {
    space_.set_content(std::move(part));
}

std::string Group::pending_part_path() const {
    const std::string group = path_of(pending_path(config_.layout, place_.stream, place_.start, place_.run));
    return has_one_part(config_.layout) ? group
                                        : group + "/" + part_path_in_group(config_.layout, place_.stream, place_.start, role_.part);
}

std::string Group::present_path() const { return is_published() ? part_path() : pending_part_path(); }

std::string Group::part_path() const {
    return path_of(tailrace::part_path(config_.layout, place_.stream, place_.start, role_.part, place_.segment));
}

void Group::prepare(bool directory_exists) const {
    if (!role_.is_first_writer()) return;
    if (has_one_part(config_.layout)) {
        if (has_several_writers()) create_part(pending_part_path(), config_.layout.storage).close();
        return;
    }
    // The first writer in each leaf of the tree makes it.
    const std::string group = path_of(pending_path(config_.layout, place_.stream, place_.start, place_.run)),
                      mine = parent_of(pending_part_path());
    const bool first_in_leaf =
        role_.part == 0 ||
        mine != parent_of(group + "/" + part_path_in_group(config_.layout, place_.stream, place_.start, role_.part - 1));
    const std::string within = directory_exists ? group : path_of(parts_directory(place_.stream));
    if (mine != within && (has_several_writers() || first_in_leaf)) make_directories(mine, within);
    if (has_several_writers()) create_part(pending_part_path(), config_.layout.storage).close();
}

void Group::make_room(std::optional<Error>& error) {
    if (steps_ == space_.laid_out_steps()) lay_out_more();
    if (!role_.is_first_writer() || space_.image_state() != PartSpace::ImageState::outdated || !space_.content().packed.empty())
        return;
    attempt(error, [&] { space_.make_image_behind_blocks(); });
}

void Group::lay_out_more() {
    StepBlock block = space_.next_block();
    if (block.first_step > 0 && has_several_writers()) block.address = part_ranks_->broadcast(block.address, 0);
    space_.add(block);
}

void Group::reopen(const PartGrowth& growth, uint64_t steps, const std::vector<StepEntry>& committed) {
    // This comes first: if the file cannot be opened the group has no steps.
    if (role_.is_writer()) file_ = std::make_shared<HeldFile>(File::open_write(part_path()), false);
    const bool is_first = role_.is_first_writer();
    state_ = State::published;
    steps_ = committed_ = steps;
    space_.continue_from(growth.blocks, steps, is_first ? file_->size_bytes() : 0);
    if (!is_first) return;
    if (!space_.content().packed.empty()) space_.find_chunks(PartReader(part_path()), steps);
    // A run that was killed may have left the last steps without their times.
    double stored = kNoTime;
    for (auto step = committed.rbegin(); step != committed.rend() && std::isnan(stored); ++step) {
        const uint64_t address = space_.time_address(step->step);
        times_.add_first(address, step->time);
        file_->read_at(address, &stored, sizeof stored);
    }
}

void Group::open_file(bool may_come_first) {
    const auto file = std::make_shared<HeldFile>();
    const bool exists = has_several_writers();  // prepare() has made it
    const bool hold = !space_.has_several_steps() && !has_several_writers();
    const std::string within = may_come_first ? path_of(parts_directory(place_.stream)) : "";
    queue_.run([=, path = pending_part_path(), storage = config_.layout.storage] {
        *file = {exists ? File::open_write(path) : create_part(path, storage, within), hold};
    });
    file_ = file;
}

void Group::begin_write(bool alone, bool may_come_first) {
    if (!role_.is_writer()) return;
    if (!file_) open_file(may_come_first);
    // Reserve room on the device. Writes to the page cache of ext4 were up to twice as fast, and a full device is an error at once.
    if (role_.is_first_writer()) {
        const uint64_t begin = steps_ > 0 ? space_.step_begin(steps_) : 0, bytes = space_.step_end(steps_) - begin;
        queue_.run([=, file = file_] { file->reserve(begin, bytes); });
    }
    write_times();
    step_.begin(file_, steps_, config_.layout.storage.checksum, alone ? PartWriter::Gaps::mine : PartWriter::Gaps::not_mine);
}

// Steps that are laid out and not written yet get NaN as their time.
void Group::write_missing_times() {
    const StepBlock& block = space_.blocks().back();
    queue_.run([file = file_, steps = block.steps, pitch = space_.content().placement.step_pitch(),
                first = space_.time_address(block.first_step)] {
        for (uint64_t k = 0; k < steps; ++k) file->write_at(first + k * pitch, &kNoTime, sizeof kNoTime);
    });
}

// First the new metadata, behind all that readers use, then the superblock that refers to it. Where a loss of power must not cost
// earlier steps, the metadata is on the device before the superblock is written.
void Group::put_in_force(const std::shared_ptr<const Image>& image, bool last, WriteQueue::Needs needs) {
    auto write = [file = file_, image, then_sync = last && syncs_steps(), sync = has_steps() && durability() != Durability::none] {
        file->write_at(image->metadata_address, image->metadata.data(), image->metadata.size());
        const bool ends_later = image->metadata_address + image->metadata.size() < image->file_bytes;
        if (ends_later && file->size_bytes() < image->file_bytes) file->set_size(image->file_bytes);
        if (sync) file->sync();
        file->write_at(0, image->superblock.data(), image->superblock.size());
        if (then_sync) file->sync();
    };
    queue_.run(std::move(write), needs);
    space_.mark_image_in_force();
}

std::shared_ptr<const Group::Written> Group::end_write() {
    const auto written = std::make_shared<Written>();
    if (!role_.is_writer()) return written;
    const bool is_first = role_.is_first_writer(), has_several_steps = space_.has_several_steps();
    step_.flush();
    step_.write_seals(space_, {written, &written->digest});
    if (is_first && has_several_steps && has_grown()) write_missing_times();
    // There is no image where another rank failed to compress chunks that this one was to place.
    if (is_first && space_.image_state() != PartSpace::ImageState::in_force && space_.image()) {
        if (!space_.content().packed.empty() && has_several_steps && has_several_writers())
            written->image = space_.image();
        else
            put_in_force(space_.image(), false);
    }
    if (syncs_steps()) queue_.run([file = file_] { file->sync(); });
    abandon_write();
    if (!has_several_steps) {
        const bool begins_sync = durability() == Durability::close && !has_several_writers();
        queue_.run([file = file_, begins_sync, is_async = queue_.is_async()] {
            if (begins_sync && (is_async || file->size_bytes() <= kEarlySyncBytes)) file->begin_sync();
            file->close();
        });
        file_.reset();
    }
    return written;
}

void Group::publish(WriteQueue::Needs needs) {
    const bool sync = syncs_steps(), one_part = has_one_part(config_.layout);
    const std::string from = path_of(pending_path(config_.layout, place_.stream, place_.start, place_.run));
    const std::string to = path_of(group_path(config_.layout, place_.stream, place_.start, place_.segment));
    const std::string parts = path_of(parts_directory(place_.stream));
    auto rename = [=] {
        // A stream's directory that has vanished is not made anew: all earlier steps would be missing from it.
        if (parent_of(to).starts_with(parts + "/")) make_directories(parent_of(to), parts);
        if (sync && !one_part) sync_directory(from);
        // A directory that has this name already was never committed: a run was killed before its journal line.
        one_part ? rename_path(from, to) : replace_directory(from, to);
        if (sync) sync_directory(parent_of(to));
    };
    queue_.run(std::move(rename), needs);
    state_ = State::published;
}

void Group::on_step_committed(uint64_t number, double time) {
    committed_ = number + 1;
    if (!space_.has_several_steps() || !role_.is_first_writer()) return;
    times_.add(space_.time_address(number), time);
    // The journal has the step, so it exists, whatever has failed since. A time that cannot be written now is written before the
    // next step.
    attempt([&] { write_times(WriteQueue::Needs::commits_and_work(0)); });
}

void Group::finish() {
    if (!space_.has_several_steps() || !role_.is_writer() || !has_steps()) return;
    write_times();
    if (role_.is_first_writer() && steps_ < space_.laid_out_steps()) cut_file();
    close_file();
}

// Metadata that describes the written steps alone goes behind everything first: as long as the old metadata is in force, readers
// read the times of the steps that did not come. Then it goes into the room of those steps, and the rest is cut off.
void Group::cut_file() {
    queue_.wait();
    space_.cut_to(steps_);
    space_.make_image_at(space_.content().placement.align(file_->size_bytes(), 0));
    put_in_force(space_.image(), false);
    if (!space_.content().packed.empty()) return;  // chunks lie in between: nothing can be cut off
    auto trimmed = std::make_shared<Image>(space_.image_at(space_.end_of_last_block()));
    if (trimmed->metadata_address + trimmed->metadata.size() <= space_.image()->metadata_address) {
        space_.set_image(std::move(trimmed));
        put_in_force(space_.image(), false);
    }
    // The old superblock refers to what is cut off, so the new one is on the device before.
    queue_.run([file = file_, bytes = space_.image()->file_bytes, sync = durability() != Durability::none] {
        if (sync) file->sync();
        file->set_size(bytes);
    });
}

void Group::close_file() {
    queue_.run([file = file_, sync = durability() != Durability::none] {
        if (sync) file->sync();
        file->close();
    });
}

void Group::discard() const noexcept {
    try {
        remove_tree(path_of(pending_path(config_.layout, place_.stream, place_.start, place_.run)));
    } catch (const Error&) {
        // The next open removes it.
    }
}

PartGrowth Group::growth() const {
    const PartContent& content = space_.content();
    return {place_.start, content.seal_writers, content.seal_slot_bytes, space_.blocks()};
}

std::vector<std::string> pending_paths(const std::string& directory, const std::string& stream, uint64_t before_run) {
    const std::string parts = directory + "/" + parts_directory(stream);
    std::vector<std::string> paths;
    for (const std::string& entry : list_directory(parts))
        if (entry.starts_with(kPendingPrefix) && run_of_pending(entry) < std::max<uint64_t>(before_run, 1))
            paths.push_back(parts + "/" + entry);
    return paths;
}

}  // namespace tailrace
