// RATIONALE: the non-blocking consensus of Hoefler, Siebert and Lumsdaine, "Scalable communication protocols for dynamic sparse
// data exchange" (PPoPP 2010). When its synchronous sends are complete, a rank's own messages have arrived. When the non-blocking
// barrier is complete, the messages of all ranks have arrived.
#include "gather/sparse_exchange.hpp"

#include "gather/backoff.hpp"
#include "gather/spin.hpp"

namespace tailrace {

Messages deliver(const Communicator& ranks, const Messages& out) {
    // A rank may begin the next exchange while another is still in this one: two tags keep their messages apart.
    const int tag = 1 + static_cast<int>(ranks.next_round() & 1);
    Messages in;
    std::vector<MPI_Request> sends;
    for (const auto& [to, words] : out) {
        if (to == ranks.rank()) {
            in[to] = words;
            continue;
        }
        sends.emplace_back();
        check_mpi(MPI_Issend(words.data(), static_cast<int>(words.size()), MPI_UINT64_T, static_cast<int>(to), tag, ranks.all(),
                             &sends.back()),
                  "MPI_Issend");
    }
    MPI_Request barrier = MPI_REQUEST_NULL;
    bool in_barrier = false;
    const double spin_s = spin_seconds(ranks.ranks_beside());
    Backoff backoff(spin_s);
    for (int done = 0; !done; backoff.pause()) {
        int arrived = 0;
        MPI_Status status;
        check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, tag, ranks.all(), &arrived, &status), "MPI_Iprobe");
        if (arrived) {
            int count = 0;
            MPI_Get_count(&status, MPI_UINT64_T, &count);
            std::vector<uint64_t> words(static_cast<size_t>(count));
            check_mpi(MPI_Recv(words.data(), count, MPI_UINT64_T, status.MPI_SOURCE, tag, ranks.all(), MPI_STATUS_IGNORE),
                      "MPI_Recv");
            in[static_cast<uint64_t>(status.MPI_SOURCE)] = std::move(words);
            backoff = Backoff(spin_s);  // the next message may have arrived already: a writer gets one from every rank
        }
        if (in_barrier) {
            check_mpi(MPI_Test(&barrier, &done, MPI_STATUS_IGNORE), "MPI_Test");
        } else {
            int sent = 0;
            check_mpi(MPI_Testall(static_cast<int>(sends.size()), sends.data(), &sent, MPI_STATUSES_IGNORE), "MPI_Testall");
            if (sent) {
                check_mpi(MPI_Ibarrier(ranks.all(), &barrier), "MPI_Ibarrier");
                in_barrier = true;
            }
        }
    }
    return in;
}

}  // namespace tailrace
