// A job some of whose ranks only write: who they are, how the others find them, and the memory in which steps travel.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "forward/post.hpp"
#include "forward/roles.hpp"

namespace tailrace {

class Forwarding {
public:
    // Collective over `all`. Ranks that compute get their communicator, in the order of `all`. The others serve until release(),
    // and get MPI_COMM_NULL.
    static void set_aside(MPI_Comm all, uint64_t dedicated, MPI_Comm& compute);
    // Of a communicator that set_aside() gave, or a duplicate of it; null for others.
    static std::shared_ptr<Forwarding> of(MPI_Comm compute);
    // Collective over the ranks that compute. The others go on with what they do after set_aside().
    void release();
    // The same when the program ends, on whichever thread.
    void end();
    // Throws BAD_ORDER after release(), and on another thread than that of set_aside(): parcels keep no order between threads.
    void check_usable() const;
    bool released() const { return post_ == nullptr; }

    uint64_t writers() const { return writer_ranks_.size(); }
    bool first_of_its_writer() const { return first_of_its_writer_; }
    // The same number on all ranks that compute.
    uint64_t next_stream() { return ++streams_; }
    uint64_t open_streams = 0;

    // On the first rank that computes, nothing on the others.
    void order(const Json& order, bool wait = false) {
        if (first_) post_->send_order(writer_ranks_.front(), order, wait);
    }
    // Memory for a parcel, and then its way to the writer. The crate is busy until the writer has answered.
    std::shared_ptr<Crate> take_crate(uint64_t bytes);
    void send(const Label& label, Crate& crate, uint64_t bytes) {
        post_->send_parcel(my_writer_, label, crate, bytes, std::exchange(gone_, 0));
    }
    void forget(uint64_t stream) { answers_.erase(stream); }
    // The next answer for a stream; answers for others are kept for them. Without `wait`: nothing if there is none.
    std::optional<Answer> answer(uint64_t stream, bool wait);

private:
    Forwarding(std::unique_ptr<Communicator> job, const Roles& roles);

    std::unique_ptr<Communicator> job_;
    std::unique_ptr<Post> post_;
    std::vector<uint64_t> writer_ranks_;
    uint64_t my_writer_ = 0;
    const std::thread::id thread_ = std::this_thread::get_id();
    bool first_ = false, first_of_its_writer_ = false;
    uint64_t streams_ = 0, gone_ = 0;
    std::vector<std::shared_ptr<Crate>> crates_;
    std::map<uint64_t, std::deque<Answer>> answers_;
};

}  // namespace tailrace
