#include "forward/forwarding.hpp"

#include <algorithm>
#include <cstdlib>

#include "forward/server.hpp"
#include "gather/agree.hpp"
#include "gather/at_finalize.hpp"
#include "gather/disagreement.hpp"
#include "layout/keys.hpp"
#include "layout/value.hpp"

namespace tailrace {
namespace {

// The key of the communicator attribute that gives its Forwarding. Duplicates of the communicator have the attribute, too.
int key() {
    static const int made = [] {
        int number = MPI_KEYVAL_INVALID;
        check_mpi(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &number, nullptr), "MPI_Comm_create_keyval");
        return number;
    }();
    return made;
}

// All Forwardings of this process. The attribute is an entry's number, from 1; no entry is removed, so it is always valid. If a
// program ends without tailrace_release, the ranks that write are released here: otherwise they would wait for ever.
std::vector<std::shared_ptr<Forwarding>>& all_forwardings() {
    static std::vector<std::shared_ptr<Forwarding>> all = [] {
        at_finalize([] {
            for (const auto& forwarding : all_forwardings())
                if (!forwarding->released()) attempt([&] { run_or_end_job(true, [&] { forwarding->end(); }); });
        });
        return std::vector<std::shared_ptr<Forwarding>>{};
    }();
    return all;
}

std::vector<uint64_t> nodes_of_ranks(const Communicator& job) {
    uint64_t mine = job.node_first();
    std::vector<uint64_t> firsts(job.size());
    check_mpi(MPI_Allgather(&mine, 1, MPI_UINT64_T, firsts.data(), 1, MPI_UINT64_T, job.all()), "MPI_Allgather");
    std::vector<uint64_t> nodes;
    for (size_t r = 0; r < firsts.size(); ++r) nodes.push_back(r == 0 ? 0 : nodes.back() + (firsts[r] != firsts[r - 1]));
    return nodes;
}

uint64_t ranks_per_node() {
    const char* text = std::getenv(variable::RANKS_PER_NODE);
    return text == nullptr ? 0 : parse_number(text).value_or(0);
}

}  // namespace

Forwarding::Forwarding(std::unique_ptr<Communicator> job, const Roles& roles)
    : job_(std::move(job)), transport_(std::make_unique<Transport>(*job_)) {
    for (uint64_t r = 0; r < job_->size(); ++r)
        if (roles.writes[r]) writer_ranks_.push_back(r);
    const uint64_t me = job_->rank();
    my_writer_ = writer_ranks_[roles.writer[me]];
    is_first_ = is_first_client_ = true;
    for (uint64_t r = 0; r < me; ++r) {
        if (roles.writes[r]) continue;
        is_first_ = false;
        is_first_client_ = is_first_client_ && roles.writer[r] != roles.writer[me];
    }
}

void Forwarding::set_aside(MPI_Comm all, uint64_t dedicated, MPI_Comm& compute) {
    compute = MPI_COMM_NULL;
    auto job = std::make_unique<Communicator>(all);
    job->arrange(job->broadcast(ranks_per_node(), 0));
    const auto error = attempt([&] {
        if (dedicated == 0 || dedicated > job->size() / 2)
            fail(Status::BAD_ARGUMENT, "of ", job->size(), " ranks ", dedicated,
                 " cannot be set aside to write: at least 1, and at most half, so that each has one to write for");
    });
    with_facts(
        *job, [&] { return Facts{{"the number", std::to_string(dedicated)}}; },
        [&] { agree(*job, SetAsideVote{.dedicated = dedicated}, error); });
    const Roles roles = choose_roles(nodes_of_ranks(*job), dedicated);
    const bool writes = roles.writes[job->rank()];
    MPI_Comm mine;
    check_mpi(MPI_Comm_split(job->all(), writes ? 1 : 0, static_cast<int>(writes ? job->rank() : job->user_rank()), &mine),
              "MPI_Comm_split");
    // The model keeps the error handler of the communicator that it passed.
    MPI_Errhandler handler;
    check_mpi(MPI_Comm_get_errhandler(all, &handler), "MPI_Comm_get_errhandler");
    MPI_Comm_set_errhandler(mine, writes ? MPI_ERRORS_RETURN : handler);
    MPI_Errhandler_free(&handler);
    if (writes) {
        serve(*job, roles, mine);
        MPI_Comm_free(&mine);
        return;
    }
    compute = mine;
    all_forwardings().push_back(std::shared_ptr<Forwarding>(new Forwarding(std::move(job), roles)));
    check_mpi(MPI_Comm_set_attr(mine, key(), reinterpret_cast<void*>(all_forwardings().size())), "MPI_Comm_set_attr");
}

std::shared_ptr<Forwarding> Forwarding::of(MPI_Comm compute) {
    void* value = nullptr;
    int found = 0;
    check_mpi(MPI_Comm_get_attr(compute, key(), &value, &found), "MPI_Comm_get_attr");
    return found ? all_forwardings().at(reinterpret_cast<size_t>(value) - 1) : nullptr;
}

void Forwarding::check_usable() const {
    if (released())
        fail(Status::BAD_ORDER, "the ranks that were set aside are released; streams that they write are opened, used and closed ",
             "before tailrace_release");
    if (std::this_thread::get_id() != thread_)
        fail(Status::BAD_ORDER,
             "streams that other ranks write are used by the thread that called tailrace_set_aside; call from it");
}

void Forwarding::release() {
    check_usable();
    end();
}

void Forwarding::end() {
    request({{"request", "release"}}, true);
    // Wait until all steps of open streams are sent. A writer may still read buffers in shared memory, so busy buffers are kept.
    for (const auto& buffer : buffers_) buffer->wait_until_sent();
    std::erase_if(buffers_, [](const auto& buffer) { return !buffer->is_busy(); });
    transport_.reset();
    job_.reset();
}

std::shared_ptr<StepBuffer> Forwarding::take_buffer(uint64_t bytes) {
    std::shared_ptr<StepBuffer>* smaller = nullptr;
    for (std::shared_ptr<StepBuffer>& buffer : buffers_) {
        if (buffer->is_busy()) continue;
        if (buffer->bytes() >= bytes) return buffer;
        smaller = &buffer;
    }
    const bool shared = transport_->shares_memory_with(my_writer_);
    // A step header names one freed buffer at most, so no second one is replaced before the first is reported.
    if (smaller == nullptr || freed_buffer_ != 0) return buffers_.emplace_back(std::make_shared<StepBuffer>(bytes, shared));
    freed_buffer_ = (*smaller)->number();
    smaller->reset();
    try {
        *smaller = std::make_shared<StepBuffer>(bytes, shared);
    } catch (...) {
        buffers_.erase(buffers_.begin() + (smaller - buffers_.data()));
        throw;
    }
    return *smaller;
}

std::optional<Reply> Forwarding::reply(uint64_t stream, bool wait) {
    std::deque<Reply>& kept = replies_[stream];
    while (kept.empty()) {
        if (!wait && !transport_->has_reply(my_writer_)) return std::nullopt;
        Reply next = transport_->receive_reply(my_writer_);
        replies_[next.stream].push_back(std::move(next));
    }
    Reply first = std::move(kept.front());
    kept.pop_front();
    return first;
}

}  // namespace tailrace
