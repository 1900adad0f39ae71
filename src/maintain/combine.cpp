#include "maintain/combine.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>

#include "base/checksum.hpp"
#include "base/clock.hpp"
#include "base/copy.hpp"
#include "base/workers.hpp"
#include "layout/parts.hpp"
#include "layout/share.hpp"
#include "part/image.hpp"
#include "part/part_reader.hpp"
#include "view/catalog.hpp"
#include "view/dataset.hpp"
#include "view/index.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kPieceBytes = 8u << 20;
constexpr unsigned kMostThreads = 8;
constexpr size_t kMostFiles = 16;  // of an array without steps, held open by each piece that waits
constexpr double kNoteS = 0.5;     // from one note of what is done to the next: what a kill may cost
constexpr double kSyncS = 60;      // and with all data on the device: what a crash of the machine may cost

// Of one array at one step: a box of it in a file.
struct Stored {
    StoredArray array;
    Box to;
};

// Sources of an array that are copied together, and the rows of its first dimension that they are in.
struct Batch {
    size_t first = 0, last = 0;
    uint64_t begin_row = 0, end_row = UINT64_MAX;
};

// What a thread works with, used again from piece to piece.
struct Tools {
    std::vector<std::byte> buffer, packed;
    Codec codec;
};

// How many elements of a box are there.
uint64_t elements_of(const std::vector<Stored>& stored, const Box& wanted) {
    uint64_t found = 0;
    for (const Stored& box : stored) found += intersection(box.to, wanted).elements();
    return found;
}

Extents without_first(const Extents& extents) { return {extents.begin() + 1, extents.end()}; }
Box without_time(const Box& box) { return {without_first(box.offset), without_first(box.count)}; }

// The array as boxes of at most so many bytes, each of which is one run of bytes of it.
std::vector<Box> slabs_of(const Extents& shape, uint64_t element_bytes, uint64_t most_bytes) {
    if (shape.empty()) return {Box{}};
    if (volume(shape) == 0) return {};
    size_t cut = 0;  // the dimension that is cut; those before it are gone through one by one
    uint64_t row_bytes = volume(shape) / shape[0] * element_bytes;
    while (row_bytes > most_bytes && cut + 1 < shape.size()) row_bytes /= shape[++cut];
    const uint64_t rows = std::max<uint64_t>(most_bytes / row_bytes, 1);
    Box slab = whole_box(shape);
    for (size_t d = 0; d < cut; ++d) slab.count[d] = 1;
    std::vector<Box> slabs;
    for (;;) {
        for (uint64_t row = 0; row < shape[cut]; row += rows) {
            slab.offset[cut] = row;
            slab.count[cut] = std::min(rows, shape[cut] - row);
            slabs.push_back(slab);
        }
        size_t d = cut;
        while (d > 0 && ++slab.offset[d - 1] == shape[d - 1]) slab.offset[--d] = 0;
        if (d == 0) return slabs;
    }
}

class Combiner {
public:
    Combiner(const std::string& directory, const std::string& stream, const std::string& output, const CombineOptions& options)
        : directory_(directory), stream_(stream), output_(output), options_(options),
          history_(read_history(directory + "/" + journal_path(stream))) {
        if (history_.empty()) fail(Status::NOT_FOUND, "stream '", stream, "' in ", directory, " has no committed step");
        check_output();
        described_ = describe_steps(history_, stream_, 0, history_.steps.size());
        plain_ = described_;
        plain_.time_unlimited = true;
        for (Array& array : plain_.arrays) array.sources = {};
        for (size_t a = 0; a < plain_.arrays.size(); ++a) choose_packing(a);
        placement_ = Placement(part_bytes(plain_, 0), {});
        block_ = {0, history_.steps.size(), placement_.static_end()};
        places_ = places_of(plain_, placement_);
        chunks_.resize(plain_.arrays.size());
        image_ = make_image(plain_, placement_, {block_}, block_.steps, block_end(placement_, block_), chunks_);
        end_ = block_end(placement_, block_);
        all_bytes_ = bytes_of_steps(block_.steps);
    }

    Json run() {
        const uint64_t resumed = begin();
        {
            const size_t threads =
                options_.threads > 0 ? options_.threads : std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads);
            tools_.resize(threads);
            Workers workers(threads, 2 * threads);
            try {
                copy_all(workers);
            } catch (const Error& error) {
                if (error.status() == Status::STOPPED && done_ > 0) {
                    workers.wait();
                    note(done_, false);
                }
                throw;
            }
        }
        finish();
        return {{"stream", stream_},       {"output", output_},   {"steps", block_.steps},
                {"steps_before", resumed}, {"bytes", all_bytes_}, {"file_bytes", image_.file_bytes}};
    }

