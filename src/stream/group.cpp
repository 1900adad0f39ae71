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

PartRole role_of(const Communicator& ranks, const Layout& layout) {
    const PartMap map(layout, ranks.topology());
    const uint64_t part = map.part_of(ranks.rank());
    return {part, map.writer_number(part, ranks.rank()), map.writers(part)};
}

// Writes times that are missing in the file. Version 0.1.0 wrote a step's time after its commit, so a run that was killed in
// between left the step without a time.
void write_missing_times(HeldFile& file, const PartSpace& space, const std::vector<StepEntry>& committed) {
    double stored = std::numeric_limits<double>::quiet_NaN();
    for (auto step = committed.rbegin(); step != committed.rend() && std::isnan(stored); ++step) {
        const uint64_t address = space.time_address(step->step);
        file.read_at(address, &stored, sizeof stored);
        if (std::isnan(stored)) file.write_at(address, &step->time, sizeof step->time);
    }
}

}  // namespace

Group::Group(const Communicator& ranks, const Communicator* part_ranks, const StreamConfig& config, WriteQueue& queue, Place place,
             std::shared_ptr<DescribedPart> part, bool with_static)
    : part_ranks_(part_ranks), config_(config), queue_(queue), place_(std::move(place)), role_(role_of(ranks, config.layout)),
      with_static_(with_static), space_(config.layout), step_(queue, role_), shown_(queue, space_),
      staged_(place_.outbox, place_.directory, parts_directory(place_.stream)) {
    space_.set_content(std::move(part));
}

std::string Group::pending_part_path() const {
    const std::string group = pending_group_path();
    return has_one_part(config_.layout) ? group
                                        : group + "/" + part_path_in_group(config_.layout, place_.stream, place_.start, role_.part);
}

std::string Group::present_path() const { return is_published() ? part_path() : pending_part_path(); }

std::string Group::part_path() const {
    return path_of(tailrace::part_path(config_.layout, place_.stream, place_.start, role_.part, place_.segment));
}

void Group::prepare(bool directory_exists) const {
    if (!role_.is_first_writer()) return;
    if (staged_.is_staged()) return make_directories(parent_of(pending_part_path()), path_of(parts_directory(place_.stream)));
    if (has_one_part(config_.layout)) {
        if (has_several_writers()) create_part(pending_part_path(), config_.layout.storage).close();
        return;
    }
    // The first writer of each leaf directory of the tree makes that directory.
    const std::string group = pending_group_path(), mine = parent_of(pending_part_path());
    const bool first_in_leaf =
        role_.part == 0 ||
        mine != parent_of(group + "/" + part_path_in_group(config_.layout, place_.stream, place_.start, role_.part - 1));
    const std::string within = directory_exists ? group : path_of(parts_directory(place_.stream));
    if (mine != within && (has_several_writers() || first_in_leaf)) make_directories(mine, within);
    if (has_several_writers()) create_part(pending_part_path(), config_.layout.storage).close();
}

void Group::make_room(std::optional<Error>& error) {
    if (steps_ == space_.laid_out_steps()) lay_out_more();
    if (role_.is_first_writer()) attempt(error, [&] { space_.update_metadata(); });
}

void Group::lay_out_more() {
    StepBlock block = space_.next_block();
    if (block.first_step > 0 && has_several_writers()) block.address = part_ranks_->broadcast(block.address, 0);
    space_.add(block);
}

void Group::reopen(const PartGrowth& growth, uint64_t steps, const std::vector<StepEntry>& committed) {
    // Open the file before anything else, so that the group still has no steps if the file cannot be opened.
    if (role_.is_writer()) {
        file_ = std::make_shared<HeldFile>(File::open_write(part_path()), false);
        file_->lock_shared();
    }
    const bool is_first = role_.is_first_writer();
    state_ = State::published;
    steps_ = committed_ = steps;
    shown_.begin_at(steps);
    space_.continue_from(growth.blocks, steps, is_first ? file_->size_bytes() : 0);
    if (!is_first) return;
    if (!space_.content().packed.empty()) space_.find_chunks(PartReader(part_path()), steps);
    write_missing_times(*file_, space_, committed);
    space_.update_metadata();
}

