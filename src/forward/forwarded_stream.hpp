// A stream whose steps are written by other ranks (writers = dedicated:N): end_step copies the step into a buffer that the writer
// maps, or sends it.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "forward/forwarding.hpp"
#include "forward/packed_step.hpp"
#include "stream/agreed_blocks.hpp"
#include "stream/output.hpp"

namespace tailrace {

class ForwardedStream final : public Output {
public:
    // Collective. `settings`: from agree_settings().
    ForwardedStream(std::shared_ptr<Forwarding> forwarding, MPI_Comm comm, const std::string& directory, const std::string& name,
                    const Json& settings);

    void end_step() override;
    void flush() override;
    void close() override;
    std::string report() const override;
    std::string leave_open() override;
    bool has_others() const override { return true; }  // the ranks that write always wait for this one

private:
    // A step that is ready to be sent, and the request that goes before it.
    struct PreparedStep {
        PackedStep packed;
        std::shared_ptr<StepBuffer> buffer;
        Json request;
    };
    // Sends a request and waits for the reply. No step may be in flight.
    Reply ask_writers(const char* request);
    void open(const Json& settings);  // collective
    bool is_async() const { return config_.layout.overlap_steps > 0; }
    PreparedStep prepare();
    std::shared_ptr<StepBuffer> buffer_for(const PackedStep& step);
    void send(PreparedStep step);
    void take_replies(uint64_t leave);
    void note_reported(const Error& error);

    std::shared_ptr<Forwarding> forwarding_;
    std::shared_ptr<Communicator> ranks_;
    Json opened_;  // the writers' reply to the request to open: the steps of earlier runs, and a report
    EarlierSteps earlier_;
    uint64_t id_ = 0;
    uint64_t sent_ = 0;                          // how many steps were sent, including those that failed
    std::optional<uint64_t> known_definitions_;  // fingerprint of the definitions that the writers have
    std::unique_ptr<AgreedBlocks> blocks_;
    std::deque<std::shared_ptr<StepBuffer>> in_flight_;
    std::optional<Error> write_error_;  // the writers' first error of a step in flight
    bool write_error_reported_ = false;
    uint64_t steps_ = 0, most_in_flight_ = 0;
    double copied_s_ = 0, waited_s_ = 0;
};

}  // namespace tailrace
