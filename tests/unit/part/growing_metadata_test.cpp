// The metadata of a part that grows: HDF5 reads exactly the steps of each version, and no version overwrites what readers of the
// last versions may be using.
#include "part/growing_metadata.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "part/hdf5.hpp"
#include "part/version_record.hpp"
#include "part_files.hpp"

namespace tailrace {
namespace {

using test::grid;
using test::values_of;

// A part that grows as PartSpace lets it grow.
class GrowingPart {
public:
    GrowingPart(const std::string& path, Description description)
        : description_(std::move(description)), placement_(part_bytes(description_, 0), Storage{}), file_(File::create(path)) {
        chunks_.resize(description_.arrays.size());
    }

    // Writes a step and publishes it.
    void add_step() {
        if (steps_ == laid_out()) lay_out();
        const uint64_t step = blocks_.back().address + (steps_ - blocks_.back().first_step) * placement_.step_pitch();
        uint64_t slot = 0;
        for (size_t a = 0; a < description_.arrays.size(); ++a) {
            const Array& array = description_.arrays[a];
            if (!array.varies) continue;
            const uint64_t elements = bytes_of(description_, array) / type_bytes(array.type);
            const auto values = values_of(array.type, a, steps_, 0, elements);
            file_.write_at(step + placement_.step_offsets()[slot++], values.data(), values.size());
        }
        publish(metadata_->version(content(), ++steps_));
    }

    void publish(const PartVersion& version) {
        for (const auto& write : version.writes) {
            const Extent extent{write.address, write.bytes.size()};
            for (const Extent& used : in_use())
                EXPECT_TRUE(extent.address + extent.bytes <= used.address || used.address + used.bytes <= extent.address)
                    << "version " << version.steps << " overwrites bytes at " << extent.address;
            EXPECT_GE(extent.address, kSuperblockBytes);
            for (const StepBlock& block : blocks_)
                EXPECT_TRUE(extent.address + extent.bytes <= block.address || block_end(placement_, block) <= extent.address);
            file_.write_at(write.address, write.bytes.data(), write.bytes.size());
        }
        if (file_.size_bytes() < version.file_bytes) file_.set_size(version.file_bytes);
        const RecordBytes record = record_of(version);
        file_.write_at(record.address, record.bytes.data(), record.bytes.size());
        file_.write_at(0, version.superblock.data(), version.superblock.size());
        heads_.push_back({version.writes.back().address, version.writes.back().bytes.size()});
        for (size_t w = 0; w + 1 < version.writes.size(); ++w)
            nodes_.push_back({version.writes[w].address, version.writes[w].bytes.size()});
    }

    void finish() {
        uint64_t address = metadata_->end();
        if (address <= block_end(placement_, blocks_.back())) {
            blocks_.back().steps = steps_ - blocks_.back().first_step;
            address = block_end(placement_, blocks_.back());
        }
        const PartVersion last = metadata_->last_version(content(), steps_, address);
        publish(last);
        file_.set_size(last.file_bytes);
    }

    void forget() {
        metadata_->forget();
        heads_.clear();
        nodes_.clear();
        metadata_->set_content(content(), std::nullopt);
    }

    uint64_t steps() const { return steps_; }
    const File& file() const { return file_; }
    uint64_t data_bytes() const { return steps_ * placement_.step_pitch(); }

private:
    GrowingMetadata::Content content() const { return {description_, placement_, blocks_, chunks_}; }
    uint64_t laid_out() const { return blocks_.empty() ? 0 : blocks_.back().first_step + blocks_.back().steps; }

    void lay_out() {
        const uint64_t before = laid_out(), steps = std::clamp<uint64_t>(before, 1, 1024);
        if (!metadata_) {
            blocks_.push_back({0, 1, placement_.static_end()});
            metadata_.emplace(block_end(placement_, blocks_.back()), 0);
            metadata_->set_content(content(), std::nullopt);
            return;
        }
        const uint64_t end = metadata_->end();
        const uint64_t room = metadata_->room_bytes(before, steps, steps * placement_.step_pitch());
        blocks_.push_back({before, steps, placement_.align(end + room, placement_.step_pitch())});
        metadata_->set_content(content(), Extent{end, blocks_.back().address - end});
    }

    // The heads of the last four versions, and all nodes of trees.
    std::vector<Extent> in_use() const {
        std::vector<Extent> used = nodes_;
        used.insert(used.end(), heads_.end() - static_cast<long>(std::min<size_t>(heads_.size(), 3)), heads_.end());
        return used;
    }

