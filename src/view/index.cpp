#include "view/index.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/paths.hpp"
#include "gather/agree.hpp"
#include "layout/open_files.hpp"
#include "layout/parts.hpp"
#include "part/image.hpp"
#include "part/part_reader.hpp"
#include "view/dataset.hpp"
#include "view/step_boxes.hpp"
#include "view/subindex_sources.hpp"
#include "view/subindexes.hpp"

namespace tailrace {
namespace {

constexpr const char* kIndexAttribute = "tailrace_index";
constexpr const char* kOpenFilesAttribute = "tailrace_open_files";

std::string where_parts_are(const std::string& stream) {
    return "virtual datasets over the parts in " + parts_directory(stream) + "/";
}

// A file of the index: the places of the arrays that it stores itself, and its metadata.
struct IndexFile {
    IndexFile(const Description& description, uint64_t steps)
        : placement(part_bytes(description, 0), {}), block{0, steps, placement.static_end()},
          image(make_image(description, placement, {block}, steps, block_end(placement, block))) {}
    Placement placement;
    StepBlock block;
    Image image;
};

// Describes NAME.nc, which shows the first `shown` steps.
Description describe_index(const History& history, const std::string& stream, size_t shown,
                           const std::vector<Subindex>& subindexes) {
    Description description = describe_steps(history, stream, 0, shown, subindexes);
    description.time_unlimited = !description.time_name.empty();
    description.attributes.push_back(text_attribute(
        kIndexAttribute, where_parts_are(stream) + "; keep both together; 'tailrace verify' checks that all parts are there"));
    if (const std::string note = note_of_open_files(history, stream); !note.empty())
        description.attributes.push_back(text_attribute(kOpenFilesAttribute, note));
    return description;
}

// Writes an index file under a temporary name, in the directory of the parts, where no other program has files.
class IndexWriter {
public:
    IndexWriter(const std::string& directory, const std::string& stream, bool sync, uint64_t run)
        : directory_(directory), temporary_(directory + "/" + pending_index_path(stream, run)), sync_(sync) {}

