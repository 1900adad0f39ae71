#include "maintain/combine.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/checksum.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/paths.hpp"
#include "base/workers.hpp"
#include "layout/parts.hpp"
#include "maintain/combine_copy.hpp"
#include "maintain/combine_log.hpp"
#include "maintain/combine_plan.hpp"
#include "maintain/real_path.hpp"
#include "part/reading_process.hpp"
#include "view/catalog.hpp"
#include "view/dataset.hpp"
#include "view/index.hpp"
#include "view/step_boxes.hpp"

namespace tailrace {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kMaxThreads = 8;
constexpr double kLogS = 0.5;  // seconds between two lines of the log: a kill loses at most the work of that time
constexpr double kSyncS = 60;  // seconds between two calls of fsync: a crash of the machine loses at most the work of that time

class Combiner {
public:
    Combiner(const std::string& directory, const std::string& stream, const std::string& output, const CombineOptions& options)
        : directory_(directory), stream_(stream), output_(output), options_(options),
          history_(read_history(directory + "/" + journal_path(stream))), finder_(directory) {
        if (history_.empty() && !history_.is_static_only())
            fail(Status::NOT_FOUND, "stream '", stream, "' in ", directory, " has no committed step");
        check_output();
        if (auto completed = with_boxes_of_parts(directory, stream, history_)) history_ = std::move(*completed);
        plan_ = plan_combine(history_, stream_, finder_);
    }

    Json run() {
        CombineProgress before = begin();
        const uint64_t steps_before = before.steps, bytes = plan_.bytes_of_steps(plan_.steps.steps);
        steps_ = before.steps;
        const size_t threads =
            options_.threads > 0 ? options_.threads : std::clamp(std::thread::hardware_concurrency(), 1u, kMaxThreads);
        CombineCopy copy(plan_, finder_, out_, text("stream '", stream_, "' in ", directory_), threads, std::move(before),
                         [&] { report_progress(copy.bytes(), bytes); });
        copy_all(copy, threads);
        const uint64_t file_bytes = finish(copy);
        return {{"stream", stream_}, {"output", output_},       {"steps", plan_.steps.steps}, {"steps_before", steps_before},
                {"bytes", bytes},    {"file_bytes", file_bytes}};
    }

private:
    std::string unfinished() const { return output_ + ".combining"; }

    void check_output() const {
        const std::filesystem::path wanted = real_path(output_);
        const std::filesystem::path parts = real_path(directory_ + "/" + parts_directory(stream_));
        bool own = wanted == real_path(directory_ + "/" + dataset_path(stream_)) ||
                   std::mismatch(parts.begin(), parts.end(), wanted.begin(), wanted.end()).first == parts.end();
        for (const std::string& index : index_paths(directory_, stream_)) own = own || wanted == real_path(index);
        if (own) fail(Status::BAD_ARGUMENT, output_, " belongs to the stream itself; choose another output");
        if (!options_.replace && path_exists(output_))
            fail(Status::BAD_ARGUMENT, output_, " is there already; choose another output, or let it be replaced");
    }

    // Identifies what is combined: a checksum of the output's metadata and of the stream's journal.
    std::string identity() const {
        const Image image = plan_.image(plan_.end(), ChunkPlaces(plan_.output.arrays.size()));
        Checksum sum;
        sum.add(image.metadata.data(), image.metadata.size());
        for (const std::string& segment : segment_paths(directory_ + "/" + journal_path(stream_))) {
            const std::string journal = File::open_read(segment).read_all();
            sum.add(journal.data(), journal.size());
        }
        for (const GroupEntry& group : history_.groups) sum.add(group.digest.data(), group.digest.size());
        for (const StepEntry& step : history_.steps) sum.add(&step.step, sizeof step.step);
        return hex_digest(sum.value());
    }

    // Opens the output. Returns what an earlier call has copied into it.
    CombineProgress begin() {
        const std::string identity_now = identity();
        log_.emplace(output_);
        check_output();  // again: another process may have finished the output before this one got the lock
        if (path_exists(unfinished()))
            if (auto progress = log_->read(identity_now, plan_)) {
                out_ = File::open_write(unfinished());
                return std::move(*progress);
            }
        log_->clear();
        out_ = File::create(unfinished());
        log_->begin(identity_now, stream_, plan_.steps.steps);
        out_.reserve(0, plan_.end());
        return {0, plan_.end(), ChunkPlaces(plan_.output.arrays.size())};
    }

    void report_progress(uint64_t done_bytes, uint64_t all_bytes) const {
        if (options_.progress && !options_.progress(done_bytes, all_bytes))
            fail(Status::STOPPED, "stopped after ", steps_, " of ", plan_.steps.steps, " steps; they are kept in ", unfinished(),
                 ", and the same command continues");
    }

    void copy_all(CombineCopy& copy, size_t threads) {
        Workers workers(threads, 2 * threads);
        try {
            copy_steps(copy, workers);
        } catch (const Error& error) {
            if (error.status() == Status::STOPPED && steps_ > 0) {
                workers.wait();
                log(copy, steps_, false);
            }
            throw;
        }
    }

    void copy_steps(CombineCopy& copy, Workers& workers) {
        if (steps_ == 0) copy.copy_step(workers, std::nullopt);
        Stopwatch watch;
        for (double since_log_s = 0, since_sync_s = 0; steps_ < plan_.steps.steps; ++steps_) {
            copy.copy_step(workers, steps_);
            const double step_s = watch.lap();
            since_log_s += step_s, since_sync_s += step_s;
            if (since_log_s < kLogS) continue;
            workers.wait();
            log(copy, steps_ + 1, since_sync_s >= kSyncS);
            if (since_sync_s >= kSyncS) since_sync_s = 0;
            since_log_s = 0;
        }
        workers.wait();
    }

    void log(const CombineCopy& copy, uint64_t steps, bool sync) {
        if (sync) out_.sync();
        log_->append(plan_, steps, copy.end(), copy.chunks(), sync);
    }

    // Completes the output. Returns its size in bytes.
    uint64_t finish(const CombineCopy& copy) {
        write_arrays_without_sources(out_, plan_.sources, plan_.places, plan_.placement, plan_.steps, history_, 0);
        const Image image = plan_.image(plan_.placement.align(copy.end(), 0), copy.chunks());
        put_in_force(out_, image);
        if (options_.sync) out_.sync();
        out_.close();
        rename_path(unfinished(), output_);
        log_->remove();
        if (options_.sync) sync_directory(fs::absolute(output_).parent_path());
        return image.file_bytes;
    }

    const std::string directory_, stream_, output_;
    const CombineOptions& options_;
    History history_;
    SourceFinder finder_;
    CombinePlan plan_;
    std::optional<CombineLog> log_;
    File out_;
    uint64_t steps_ = 0;  // number of copied steps
};

}  // namespace

Json combine_stream(const std::string& directory, const std::string& stream, const std::string& output,
                    const CombineOptions& options) {
    require_stream(directory, stream);
    CombineOptions within = options;  // in the child: its progress function calls the one of this process
    return in_reading_process(
        [&](const ChildProgress& progress) {
            if (options.progress) within.progress = progress;
            return Combiner(directory, stream, output, within).run();
        },
        options.progress);
}

}  // namespace tailrace
