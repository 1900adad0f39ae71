#include "forward/forwarding.hpp"

#include <algorithm>
#include <cstdlib>

#include "forward/server.hpp"
#include "gather/agree.hpp"
#include "gather/at_finalize.hpp"
#include "layout/value.hpp"

namespace tailrace {
namespace {

// The attribute by which a communicator knows its Forwarding. Duplicates have it, too.
int key() {
    static const int made = [] {
        int number = MPI_KEYVAL_INVALID;
        check_mpi(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &number, nullptr), "MPI_Comm_create_keyval");
        return number;
    }();
    return made;
}

// What communicators refer to; entries stay, so that an attribute never leads astray. A program that ends without
// tailrace_release, or on its way out of an error, does not leave the ranks that write waiting for orders.
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
    const char* text = std::getenv("TAILRACE_RANKS_PER_NODE");
    return text == nullptr ? 0 : parse_number(text).value_or(0);
}

}  // namespace

Forwarding::Forwarding(std::unique_ptr<Communicator> job, const Roles& roles)
    : job_(std::move(job)), post_(std::make_unique<Post>(*job_)) {
    for (uint64_t r = 0; r < job_->size(); ++r)
        if (roles.writes[r]) writer_ranks_.push_back(r);
    const uint64_t me = job_->rank();
    my_writer_ = writer_ranks_[roles.writer[me]];
    first_ = first_of_its_writer_ = true;
    for (uint64_t r = 0; r < me; ++r) {
        if (roles.writes[r]) continue;
        first_ = false;
        first_of_its_writer_ = first_of_its_writer_ && roles.writer[r] != roles.writer[me];
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
    agree(*job, SetAsideVote{.dedicated = dedicated}, error);
    const Roles roles = choose_roles(nodes_of_ranks(*job), dedicated);
    const bool writes = roles.writes[job->rank()];
    MPI_Comm mine;
    check_mpi(MPI_Comm_split(job->all(), writes ? 1 : 0, static_cast<int>(writes ? job->rank() : job->user_rank()), &mine),
              "MPI_Comm_split");
    // As in the communicator that the model has had until now.
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
    order({{"order", "release"}}, true);
    // What streams that are still open have sent arrives; in shared memory the writer looks at it when it comes to that step.
    for (const auto& crate : crates_) crate->wait_sent();
    std::erase_if(crates_, [](const auto& crate) { return !crate->busy; });
    post_.reset();
    job_.reset();
}

std::shared_ptr<Crate> Forwarding::take_crate(uint64_t bytes) {
    std::shared_ptr<Crate>* smaller = nullptr;
    for (std::shared_ptr<Crate>& crate : crates_) {
        if (crate->busy) continue;
        if (crate->bytes() >= bytes) return crate;
        smaller = &crate;
    }
    const bool shared = post_->shares_memory_with(my_writer_);
    if (smaller == nullptr || gone_ != 0) return crates_.emplace_back(std::make_shared<Crate>(bytes, shared));
    gone_ = (*smaller)->number();
    smaller->reset();
    try {
        *smaller = std::make_shared<Crate>(bytes, shared);
    } catch (...) {
        crates_.erase(crates_.begin() + (smaller - crates_.data()));
        throw;
    }
    return *smaller;
}

std::optional<Answer> Forwarding::answer(uint64_t stream, bool wait) {
    std::deque<Answer>& kept = answers_[stream];
    while (kept.empty()) {
        if (!wait && !post_->has_answer(my_writer_)) return std::nullopt;
        Answer next = post_->receive_answer(my_writer_);
        answers_[next.stream].push_back(std::move(next));
    }
    Answer first = std::move(kept.front());
    kept.pop_front();
    return first;
}

}  // namespace tailrace
