#include "maintain/convert.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <optional>

#include "base/checksum.hpp"
#include "gather/agree.hpp"
#include "gather/communicator_pool.hpp"
#include "layout/parts.hpp"
#include "maintain/real_path.hpp"
#include "stream/ragged.hpp"
#include "stream/stream.hpp"
#include "view/reader.hpp"

namespace tailrace {
namespace {

// This rank's slab of an array: rows of the first dimension that has one for each rank, else of the longest dimension.
Box slab_of_rank(const Shape& shape, uint64_t rank, uint64_t ranks) {
    Box slab = whole_box(shape);
    if (shape.empty()) return slab;
    auto cut = std::find_if(shape.begin(), shape.end(), [&](uint64_t length) { return length >= ranks; });
    if (cut == shape.end()) cut = std::max_element(shape.begin(), shape.end());
    const size_t d = static_cast<size_t>(cut - shape.begin());
    slab.offset[d] = shape[d] * rank / ranks;
    slab.count[d] = shape[d] * (rank + 1) / ranks - slab.offset[d];
    return slab;
}

using Memory = std::unique_ptr<std::byte[]>;

// Memory that nothing has touched: a damaged stream may promise arrays of any size, which are refused when they are read.
Memory memory_of(uint64_t bytes) {
    Memory memory(new (std::nothrow) std::byte[bytes]);
    if (!memory) throw std::bad_alloc();
    return memory;
}

// Writes with overlap_policy = block and keep = all, whatever the configuration says: a conversion drops no step.
class Converter {
public:
    Converter(MPI_Comm comm, const std::string& from, const std::string& name, const std::string& to, const std::string& options)
        : ranks_(take_communicator(comm)) {
        run_or_end_job(ranks_->size() > 1, [&] { open(comm, from, name, to, options); });
    }

    Json run(const StepProgress& progress) {
        for (uint64_t k = before_; k < all_; ++k) {
            copy_step(k, k == before_);
            agree_on([&] {
                if (ranks_->rank() == 0 && progress && !progress(k + 1, all_))
                    fail(Status::STOPPED, "stopped after ", k + 1, " of ", all_, " steps; they stay in ", to_,
                         ", and the same command continues");
            });
        }
        if (all_ == 0) copy_static();
        target_->close();
        source_->close();
        give_back(ranks_);
        return {{"stream", name_}, {"steps", all_}, {"steps_before", before_}, {"rank", ranks_->user_rank()}};
    }

    // Closes the target after an error that all ranks have. Committed steps are kept.
    void abandon() {
        attempt_or_end_job(*ranks_, [&] { target_->close(); });
    }

private:
    void open(MPI_Comm comm, const std::string& from, const std::string& name, const std::string& to, const std::string& options) {
        name_ = name;
        to_ = to;
        source_journal_ = from + "/" + journal_path(name);
        check_different(from);
        source_.emplace(comm, from, name);
        target_.emplace(comm, to, name, options,
                        Stream::KeyValues{{"overlap_policy", "block"}, {"keep", "all"}, {"resume_before", "first"}});
        target_->accept_all_times();
        all_ = source_->steps().size();
        before_ = target_->step_count();
        agree_on([&] {
            if (ranks_->rank() != 0) return;
            check_target();
            if (all_ > 0) target_->set_origin(origin(source_->steps()[all_ - 1]));
        });
        target_->adopt(source_->definitions());
    }

    template <class Work>
    void agree_on(Work&& work) const {
        const auto error = attempt(work);
        agree(*ranks_, ConvertVote{}, error);
    }

    void check_different(const std::string& from) const {
        agree_on([&] {
            if (ranks_->rank() == 0 && real_path(from) == real_path(to_))
                fail(Status::BAD_ARGUMENT, "stream '", name_, "' cannot be converted into its own directory ", to_,
                     "; choose another directory");
        });
    }

    // Identifies the source: a checksum of its journal up to a step. It differs for a model that was started anew, even with equal
    // times.
    Json origin(uint64_t last_step) const {
        Checksum sum;
        for (const Json& line : read_segments(find_segments(source_journal_)).lines) {
            const std::string bytes = line.dump();
            sum.add(bytes.data(), bytes.size());
            if (kind_of(line) == "step" && count_at(line, "step") == last_step)
                return {{"last_step", last_step}, {"journal", hex_digest(sum.value())}};
        }
        return {{"last_step", last_step}};
    }

    // On rank 0. Checks that the steps in the target are the first steps of the source, and that every run of the target was a
    // conversion of the source.
    void check_target() const {
        if (before_ == 0) return;
        const History target = read_history(to_ + "/" + journal_path(name_));
        const std::vector<double> times = target.times();
        const bool same = std::ranges::all_of(target.runs, [&](const RunEntry& run) {
            return run.origin.contains("last_step") && run.origin == origin(count_at(run.origin, "last_step"));
        });
        if (!same || times.size() > all_ || !std::equal(times.begin(), times.end(), source_->times().begin()))
            fail(Status::BAD_ARGUMENT, to_, " has other steps of a stream '", name_,
                 "'; choose another directory, or set mode = 'replace'");
    }

    // Copies the static arrays of a stream without steps.
    void copy_static() {
        agree_on([&] {
            for (const Variable& variable : source_->definitions().variables()) {
                const Memory values = memory_of(variable.bytes());
                source_->get(variable.name, whole_box(variable.shape), values.get(), {});
                target_->put_replicated(variable.name, values.get());
            }
        });
    }

    void copy_step(uint64_t k, bool first) {
        source_->select(static_cast<int64_t>(source_->steps()[k]));
        target_->begin_step(source_->times()[k]);
        std::vector<Memory> values;  // the target refers to them until end_step() returns
        const auto error = attempt([&] {
            for (const Variable& variable : source_->definitions().variables()) {
                if (variable.is_static && !first) continue;
                const Box box =
                    variable.replicated ? whole_box(variable.shape) : slab_of_rank(variable.shape, ranks_->rank(), ranks_->size());
                std::byte* const at = values.emplace_back(memory_of(box.elements() * type_bytes(variable.type))).get();
                source_->get(variable.name, box, at, {});
                if (variable.replicated)
                    target_->put_replicated(variable.name, at);
                else
                    target_->put_block(variable.name, box, at, {});
            }
        });
        if (error) target_->refuse_step(*error);
        target_->end_step();
    }

    std::shared_ptr<Communicator> ranks_;
    std::string name_, to_, source_journal_;
    std::optional<Reader> source_;
    std::optional<Stream> target_;
    uint64_t all_ = 0, before_ = 0;  // number of steps of the source; and of the target when it was opened
};

}  // namespace

Json convert_stream(MPI_Comm comm, const std::string& from, const std::string& stream, const std::string& to,
                    const std::string& options, const StepProgress& progress) {
    Converter converter(comm, from, stream, to, options);
    try {
        return converter.run(progress);
    } catch (const Error&) {
        converter.abandon();
        throw;
    }
}

}  // namespace tailrace
