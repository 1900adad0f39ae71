// A stream whose ranks write it themselves. Collective calls as in tailrace.h.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gather/communicator.hpp"
#include "stream/output.hpp"
#include "stream/stages.hpp"

namespace tailrace {

class Stream final : public Output {
public:
    // Collective. `strongest`: keys and values that neither the configuration nor the environment may change.
    using KeyValues = std::vector<std::pair<std::string, std::string>>;
    Stream(MPI_Comm comm, const std::string& directory, const std::string& name, const std::string& options,
           const KeyValues& strongest = {});
    // Opens a stream on ranks that only write for others. `settings`: the result of agree_settings().
    Stream(MPI_Comm comm, const std::string& directory, const std::string& name, const Json& settings);

    void end_step() override;
    void flush() override;
    void close() override;
    std::string report() const override;
    std::string leave_open() override;
    bool has_others() const override { return ranks_ && ranks_->size() > 1; }

    // Called on rank 0 of a conversion, before the first step: the source of its steps, which the journal records.
    void set_origin(Json origin) { stages_->journal.set_origin(std::move(origin)); }
    // Called on all ranks of a conversion, because streams of older versions may have the same time twice.
    void accept_all_times() { times_.accept_all(); }
    const EarlierSteps& earlier_steps() const { return stages_->earlier.steps; }

private:
    // Collective. `only_writes`: these ranks write for others.
    void start(MPI_Comm comm, const Json& settings, bool only_writes);
    void fail_step(const Error& error) noexcept;
    void drop_step() noexcept;
    void show_committed_steps(bool steps_were_lost);

    std::shared_ptr<Communicator> ranks_;
    std::unique_ptr<Stages> stages_;
};

}  // namespace tailrace
