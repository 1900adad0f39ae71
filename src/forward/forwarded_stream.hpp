// A stream whose steps are written by ranks that are set aside: end_step copies them into memory that the writer sees, or sends
// them.
#pragma once

#include <memory>

#include "base/clock.hpp"
#include "forward/forwarding.hpp"
#include "forward/parcel.hpp"
#include "stream/output.hpp"

namespace tailrace {

class ForwardedStream final : public Output {
public:
    // Collective. `settings` as agree_settings() gave them.
    ForwardedStream(std::shared_ptr<Forwarding> forwarding, MPI_Comm comm, const std::string& directory, const std::string& name,
                    const Json& settings);

    void end_step() override;
    void flush() override;
    void close() override;
    std::string report() const override;
    bool has_others() const override { return true; }  // the ranks that write

private:
    void start(const Json& settings);  // collective
    bool is_later() const { return config_.layout.overlap_steps > 0; }
    void take_answers(uint64_t leave);
    std::shared_ptr<Crate> crate_for(const Parcel& parcel);
    struct Sending {
        Parcel parcel;
        std::shared_ptr<Crate> crate;
        Json order;
    };
    Sending prepare();
    void note_told(const Error& error);

    std::shared_ptr<Forwarding> forwarding_;
    std::shared_ptr<Communicator> ranks_;
    Json opened_;  // the writers' report when they opened it
    uint64_t id_ = 0;
    uint64_t sent_ = 0;                         // steps, those that failed included
    std::optional<uint64_t> told_definitions_;  // the fingerprint that the writers know
    std::unique_ptr<RaggedLengths> ragged_;
    std::deque<std::shared_ptr<Crate>> in_flight_;
    std::optional<Error> late_;
    bool late_is_told_ = false;
    uint64_t steps_ = 0, most_in_flight_ = 0;
    double copied_s_ = 0, waited_s_ = 0;
};

}  // namespace tailrace