    Description description_;
    Placement placement_;
    File file_;
    std::vector<StepBlock> blocks_;
    ChunkPlaces chunks_;
    std::optional<GrowingMetadata> metadata_;
    std::vector<Extent> heads_, nodes_;
    uint64_t steps_ = 0;
};

Description with_arrays() {
    Description d = grid(3, 5, true);
    d.arrays.push_back({"T", Type::F32, {0, 1}, true, {text_attribute("units", "K")}, {}, {}});
    d.arrays.push_back({"count", Type::I16, {}, true, {}, {}, {}});
    return d;
}

// Opens the file as any program would, and compares the lengths and the values of the last steps (of all steps with `all`).
void expect_steps(const std::string& path, const Description& description, uint64_t steps, bool all) {
    const hdf5::FileId file = hdf5::open_file(path);
    for (size_t a = 0; a < description.arrays.size(); ++a) {
        const Array& array = description.arrays[a];
        const hdf5::Dataset dataset(hdf5::check(H5Dopen2(file, array.name.c_str(), H5P_DEFAULT), "H5Dopen2", array.name));
        const hdf5::Space space(hdf5::check(H5Dget_space(dataset), "H5Dget_space", array.name));
        hsize_t lengths[8] = {}, most[8] = {};
        const int dims = H5Sget_simple_extent_dims(space, lengths, most);
        ASSERT_EQ(lengths[0], steps) << array.name;
        ASSERT_EQ(most[0], H5S_UNLIMITED) << array.name;
        const uint64_t step_bytes = bytes_of(description, array), elements = step_bytes / type_bytes(array.type);
        for (uint64_t s = all ? 0 : steps - std::min<uint64_t>(steps, 2); s < steps; ++s) {
            std::vector<std::byte> found(step_bytes);
            hsize_t begin[8] = {s}, count[8] = {1};
            for (int d = 1; d < dims; ++d) count[d] = lengths[d];
            hdf5::check(H5Sselect_hyperslab(space, H5S_SELECT_SET, begin, nullptr, count, nullptr), "H5Sselect_hyperslab",
                        array.name);
            const hsize_t length = elements;
            const hdf5::Space memory(hdf5::check(H5Screate_simple(1, &length, nullptr), "H5Screate_simple", array.name));
            const hdf5::TypeId type(hdf5::check(H5Dget_type(dataset), "H5Dget_type", array.name));
            hdf5::check(H5Dread(dataset, type, memory, space, H5P_DEFAULT, found.data()), "H5Dread", array.name);
            ASSERT_EQ(found, values_of(array.type, a, s, 0, elements)) << array.name << " step " << s;
        }
    }
}

TEST(GrowingMetadata, each_version_shows_its_steps) {
    const Description description = with_arrays();
    GrowingPart part("grows.nc", description);
    for (uint64_t steps = 1; steps <= 300; ++steps) {
        part.add_step();
        expect_steps("grows.nc", description, steps, steps % 50 == 0);
        if (HasFatalFailure()) return;
    }
    part.finish();
    expect_steps("grows.nc", description, 300, true);
}

// Four levels of nodes where a node has 8 children; with 64 the root has one more level at 4,097 steps.
TEST(GrowingMetadata, trees_have_several_levels) {
    const Description description = with_arrays();
    GrowingPart part("deep.nc", description);
    for (uint64_t steps = 1; steps <= 4200; ++steps) part.add_step();
    expect_steps("deep.nc", description, 4200, true);
    part.finish();
    expect_steps("deep.nc", description, 4200, true);
}

TEST(GrowingMetadata, after_a_failed_step_all_is_made_anew) {
    const Description description = with_arrays();
    GrowingPart part("failed.nc", description);
    for (int k = 0; k < 130; ++k) {
        part.add_step();
        if (k % 40 == 7) part.forget();
    }
    expect_steps("failed.nc", description, 130, true);
    part.finish();
    expect_steps("failed.nc", description, 130, true);
}

TEST(GrowingMetadata, a_part_is_current_behind_or_changed) {
    const Description description = with_arrays();
    GrowingPart part("records.nc", description);
    for (int k = 0; k < 3; ++k) part.add_step();
    std::vector<std::byte> before(48);
    part.file().read_at(0, before.data(), before.size());
    part.add_step();
    File file = File::open_write("records.nc");
    EXPECT_EQ(state_of_part(file, 4), PartState::current);
    EXPECT_EQ(state_of_part(file, 3), PartState::current);
    EXPECT_EQ(state_of_part(file, 5), PartState::changed) << "no record of five steps";
    file.write_at(0, before.data(), before.size());  // as a kill leaves it
    EXPECT_EQ(state_of_part(file, 4), PartState::outdated);
    expect_steps("records.nc", description, 3, true);
    EXPECT_TRUE(bring_up(file, 4));
    EXPECT_FALSE(bring_up(file, 4));
    expect_steps("records.nc", description, 4, true);
    const std::byte changed{1};
    file.write_at(20, &changed, 1);
    EXPECT_EQ(state_of_part(file, 4), PartState::changed);
}

}  // namespace
}  // namespace tailrace
