#include "maintain/convert.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/checksum.hpp"
#include "gather/agree.hpp"
#include "gather/communicator_pool.hpp"
#include "layout/parts.hpp"
#include "stream/ragged.hpp"
#include "stream/stream.hpp"
#include "view/reader.hpp"

namespace tailrace {
namespace {

// This rank's share of an array: rows of the first dimension that has one for each rank, else of the longest.
Box share_of_array(const Extents& shape, uint64_t rank, uint64_t ranks) {
    Box share = whole_box(shape);
    if (shape.empty()) return share;
    auto cut = std::find_if(shape.begin(), shape.end(), [&](uint64_t length) { return length >= ranks; });
    if (cut == shape.end()) cut = std::max_element(shape.begin(), shape.end());
    const size_t d = static_cast<size_t>(cut - shape.begin());
    share.offset[d] = shape[d] * rank / ranks;
    share.count[d] = shape[d] * (rank + 1) / ranks - share.offset[d];
    return share;
}

// Every step is to be there, whatever a model of the same name is told to do with its own.
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
                    fail(Status::STOPPED, "stopped after ", k + 1, " of ", all_, " steps, which stay in ", to_,
                         " for the next time");
            });
        }
        target_->close();
        source_->close();
        give_back(ranks_);
        return {{"stream", name_}, {"steps", all_}, {"steps_before", before_}, {"rank", ranks_->user_rank()}};
    }

    // After an error that all ranks have seen: what is committed stays.
    void leave() {
        attempt_or_end_job(*ranks_, [&] { target_->close(); });
    }

private:
    void open(MPI_Comm comm, const std::string& from, const std::string& name, const std::string& to, const std::string& options) {
        name_ = name;
        to_ = to;
        source_journal_ = from + "/" + journal_path(name);
        check_different(from);
        source_.emplace(comm, from, name);
        target_.emplace(comm, to, name, options, Stream::KeyValues{{"overlap_policy", "block"}, {"keep", "all"}});
        all_ = source_->steps().size();
        before_ = target_->step_count();
        agree_on([&] {
            if (ranks_->rank() != 0) return;
            check_target();
            if (all_ > 0) target_->comes_from(origin(source_->steps()[all_ - 1]));
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
            if (ranks_->rank() == 0 && std::filesystem::weakly_canonical(from) == std::filesystem::weakly_canonical(to_))
                fail(Status::BAD_ARGUMENT, "stream '", name_, "' cannot be converted within ", to_, ": choose another directory");
        });
    }

    // The source until it had a step: a model that has begun anew has another journal, whatever its times are.
    Json origin(uint64_t last_step) const {
        Checksum sum;
        for (const Json& line : read_journal(source_journal_).lines) {
            const std::string bytes = line.dump();
            sum.add(bytes.data(), bytes.size());
            if (line.value("kind", "") == "step" && line.value("step", uint64_t{0}) == last_step)
                return {{"last_step", last_step}, {"journal", hex_digest(sum.value())}};
        }
        return {{"last_step", last_step}};
    }

    // Rank 0. What is there are the first steps of the source, as every conversion to here has found it.
    void check_target() const {
        if (before_ == 0) return;
        const History there = read_history(to_ + "/" + journal_path(name_));
        const std::vector<double> times = there.times();
        const bool same = std::ranges::all_of(there.runs, [&](const RunEntry& run) {
            return run.origin.contains("last_step") && run.origin == origin(run.origin.at("last_step").get<uint64_t>());
        });
        if (!same || times.size() > all_ || !std::equal(times.begin(), times.end(), source_->times().begin()))
            fail(Status::BAD_ARGUMENT, to_, " holds other steps of a stream '", name_,
                 "': choose another directory, or set mode = 'replace'");
    }

    void copy_step(uint64_t k, bool first) {
        source_->select(static_cast<int64_t>(source_->steps()[k]));
        target_->begin_step(source_->times()[k]);
        std::vector<std::vector<std::byte>> values;  // until the step has ended
        const auto error = attempt([&] {
            for (const Variable& variable : source_->definitions().variables()) {
                if (variable.is_static && !first) continue;
                const Box share = variable.replicated ? whole_box(variable.shape)
                                                      : share_of_array(variable.shape, ranks_->rank(), ranks_->size());
                values.emplace_back(share.elements() * type_bytes(variable.type));
                source_->get(variable.name, share, values.back().data(), {});
                if (variable.replicated)
                    target_->put_replicated(variable.name, values.back().data());
                else
                    target_->put_block(variable.name, share, values.back().data(), {});
            }
        });
        if (error) target_->refuse_step(*error);
        target_->end_step();
    }

    std::shared_ptr<Communicator> ranks_;
    std::string name_, to_, source_journal_;
    std::optional<Reader> source_;
    std::optional<Stream> target_;
    uint64_t all_ = 0, before_ = 0;
};

}  // namespace

Json convert_stream(MPI_Comm comm, const std::string& from, const std::string& stream, const std::string& to,
                    const std::string& options, const StepProgress& progress) {
    Converter converter(comm, from, stream, to, options);
    try {
        return converter.run(progress);
    } catch (const Error&) {
        converter.leave();
        throw;
    }
}

}  // namespace tailrace
