// The messages between ranks that compute and those that write for them. Orders go from one rank to all writers in one line, so
// that all writers do the same things in the same order; parcels and answers go between a rank and its writer.
#pragma once

#include <cstdint>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/journal.hpp"
#include "base/system.hpp"
#include "gather/communicator.hpp"

namespace tailrace {

// Begins the text of what failed there.
constexpr const char* kOnWriters = "on the ranks that write: ";

// What an order came to.
struct Answer {
    uint64_t stream = 0;
    Status status = Status::OK;
    std::string text;  // of the error; else what the order asks for
};

// Memory of a rank that computes for one parcel at a time. Its writer sees it where both are on a node; else it travels.
class Crate {
public:
    // Throws NO_MEMORY, naming what there is room for.
    Crate(uint64_t bytes, bool shared);
    ~Crate();
    Crate(const Crate&) = delete;

    std::byte* base() const { return base_; }
    uint64_t bytes() const { return bytes_; }
    uint64_t number() const { return number_; }  // each has its own
    bool busy = false;
    void wait_sent();  // until a parcel that travels has left

private:
    friend class Post;
    std::vector<MPI_Request> sends_;  // of a parcel that travels
    File file_;
    std::vector<std::byte> own_;
    std::byte* base_ = nullptr;
    uint64_t bytes_ = 0;
    uint64_t number_ = 0;
};

// Which step of which stream a parcel is of.
struct Label {
    uint64_t stream = 0, step = 0;
    bool operator==(const Label&) const = default;
};

// A parcel at its writer.
class Delivery {
public:
    const std::byte* base() const { return base_; }

private:
    friend class Post;
    const std::byte* base_ = nullptr;
    std::vector<std::byte> own_;
};

class Post {
public:
    // `job`: all ranks, arranged.
    explicit Post(const Communicator& job) : job_(job) {}
    ~Post();
    Post(const Post&) = delete;

    // From the first rank that computes to the first writer. Returns at once; with `wait`, when it is on its way.
    void send_order(uint64_t to, const Json& order, bool wait);
    std::string receive_order(uint64_t from) const;  // as msgpack

    bool shares_memory_with(uint64_t rank) const { return job_.on_my_node(rank); }
    // `gone`: a crate that is there no longer, or 0.
    void send_parcel(uint64_t to, const Label& label, Crate& crate, uint64_t bytes, uint64_t gone);
    // What was delivered is valid until the crate's next parcel. Whatever is thrown, all that was sent of the parcel is received.
    Delivery receive_parcel(uint64_t from, const Label& label);

    void send_answer(uint64_t to, const Answer& answer);
    // Waits, or says whether there is one.
    Answer receive_answer(uint64_t from) const;
    bool has_answer(uint64_t from) const;

private:
    struct View {
        std::byte* base = nullptr;
        uint64_t bytes = 0;
    };
    // Bytes that are kept until they are sent.
    struct Letter {
        std::string text;
        MPI_Request request = MPI_REQUEST_NULL;
    };
    void send(uint64_t to, int tag, std::string text, bool wait);
    std::string receive_text(uint64_t from, int tag) const;
    void receive_pieces(uint64_t from, uint64_t bytes, Delivery& delivery) const;
    const Communicator& job_;
    std::list<Letter> sent_;
    std::map<std::pair<uint64_t, uint64_t>, View> views_;  // of crates, by rank and number
};

}  // namespace tailrace
