// A group of steps that share their parts, as this rank sees it: its part's file while it is being written.
//
// A group is made under its pending name, appears by one rename when its first step is committed, and grows by blocks of steps.
// The file that readers see is whole at every moment: new metadata is written behind all that exists, then the superblock is
// replaced.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "gather/communicator.hpp"
#include "part/image.hpp"
#include "part/part_file.hpp"
#include "record/history.hpp"
#include "stream/part_content.hpp"

namespace tailrace {

class Group {
public:
    struct Place {
        std::string directory;  // of the stream's files
        std::string stream;
        uint64_t start = 0;
    };
    // The image of a part with one step is the same for every group with the same content: it is kept by the caller.
    using ImageCache = std::shared_ptr<const Image>;
    // What is known of a step on this rank when the queue has done what end_write() asked for.
    struct Written {
        uint64_t digest = 0;  // the sum of its seals' checksums
        // Refers to chunks of several writers: put_in_force() when all have written them, before the step is committed.
        std::shared_ptr<const Image> image;
    };

    // What it writes goes through the queue. `part_ranks`: those of this rank's part; null where it has only this one.
    Group(const Communicator& ranks, const Communicator* part_ranks, const StreamConfig& config, WriteQueue& queue, Place place,
          bool with_static);

    // Local. Makes the directories that this rank makes, and the file where it has several writers; another rank may use them
    // after the next agreement. `begun`: the pending group's own directory is there already.
    void prepare(bool begun) const;
    // Collective over the part's ranks, and only where a part of several writers grows: the first tells where the next steps are.
    // Errors are kept in `error`.
    void make_room(const PartContent& content, ImageCache& cache, std::optional<Error>& error);
    // Local. Goes on with the steps that an earlier run wrote into the part that is the dataset.
    // `committed` are those that are left of them, needed on the first writer.
    void reopen(const PartContent& content, const PartGrowth& growth, uint64_t steps, const std::vector<StepEntry>& committed);

    // Local. Writes what this rank has that needs no exchange; the step's arrays that do are added through `take`.
    // `may_come_first`: the rank that makes the directory may come later than this one, which makes it then.
    void begin_write(const PartContent& content, bool alone, bool may_come_first);
    void write_direct(const PartContent& content, const Definitions& definitions, const StepPlan& plan, const StepData& data,
                      double time);
    void take(const PartContent& content, size_t array, uint64_t element, uint64_t element_bytes, const std::byte* data,
              uint64_t bytes) {
        exchange_out_->add(array_address(content, array) + element * element_bytes, data, bytes);
    }
    void write_out() { exchange_out_->write_out(); }
    // Local. Where the chunks of the step go, on the part's first rank; and chunks that this writer writes.
    uint64_t end(const PartContent& content) const;
    void place_chunks(const PartContent& content, ChunkPlaces chunks);
    void take_run(uint64_t address, const std::byte* data, uint64_t bytes) {
        exchange_out_->add(address, data, bytes);
        exchange_out_->write_out();
    }
    // Seal, metadata and, at the end, the superblock.
    std::shared_ptr<const Written> end_write(const PartContent& content);
    // Forgets what was written of a step that failed.
    void abandon_write() noexcept;
    // Local. The step that was written last counts: the next one comes behind it.
    void accept_step() { ++steps_, grew_ = false; }

    // `last`: nothing else of the step follows, so it is on the device behind it where steps are to be.
    void put_in_force(const std::shared_ptr<const Image>& image, bool last);

    // Rank 0. The pending group gets its name, if it has none yet.
    void publish();
    // Local. A committed step of a group of several, which is the `number`-th of it from 0, gets its time value.
    void step_committed(const PartContent& content, uint64_t number, double time);
    // Local. Cuts the part to its steps, which are all committed, and closes it.
    void finish(const PartContent& content);
    void discard() const noexcept;  // rank 0: removes a group that was never published

    bool full() const { return steps_ == capacity(); }
    bool has_steps() const { return steps_ > 0; }
    bool published() const { return published_; }
    // All that were accepted are committed.
    bool settled() const { return committed_ == steps_; }
    uint64_t steps() const { return steps_; }
    uint64_t start() const { return place_.start; }
    bool with_static() const { return with_static_; }
    bool writes() const { return is_writer_; }
    uint64_t part_size_bytes() const { return image_ ? image_->file_bytes : 0; }
    bool is_first_writer() const { return first_writer_; }
    PartGrowth growth(const PartContent& content) const;
    std::string part_path() const;       // after it was published
    std::string present_path() const;    // before, too
    bool grew() const { return grew_; }  // since the last step was committed

private:
    Durability durability() const { return config_.layout.storage.durability; }
    bool sync_steps() const { return durability() == Durability::step; }
    bool several_writers() const { return part_ranks_ != nullptr && writers_ > 1; }
    bool several_steps() const { return config_.layout.steps != 1; }
    uint64_t capacity() const { return config_.layout.steps == Layout::kAllSteps ? UINT64_MAX : config_.layout.steps; }
    uint64_t laid_out() const;
    // Of all that readers may use; known on the first writer. Nothing that can fail: others wait for it.
    uint64_t end_of_metadata() const { return image_ ? image_->file_bytes : reopened_end_; }
    void take_back_chunks(const PartContent& content, uint64_t steps);
    void find_chunks(const PartContent& content);
    Image image_of(const PartContent& content, uint64_t metadata_address) const;
    uint64_t step_address_now(const PartContent& content) const { return step_address(content.placement, blocks_, steps_); }
    bool writes_static() const { return steps_ == 0 && !reopened_; }
    void lay_out_more(const PartContent& content);
    void write_times();
    uint64_t time_address(const PartContent& content, uint64_t step) const {
        return step_address(content.placement, blocks_, step) + content.placement.step_offsets().back();
    }
    std::string pending_part_path() const;
    std::string path_of(const std::string& relative) const { return place_.directory + "/" + relative; }
    uint64_t array_address(const PartContent& content, size_t array) const;
    void write_no_times(const PartContent& content);
    void close_part();
    void write_seals(const PartContent& content, const std::shared_ptr<Written>& written);

    const Communicator& ranks_;
    const Communicator* part_ranks_;
    const StreamConfig& config_;
    WriteQueue& queue_;
    Place place_;
    bool with_static_;
    uint64_t part_ = 0, writer_ = 0, writers_ = 1;
    bool is_writer_ = false, first_writer_ = false, reopened_ = false, grew_ = false, image_is_made_ = false,
         image_written_ = false, published_ = false;
    std::vector<std::pair<uint64_t, double>> untimed_;  // addresses and times of committed steps whose time is still to be written
    uint64_t steps_ = 0;                                // that were accepted
    uint64_t committed_ = 0;
    std::vector<StepBlock> blocks_;
    std::shared_ptr<const Image> image_;
    uint64_t reopened_end_ = 0;       // of what earlier runs wrote
    ChunkPlaces chunks_;              // of all steps, on the first writer; none where nothing is compressed
    std::shared_ptr<HeldFile> file_;  // opened through the queue; none: not asked for
    std::optional<PartWriter> static_out_, step_out_, exchange_out_;
    double time_ = 0;                             // of the step being written; the writers refer to it
    std::vector<std::vector<std::byte>> slices_;  // replicated values cut to this part, as the writers refer to them
};

// The groups that are there under their pending names: of steps that were never committed.
std::vector<std::string> pending_paths(const std::string& directory, const std::string& stream);

}  // namespace tailrace