void Group::open_file(bool may_come_first) {
    const auto file = std::make_shared<HeldFile>();
    const bool exists = has_several_writers();  // prepare() has made it
    const bool grows = space_.has_several_steps(), hold = !grows && !has_several_writers();
    const std::string within = may_come_first ? path_of(parts_directory(place_.stream)) : "";
    queue_.run([=, path = pending_part_path(), storage = config_.layout.storage] {
        *file = {exists ? File::open_write(path) : create_part(path, storage, within), hold};
        if (grows) file->lock_shared();
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
    step_.begin(file_, steps_, config_.layout.storage.checksum, alone ? PartWriter::Gaps::mine : PartWriter::Gaps::not_mine);
}

// Writes the step's metadata. In a part of several steps, before the ranks agree that the step is written. In a part of one step,
// first the metadata, then the superblock that refers to it.
void Group::write_metadata(Written& written) {
    if (space_.has_several_steps()) return void(written.shown_by = shown_.write(file_, steps_ + 1));
    queue_.run([file = file_, image = space_.image()] {
        file->write_at(image->metadata_address, image->metadata.data(), image->metadata.size());
        const bool ends_later = image->metadata_address + image->metadata.size() < image->file_bytes;
        if (ends_later && file->size_bytes() < image->file_bytes) file->set_size(image->file_bytes);
        file->write_at(0, image->superblock.data(), image->superblock.size());
    });
}

// Throws if another program has replaced the file by a new one of the same name: what is written to the old file would be lost.
void Group::check_path() const {
    if (committed_ == 0 || !space_.has_several_steps() || file_->is_at(part_path())) return;
    fail(path_exists(part_path()) ? Status::CORRUPT : Status::NOT_FOUND, part_path(),
         " is no longer the file that this run writes: another program has moved, removed or replaced it; ",
         "put it back, or close the stream and write another one");
}

std::shared_ptr<const Group::Written> Group::end_write() {
    const auto written = std::make_shared<Written>();
    if (!role_.is_writer()) return written;
    check_path();
    step_.flush();
    step_.write_seals(space_, {written, &written->digest});
    // Otherwise another rank failed to compress, and the step fails.
    if (role_.is_first_writer() && space_.can_show(steps_ + 1)) write_metadata(*written);
    // Flush, so that other nodes see the step as soon as it is committed.
    const bool flushes = config_.flushes_before_vote && space_.has_several_steps();
    if (syncs_steps() || flushes) queue_.run([file = file_] { file->sync(); });
    step_.end();
    if (!space_.has_several_steps()) {
        const bool begins_sync = durability() == Durability::close && !has_several_writers();
        queue_.run([file = file_, begins_sync, is_async = queue_.is_async()] {
            if (begins_sync && (is_async || file->size_bytes() <= kEarlySyncBytes)) file->begin_sync();
            file->close();
        });
        file_.reset();
    }
    if (staged_.is_staged() && !is_published()) {
        staged_.publish(pending_part_path(), part_path(), place_.directory, pending_group_path(), syncs_steps());
        state_ = State::published;
    }
    return written;
}

void Group::leave_scratch() {
    if (!role_.is_writer()) return;
    staged_.leave(tailrace::part_path(config_.layout, place_.stream, place_.start, role_.part, place_.segment),
                  group_path(config_.layout, place_.stream, place_.start, place_.segment));
}

void Group::publish(WriteQueue::Needs needs) {
    const bool sync = syncs_steps(), one_part = has_one_part(config_.layout);
    const std::string from = pending_group_path();
    const std::string to = path_of(group_path(config_.layout, place_.stream, place_.start, place_.segment));
    const std::string parts = path_of(parts_directory(place_.stream));
    auto rename = [=] {
        // A stream's directory that has vanished is not made anew: all earlier steps would be missing from it.
        if (parent_of(to).starts_with(parts + "/")) make_directories(parent_of(to), parts, sync);
        if (sync && !one_part) sync_directories(from);
        // A directory that has this name already was never committed: a run was killed before its journal line.
        one_part ? rename_path(from, to) : replace_directory(from, to);
        if (sync) sync_directory(parent_of(to));
    };
    queue_.run(std::move(rename), needs);
    state_ = State::published;
}

void Group::on_step_committed(uint64_t number, const Written& written) {
    committed_ = number + 1;
    if (shows_steps()) shown_.on_step_committed(file_, written.shown_by);
}

void Group::finish() {
    if (!space_.has_several_steps() || !role_.is_writer() || !has_steps()) return;
    const auto gone = attempt([&] { check_path(); });
    if (role_.is_first_writer() && !gone) shown_.show_last(file_, steps_, durability() != Durability::none);
    close_file();
    if (gone) throw *gone;
    if (const auto& error = shown_.error()) throw *error;
    if (staged_.is_staged()) leave_scratch();
}

void Group::close_file() {
    queue_.run([file = file_, sync = durability() != Durability::none] {
        if (sync) file->sync();
        file->close();
    });
}

void Group::discard() const noexcept {
    try {
        if (staged_.is_staged()) return role_.is_writer() ? remove_file(present_path()) : void();
        remove_tree(pending_group_path());
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