    // `write_arrays` writes the arrays that are not virtual; it gets the file, their places, the placement and the block of steps.
    template <class WriteArrays>
    void write(const std::string& path, const Description& description, uint64_t steps, WriteArrays&& write_arrays) const {
        const IndexFile file(description, steps);
        try {
            File out = File::create(temporary_);
            write_arrays(out, places_of(description, file.placement), file.placement, file.block);
            put_in_force(out, file.image);
            if (sync_) out.sync();
            out.close();
            rename_path(temporary_, directory_ + "/" + path);
        } catch (const Error&) {
            attempt([&] { remove_file(temporary_); });  // gives a full device room again
            throw;
        }
    }

private:
    const std::string& directory_;
    const std::string temporary_;
    const bool sync_;
};

void write_subindex(const IndexWriter& writer, const std::string& stream, const History& history, const Subindex& subindex) {
    const Description description = describe_subindex(history, stream, subindex);
    std::vector<double> times(subindex.length, std::numeric_limits<double>::quiet_NaN());
    for (size_t i = subindex.from; i < subindex.to; ++i) times[history.steps[i].step - subindex.start] = history.steps[i].time;
    writer.write(subindex.path, description, subindex.length,
                 [&](File& out, const auto& places, const Placement& placement, const StepBlock& block) {
                     for (size_t k = 0; k < times.size(); ++k)
                         out.write_at(block.address + k * placement.step_pitch() + places.back(), &times[k], sizeof times[k]);
                 });
}

// Removes all subindexes except `but`.
void remove_subindexes(const std::string& directory, const std::string& stream, const std::vector<Subindex>& but = {}) {
    const std::string subindexes = subindexes_directory(stream);
    if (!path_exists(directory + "/" + subindexes)) return;
    for (const std::string& name : list_directory(directory + "/" + subindexes))
        if (std::ranges::find(but, subindexes + "/" + name, &Subindex::path) == but.end())
            remove_file(directory + "/" + subindexes + "/" + name);
    if (but.empty()) remove_directory_if_empty(directory + "/" + subindexes);
}

// Writes the subindexes that are missing, or that show steps from `unchanged_below` on.
void write_subindexes(const IndexWriter& writer, const std::string& directory, const std::string& stream, const History& history,
                      const std::vector<Subindex>& subindexes, uint64_t unchanged_below, bool sync) {
    if (subindexes.empty()) return;
    const std::string at = directory + "/" + subindexes_directory(stream);
    bool some_changed = false;
    for (const Subindex& subindex : subindexes) {
        const uint64_t end = subindex.is_static ? subindex.start + 1 : subindex.start + subindex.length;
        if (end <= unchanged_below && path_exists(directory + "/" + subindex.path)) continue;
        if (!some_changed) make_directories(at, directory);
        some_changed = true;
        write_subindex(writer, stream, history, subindex);
    }
    if (sync && some_changed) sync_directory(at);
}

// Whether the name is NAME.SSSSSS.nc. Such a file may also belong to another stream, or not be an index.
bool is_numbered(const std::string& name, const std::string& stream) {
    if (name.size() <= stream.size() + 4 || !name.starts_with(stream + ".") || !name.ends_with(".nc")) return false;
    const std::string number = name.substr(stream.size() + 1, name.size() - stream.size() - 4);
    return number.size() >= 6 && std::all_of(number.begin(), number.end(), [](unsigned char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool is_index(const std::string& path, const std::string& stream) {
    const auto found = root_text(path, kIndexAttribute);
    return found && found->starts_with(where_parts_are(stream));
}

void check_index_path(const std::string& directory, const std::string& stream) {
    const std::string path = directory + "/" + dataset_path(stream), parts = directory + "/" + parts_directory(stream);
    const auto can_be_ours = [&] { return path_exists(parts); };  // a run makes the folder of the parts first
    // Look again: a run that has just begun may have made both, and not yet written a whole file.
    if (!can_be_ours() && path_exists(path) && !is_index(path, stream) && !can_be_ours())
        fail(Status::BAD_ARGUMENT, path, " exists and is not an index of stream '", stream, "', which needs that name; ",
             "move the file elsewhere, or give the stream another name");
}

bool has_index(const History& history) {
    if (history.empty()) return history.is_static_only();
    return !history.groups.back().layout.part_is_dataset();
}

std::vector<std::string> index_files(const History& history, const std::string& stream) {
    std::vector<std::string> files;
    for (const Subindex& subindex : subindexes_of(history, stream)) files.push_back(subindex.path);
    files.push_back(dataset_path(stream));
    return files;
}

std::string note_of_open_files(const History& history, const std::string& stream) {
    if (history.empty() || !has_index(history)) return "";
    const GroupEntry& last = history.groups[history.steps.back().group];
    return note_of_open_files(last.layout, last.parts, shown_parts(history) + subindexes_of(history, stream).size() + 1);
}

std::vector<std::string> index_paths(const std::string& directory, const std::string& stream) {
    std::vector<std::string> paths;
    for (const std::string& entry : list_directory(directory)) {
        const std::string path = directory + "/" + entry;
        if (entry == dataset_path(stream) || (is_numbered(entry, stream) && is_index(path, stream))) paths.push_back(path);
    }
    return paths;
}

void write_index(const std::string& directory, const std::string& stream, const History& journaled, const IndexedSteps& steps,
                 bool sync, uint64_t run) {
    const std::optional<History> completed = with_boxes_of_parts(directory, stream, journaled);
    const History& history = completed ? *completed : journaled;
    const size_t shown = std::min(steps.shown, history.steps.size());
    if (shown == 0 && !history.is_static_only()) return remove_index(directory, stream);  // no step is left
    const std::vector<Subindex> subindexes = subindexes_of(history, stream, shown);
    const IndexWriter writer(directory, stream, sync, run);
    write_subindexes(writer, directory, stream, history, subindexes, steps.unchanged_below, sync);
    const Description description = describe_index(history, stream, shown, subindexes);
    writer.write(dataset_path(stream), description, shown,
                 [&](File& out, const auto& places, const Placement& placement, const StepBlock& block) {
                     write_arrays_without_sources(out, description, places, placement, block, history, 0);
                 });
    // Removes these files only now: the older NAME.nc showed them.
    for (const std::string& path : index_paths(directory, stream))
        if (path != directory + "/" + dataset_path(stream)) remove_file(path);
    remove_subindexes(directory, stream, subindexes);
}

IndexSize index_size(const History& history, const std::string& stream) {
    const std::vector<Subindex> subindexes = subindexes_of(history, stream);
    const uint64_t shown = history.steps.size();
    IndexSize size{1 + subindexes.size(), IndexFile(describe_index(history, stream, shown, subindexes), shown).image.file_bytes};
    for (const Subindex& subindex : subindexes)
        size.bytes += IndexFile(describe_subindex(history, stream, subindex), subindex.length).image.file_bytes;
    return size;
}

void remove_index(const std::string& directory, const std::string& stream) {
    for (const std::string& path : index_paths(directory, stream)) remove_file(path);
    remove_subindexes(directory, stream);
}

void show_journal(const std::string& directory, const std::string& stream, uint64_t run, bool sync) {
    const std::string journal = directory + "/" + journal_path(stream);
    // Repeats if another run has shown newer steps since the journal was read.
    constexpr int kMostTimes = 100;
    for (int times = 0; times < kMostTimes; ++times) {
        const SegmentChain chain = find_segments(journal);
        const SegmentLines lines = read_segments(chain);
        const History history = history_of(lines, journal);
        if (has_index(history))
            write_index(directory, stream, history, {}, sync, run);
        else if (!history.empty())
            show_dataset(directory, stream, history.groups.back(), run);
        else
            return;
        const SegmentChain later = find_segments(journal);
        if (later.next_number == chain.next_number && read_journal(later.segments.back().path).intact_bytes == lines.bytes) return;
    }
}

void show_dataset(const std::string& directory, const std::string& stream, const GroupEntry& group, uint64_t run) {
    if (group.segment == 0) return;
    const std::string part = directory + "/" + part_path(group, stream, 0);
    const std::string dataset = directory + "/" + dataset_path(stream);
    if (!is_same_file(part, dataset)) link_in_place(part, dataset, directory + "/" + pending_index_path(stream, run));
}

}  // namespace tailrace
