// Agreements of real ranks: agree_case RANKS_PER_NODE. Votes of every kind of field, errors with their origins, and ranks in
// different calls, over nodes of so many ranks (0: as MPI finds them).
#include "gather/agree.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "../case_main.hpp"

namespace {

using namespace tailrace;

void expect(bool is_so, const char* what) {
    if (!is_so) throw std::runtime_error(what);
}

template <class Work>
Error error_of(Work&& work) {
    try {
        work();
    } catch (const Error& error) {
        return error;
    }
    throw std::runtime_error("no error was thrown");
}

bool starts_with(const Error& error, const std::string& text) { return std::string(error.what()).starts_with(text); }

void combine_fields(const Communicator& all) {
    const uint64_t n = all.size(), me = all.user_rank();
    EndStepVote vote{.step_fingerprint = ~uint64_t{0} - 7, .intent = me + 1 == n ? StepIntent::write_blocks : StepIntent::written};
    vote.unwritten_steps = me, vote.committed_steps = 100 + all.rank(), vote.bytes = me, vote.digest = UINT64_MAX;
    vote.covers_badly = me + 1 == n, vote.part_box_words = n - me;
    const EndStepVote result = agree(all, vote, std::nullopt);
    expect(result.step_fingerprint == ~uint64_t{0} - 7, "equal");
    expect(result.intent == StepIntent::write_blocks, "largest of an enum");
    expect(result.unwritten_steps == n - 1 && result.part_box_words == n, "largest");
    expect(result.committed_steps == 100, "from rank 0");
    expect(result.bytes == n * (n - 1) / 2 && result.digest == n * UINT64_MAX, "sum");
    expect(result.covers_badly && !result.has_blocks_elsewhere, "any");
}

void let_rank_0_act(const Communicator& all) {
    int acted = 0;
    const auto add = [&](OpenVote& vote) { vote.text_bytes = 42, vote.place = 1, ++acted; };
    const OpenVote result = agree(all, OpenVote{.place = 5}, std::nullopt, add);
    expect(result.text_bytes == 42 && result.place == 5, "rank 0 sets its fields and no others");
    expect(acted == (all.rank() == 0 ? 1 : 0), "rank 0 alone acts");
    const auto refuse = [](OpenVote&) { fail(Status::NO_SPACE, "full"); };
    const Error error = error_of([&] { agree(all, OpenVote{}, std::nullopt, refuse); });
    expect(error.status() == Status::NO_SPACE && error.rank() == 0, "an error of rank 0's work is that of all ranks");
    for (const size_t length : {size_t{0}, size_t{10}, size_t{NodeBoard::kRoomBytes}, size_t{100'000}}) {
        const std::string text(length, 'x');
        expect(agree_on_text(all, OpenVote{}, std::nullopt, [&] { return text; }) == text, "text of rank 0");
    }
}

void report_disagreement(const Communicator& all) {
    if (all.size() == 1) return;
    const Error error = error_of([&] { agree(all, SelectStepVote{.step_index = all.rank() == 0 ? 3u : 4u}, std::nullopt); });
    expect(error.status() == Status::RANKS_DISAGREE && error.origin() == Origin::several_ranks, "ranks disagree");
    expect(starts_with(error, "the step to read:"), "the message names the field");
}

void carry_errors(const Communicator& all) {
    const uint64_t last = all.size() - 1;
    const auto fail_on_last = [&](const Error& given) {
        return error_of([&] { agree(all, WriteVote{}, all.user_rank() == last ? std::optional(given) : std::nullopt); });
    };
    const std::string prefix = all.size() > 1 ? "rank " + std::to_string(last) + ": " : "";
    for (const Origin origin : {Origin::one_rank, Origin::background_writer}) {
        const Error error = fail_on_last(Error(Status::IO_FAILED, "text", origin));
        expect(error.status() == Status::IO_FAILED && error.origin() == origin, "status and origin travel");
        expect(error.rank() == last && error.what() == prefix + "text", "the rank travels");
    }
    for (const Origin origin : {Origin::several_ranks, Origin::writer_ranks}) {
        const Error error = fail_on_last(Error(Status::IO_FAILED, "text", origin));
        expect(error.origin() == origin && error.what() == std::string("text"), "a message that names ranks stays as it is");
    }
    const Error known = fail_on_last(Error(Status::IO_FAILED, "rank 77: text", Origin::one_rank, 77));
    expect(known.rank() == 77 && known.what() == std::string("rank 77: text"), "a rank that is known stays");
    expect(error_of([&] { agree_to_fail(all, Call::flush, Error(Status::BAD_ARGUMENT, "lost")); }).status() == Status::BAD_ARGUMENT,
           "all ranks agree to fail");
}

void find_different_calls(const Communicator& all) {
    if (all.size() == 1) return;
    const auto flush_or_end = [&] {
        if (all.user_rank() == 0) return agree_to_fail(all, Call::flush, Error(Status::BAD_ARGUMENT, "lost"));
        agree(all, EndStepVote{}, std::nullopt, [](EndStepVote&) { throw std::runtime_error("not reached"); });
    };
    Error error = error_of(flush_or_end);
    expect(error.status() == Status::BAD_ORDER && !all.peers_closed(), "different calls");
    expect(starts_with(error, "some ranks are in tailrace_flush while others are in tailrace_end_step"), "both calls are named");
    error = error_of([&] { all.user_rank() == 0 ? void(agree(all, CloseVote{}, std::nullopt)) : flush_or_end(); });
    expect(error.status() == Status::BAD_ORDER && all.peers_closed(), "ranks that close are gone");
    expect(error_of([&] { agree(all, FlushVote{}, std::nullopt); }).status() == Status::BAD_ORDER, "no call waits for them");
}

}  // namespace

int main(int argc, char** argv) {
    return case_main(argc, argv, [](int count, char** arguments) {
        if (count != 2) return 2;
        Communicator all(MPI_COMM_WORLD);
        all.arrange(std::strtoull(arguments[1], nullptr, 10));
        combine_fields(all);
        let_rank_0_act(all);
        report_disagreement(all);
        carry_errors(all);
        combine_fields(all);  // errors leave the ranks in step
        find_different_calls(all);
        return 0;
    });
}