private:
    void check_output() const {
        namespace fs = std::filesystem;
        const fs::path wanted = fs::weakly_canonical(output_);
        const fs::path parts = fs::weakly_canonical(directory_ + "/" + parts_directory(stream_));
        bool own = wanted == fs::weakly_canonical(directory_ + "/" + dataset_path(stream_)) ||
                   std::mismatch(parts.begin(), parts.end(), wanted.begin(), wanted.end()).first == parts.end();
        for (const std::string& index : index_paths(directory_, stream_)) own = own || wanted == fs::weakly_canonical(index);
        if (own) fail(Status::BAD_ARGUMENT, output_, " belongs to the stream itself; choose another output");
        if (!options_.replace && path_exists(output_))
            fail(Status::BAD_ARGUMENT, output_, " is there already; choose another output, or let it be replaced");
    }

    // What the last run compressed is compressed in the output, too: in the chunks of the parts, if those of the first step make up
    // chunks of the whole.
    void choose_packing(size_t a) {
        Array& array = plain_.arrays[a];
        const Storage& storage = history_.runs.back().config.layout.storage;
        const uint64_t element_bytes = type_bytes(array.type);
        const Extents extents = extents_of(plain_, array, 1);
        if (!described_.arrays[a].is_virtual() || !array.varies) return;
        const Extents shape = without_first(extents);
        if (!is_compressed(storage, shape, element_bytes)) return;
        array.packing = {ChunkGrid(shape, element_bytes, storage.chunk_bytes), filters_of(storage, array.type)};
        std::optional<ChunkGrid> common;
        for (const Stored& stored : find_stored(a, 0, all_sources(a))) {
            if (!stored.array.packing) return;
            const Extents& chunk = stored.array.packing->grid.chunk();
            if (!common) common = ChunkGrid::of(shape, chunk);
            if (!common || common->chunk() != chunk) return;
            for (size_t d = 0; d < chunk.size(); ++d) {
                const uint64_t begin = stored.to.offset[d], end = begin + stored.to.count[d];
                if (begin % chunk[d] != 0 || (end % chunk[d] != 0 && end != shape[d])) return;
            }
        }
        if (common) array.packing->grid = *common;
    }

    // What the output is made of, in a number: another dataset has another.
    std::string identity() const {
        Checksum sum;
        sum.add(image_.metadata.data(), image_.metadata.size());
        const std::string journal = File::open_read(directory_ + "/" + journal_path(stream_)).read_all();
        sum.add(journal.data(), journal.size());
        for (const GroupEntry& group : history_.groups) sum.add(group.digest.data(), group.digest.size());
        for (const StepEntry& step : history_.steps) sum.add(&step.step, sizeof step.step);
        return hex_digest(sum.value());
    }

    // The number of steps that an earlier call has done.
    uint64_t begin() {
        const std::string mine = identity();
        lock_ = File::open_append(record_path());
        if (!lock_.try_lock())
            fail(Status::BAD_ORDER, "another process is combining to ", output_, "; let it end, or choose another output");
        check_output();  // it may have ended meanwhile
        if (path_exists(temporary())) {
            const std::vector<Json> lines = read_journal(record_path()).lines;
            if (!lines.empty() && lines.front().value("combining", "") == mine) {
                out_ = File::open_write(temporary());
                const std::string here = boot();
                size_t known = 0;
                for (size_t i = 0; i < lines.size(); ++i)
                    if (lines[i].value("synced", false) || (!here.empty() && lines[i].value("boot", "") == here)) known = i;
                for (size_t i = 1; i <= known; ++i) take_note(lines[i]);
                if (done_ > 0) done_bytes_ = bytes_of_steps(done_);
                return done_;
            }
        }
        lock_.set_size(0);
        out_ = File::create(temporary());
        Journal(record_path()).append({{"combining", mine}, {"stream", stream_}, {"steps", block_.steps}}, false);
        out_.reserve(0, block_end(placement_, block_));
        return 0;
    }

    // What is copied of so many steps, with the arrays that do not vary.
    uint64_t bytes_of_steps(uint64_t steps) const {
        uint64_t bytes = 0;
        for (size_t a = 0; a < plain_.arrays.size(); ++a)
            if (described_.arrays[a].is_virtual())
                bytes += bytes_of(plain_, plain_.arrays[a]) * (plain_.arrays[a].varies ? steps : 1);
        return bytes;
    }

    // Bytes that this system has written are there as long as it runs; after it has crashed, those that were synced.
    static std::string boot() {
        std::string id(36, '\0');
        const auto error = attempt([&] { File::open_read("/proc/sys/kernel/random/boot_id").read_at(0, id.data(), id.size()); });
        return error ? "" : id;  // nothing is known of this system: only what was synced counts
    }

    void note(uint64_t steps, bool sync) {
        if (sync) out_.sync();
        Json line = {{"steps_done", steps}, {"synced", sync}, {"boot", boot()}};
        if (std::ranges::any_of(plain_.arrays, [](const Array& array) { return array.packing.has_value(); })) {
            line["end"] = end_.load();
            line["from"] = noted_;
            line["chunks"] = chunks_since_note(steps);
        }
        noted_ = steps;
        Journal(record_path()).append(line, sync);
    }

    // Of each array: addresses and sizes in turns.
    Json chunks_since_note(uint64_t steps) const {
        Json chunks = Json::array();
        for (size_t a = 0; a < chunks_.size(); ++a) {
            std::vector<uint64_t> words;
            const uint64_t a_step = plain_.arrays[a].packing ? plain_.arrays[a].packing->grid.count() : 0;
            for (uint64_t c = noted_ * a_step; c < steps * a_step; ++c)
                words.insert(words.end(), {chunks_[a][c].address, chunks_[a][c].bytes});
            chunks.push_back(words);
        }
        return chunks;
    }

    void take_note(const Json& line) {
        const uint64_t from = line.value("from", noted_);
        done_ = noted_ = line.at("steps_done").get<uint64_t>();
        if (!line.contains("chunks")) return;  // nothing is compressed
        end_ = line.at("end").get<uint64_t>();
        for (size_t a = 0; a < chunks_.size(); ++a) {
            // Notes of before a crash of the machine that did not count stand between those that do.
            const uint64_t before = plain_.arrays[a].packing ? from * plain_.arrays[a].packing->grid.count() : 0;
            if (chunks_[a].size() < before)
                fail(Status::CORRUPT, record_path(), ": notes are missing; remove it, and the output is made anew");
            chunks_[a].resize(before);
            const auto words = line.at("chunks").at(a).get<std::vector<uint64_t>>();
            for (size_t i = 0; i + 1 < words.size(); i += 2) chunks_[a].push_back({words[i], words[i + 1]});
        }
    }

    void copy_all(Workers& workers) {
        if (done_ == 0) copy_step(workers, std::nullopt);
        Stopwatch watch;
        for (double since_note = 0, since_sync = 0; done_ < block_.steps; ++done_) {
            copy_step(workers, done_);
            const double took = watch.lap();
            since_note += took, since_sync += took;
            if (since_note < kNoteS) continue;
            workers.wait();
            note(done_ + 1, since_sync >= kSyncS);
            if (since_sync >= kSyncS) since_sync = 0;
            since_note = 0;
        }
        workers.wait();
    }

    void finish() {
        write_known(out_, described_, places_, placement_, block_, history_, 0);
        image_ = make_image(plain_, placement_, {block_}, block_.steps, placement_.align(end_, 0), chunks_);
        put_in_force(out_, image_);
        if (options_.sync) out_.sync();
        out_.close();
        rename_path(temporary(), output_);
        remove_file(record_path());
        if (options_.sync) sync_directory(std::filesystem::absolute(output_).parent_path());
    }

    // The arrays of a step, or those that do not vary.
    void copy_step(Workers& workers, std::optional<uint64_t> step) {
        for (size_t a = 0; a < plain_.arrays.size(); ++a) {
            const Array& array = plain_.arrays[a];
            if (!described_.arrays[a].is_virtual() || array.varies != step.has_value()) continue;
            if (array.packing) {
                copy_chunks(workers, a, *step, std::make_shared<const std::vector<Stored>>(find_stored(a, step, all_sources(a))));
                continue;
            }
            const Extents shape = step ? without_first(extents_of(plain_, array, 1)) : extents_of(plain_, array, 1);
            for (const Batch& batch : step ? std::vector{all_sources(a)} : batches_of(a, shape))
                copy_slabs(workers, a, step, shape, batch);
        }
    }

    void copy_slabs(Workers& workers, size_t a, std::optional<uint64_t> step, const Extents& shape, const Batch& batch) {
        const Array& array = plain_.arrays[a];
        const auto stored = std::make_shared<const std::vector<Stored>>(find_stored(a, step, batch));
        const uint64_t element_bytes = type_bytes(array.type);
        const uint64_t address = places_[a] + (step ? block_.address + *step * placement_.step_pitch() : 0);
        Extents rows = shape;
        if (!shape.empty()) rows[0] = std::min(shape[0], batch.end_row) - batch.begin_row;
        for (Box& slab : slabs_of(rows, element_bytes, kPieceBytes)) {
            if (!shape.empty()) slab.offset[0] += batch.begin_row;
            const uint64_t to = address + Runs(shape, slab).begin(0) * element_bytes;
            workers.ask([this, &array, stored, to, slab = std::move(slab)](size_t thread) {
                copy_slab(array, *stored, slab, to, tools_[thread].buffer);
            });
            tell();
        }
    }

    Batch all_sources(size_t a) const { return {0, described_.arrays[a].sources.size()}; }

    // An array without steps may be in all parts, such as one over a ragged dimension: its sources hold their files open.
    std::vector<Batch> batches_of(size_t a, const Extents& shape) const {
        const std::span<const Source> sources = described_.arrays[a].sources;
        if (shape.empty() || sources.size() <= kMostFiles) return {all_sources(a)};
        std::vector<uint64_t> least(sources.size() + 1, shape[0]);  // row of the sources from each on
        for (size_t i = sources.size(); i-- > 0;) least[i] = std::min(least[i + 1], sources[i].to.offset[0]);
        std::vector<Batch> batches(1);
        uint64_t end_row = 0;
        for (size_t i = 0; i < sources.size(); ++i) {
            if (i - batches.back().first >= kMostFiles && least[i] >= end_row) {
                batches.back().last = i;
                batches.back().end_row = least[i];
                batches.push_back({i, i, least[i]});
            }
            end_row = std::max(end_row, sources[i].to.offset[0] + sources[i].to.count[0]);
        }
        batches.back().last = sources.size();
        return batches;
    }

    void copy_chunks(Workers& workers, size_t a, uint64_t step, const std::shared_ptr<const std::vector<Stored>>& stored) {
        const uint64_t count = plain_.arrays[a].packing->grid.count();
        chunks_[a].resize((step + 1) * count);
        // Threads fill what is there already; it is not moved until all are ready.
        chunks_[a].reserve(block_.steps * count);
        for (uint64_t c = 0; c < count; ++c) {
            workers.ask([this, a, c, stored, place = chunks_[a].data() + step * count + c](size_t thread) {
                *place = copy_chunk(a, c, *stored, tools_[thread]);
            });
            tell();
        }
    }

    Extent copy_chunk(size_t a, uint64_t chunk, const std::vector<Stored>& stored, Tools& tools) {
        const Array& array = plain_.arrays[a];
        const Packing& packing = *array.packing;
        const Box box = packing.grid.box(chunk);
        const uint64_t bytes = box.elements() * type_bytes(array.type);
        std::vector<std::byte>&buffer = tools.buffer, &packed = tools.packed;
        packed.clear();
        if (const auto same = find_same(packing, box, stored)) {
            packed.resize(same->second.bytes);
            same->first->read_settled_at(same->second.address, packed.data(), packed.size());
        } else {
            const uint64_t whole = packing.grid.whole() * type_bytes(array.type);
            if (buffer.size() < whole) buffer.resize(whole);
            fill_box(described_.arrays[a], stored, box, {buffer.data(), bytes});
            std::fill(buffer.begin() + static_cast<long>(bytes), buffer.begin() + static_cast<long>(whole), std::byte{});
            tools.codec.encode(packing.filters, {buffer.data(), whole}, packed);
        }
        const Extent place{end_.fetch_add(packed.size()), packed.size()};
        out_.write_at(place.address, packed.data(), packed.size());
        done_bytes_ += bytes;
        return place;
    }

    // The chunk of a part that has the same elements, stored in the same way.
    static std::optional<std::pair<const File*, Extent>> find_same(const Packing& packing, const Box& box,
                                                                   const std::vector<Stored>& stored) {
        for (const Stored& part : stored) {
            const Box common = intersection(part.to, box);
            if (common.elements() == 0) continue;
            const StoredArray& array = part.array;
            if (common != box || !array.packing || array.packing->filters != packing.filters ||
                array.packing->grid.chunk() != packing.grid.chunk())
                return std::nullopt;
            const Box there = within(part.to, box);
            const uint64_t chunk = array.packing->grid.at(Runs(array.shape, there).begin(0));
            if (array.packing->grid.box(chunk) != there) return std::nullopt;
            return std::pair(array.file.get(), array.chunks.at(chunk - array.first_chunk));
        }
        return std::nullopt;
    }

    void tell() {
        if (options_.progress && !options_.progress(done_bytes_, all_bytes_))
            fail(Status::STOPPED, "stopped after ", done_, " of ", block_.steps, " steps; what is done is kept in ", temporary(),
                 " for the next time");
    }

    std::vector<Stored> find_stored(size_t a, std::optional<uint64_t> step, const Batch& batch) {
        std::vector<Stored> found;
        const Array& array = described_.arrays[a];
        for (size_t i = batch.first; i < batch.last; ++i) {
            const Source& source = array.sources.begin()[i];
            if (!source.shows_elements()) continue;
            if (step && (*step < source.to.offset[0] || *step - source.to.offset[0] >= source.to.count[0])) continue;
            const bool in_steps = source.from.count.size() > array.dims.size();
            const uint64_t in_part = in_steps ? source.from.offset[0] + (step ? *step - source.to.offset[0] : 0) : 0;
            PartReader& reader = parts_.open(text(directory_, "/", source.file));
            const Extents shape = in_steps ? without_first(source.from.count) : source.from.count;
            found.push_back({reader.find({array.name + source.suffix, array.type, shape, in_steps}, in_part),
                             step ? without_time(source.to) : source.to});
        }
        return found;
    }

    void copy_slab(const Array& array, const std::vector<Stored>& stored, const Box& slab, uint64_t to,
                   std::vector<std::byte>& buffer) {
        const uint64_t element_bytes = type_bytes(array.type), bytes = slab.elements() * element_bytes;
        if (elements_of(stored, slab) == slab.elements() && copy_runs(stored, slab, to, element_bytes)) {
            done_bytes_ += bytes;
            return;
        }
        if (buffer.size() < bytes) buffer.resize(bytes);
        fill_box(array, stored, slab, {buffer.data(), bytes});
        out_.write_at(to, buffer.data(), bytes);
        done_bytes_ += bytes;
    }

    // What the parts have of it, and fill values for the rest.
    void fill_box(const Array& array, const std::vector<Stored>& stored, const Box& wanted, std::span<std::byte> into) const {
        if (const uint64_t found = elements_of(stored, wanted); found < wanted.elements()) {
            if (array.fill.empty())
                fail(Status::CORRUPT, "variable '", array.name, "' of stream '", stream_, "' in ", directory_, ": ",
                     wanted.elements() - found, " elements of ", tailrace::describe(wanted), " are in no part");
            repeat(array.fill, into);
        }
        const BlockView memory(into.data(), type_bytes(array.type), wanted.count, {});
        for (const Stored& box : stored) {
            const Box common = intersection(box.to, wanted);
            if (common.elements() == 0) continue;
            read_box(box.array, within(box.to, common), memory.part(within(wanted, common)));
        }
    }

    // From file to file, where what each part has of the slab is one run of bytes in both; and where the system can.
    bool copy_runs(const std::vector<Stored>& stored, const Box& slab, uint64_t to, uint64_t element_bytes) {
        if (!can_copy_) return false;
        for (const bool really : {false, true})
            for (const Stored& box : stored) {
                const Box common = intersection(box.to, slab);
                if (common.elements() == 0) continue;
                const Runs from(box.to.count, within(box.to, common)), into(slab.count, within(slab, common));
                if (box.array.packing || from.count() > 1 || into.count() > 1) return false;
                if (!really) continue;
                can_copy_ = out_.copy_from(*box.array.file, box.array.address + from.begin(0) * element_bytes,
                                           to + into.begin(0) * element_bytes, common.elements() * element_bytes);
                if (!can_copy_) return false;
            }
        return true;
    }

    std::string temporary() const { return output_ + ".combining"; }
    std::string record_path() const { return temporary() + ".jsonl"; }

    const std::string directory_, stream_, output_;
    const CombineOptions& options_;
    const History history_;
    Description described_, plain_;  // with the sources of the arrays, and as the output has them
    Placement placement_;
    StepBlock block_;
    std::vector<uint64_t> places_;
    Image image_;
    File out_, lock_;
    OpenParts parts_;                                // their files stay open while pieces need them
    std::vector<Tools> tools_;                       // of each thread
    ChunkPlaces chunks_;                             // of what is compressed
    std::atomic<uint64_t> end_ = 0;                  // of the output: the next chunk goes there
    uint64_t all_bytes_ = 0, done_ = 0, noted_ = 0;  // bytes; steps
    std::atomic<uint64_t> done_bytes_ = 0;
    std::atomic<bool> can_copy_ = true;
};

}  // namespace

Json combine_stream(const std::string& directory, const std::string& stream, const std::string& output,
                    const CombineOptions& options) {
    require_stream(directory, stream);
    return Combiner(directory, stream, output, options).run();
}

}  // namespace tailrace
