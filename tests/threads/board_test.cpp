// The board of a node, with a thread for each rank.
#include "gather/node_board.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "gather/communicator.hpp"

namespace {

// What the ranks of a communicator have in common.
struct Node {
    int ranks = 0;
    std::mutex mutex;
    std::vector<std::unique_ptr<std::vector<uint64_t>>> memories;  // in the order in which the ranks ask for them
};

}  // namespace

struct tailrace_one_process_comm {
    Node* node = nullptr;
    int rank = 0;
    size_t asked = 0;  // how many memories this rank has asked for
};

extern "C" {
int MPI_Comm_rank(MPI_Comm comm, int* rank) { return *rank = comm->rank, MPI_SUCCESS; }
int MPI_Comm_size(MPI_Comm comm, int* size) { return *size = comm->node->ranks, MPI_SUCCESS; }
int MPI_Iprobe(int, int, MPI_Comm, int* arrived, MPI_Status*) { return *arrived = 0, MPI_SUCCESS; }
}

namespace tailrace {

void check_mpi(int code, const char* call) {
    if (code != MPI_SUCCESS) throw std::runtime_error(call);
}
uint64_t rank_in(MPI_Comm comm) { return static_cast<uint64_t>(comm->rank); }
uint64_t size_of(MPI_Comm comm) { return static_cast<uint64_t>(comm->node->ranks); }

SharedMemory::SharedMemory(MPI_Comm comm, uint64_t bytes) : bytes_(bytes) {
    const std::lock_guard lock(comm->node->mutex);
    auto& memories = comm->node->memories;
    if (memories.size() == comm->asked) memories.push_back(std::make_unique<std::vector<uint64_t>>(bytes / 8 + 1));
    base_ = reinterpret_cast<std::byte*>(memories[comm->asked++]->data());
}
SharedMemory::~SharedMemory() = default;

namespace {

constexpr int kRounds = 300;

// Runs `body(rank, board)` on every rank of a node.
void on_ranks(int ranks, const std::function<void(uint64_t, const NodeBoard&)>& body) {
    Node node;
    node.ranks = ranks;
    std::vector<tailrace_one_process_comm> comms(static_cast<size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
        comms[static_cast<size_t>(rank)] = {&node, rank, 0};
        threads.emplace_back([&, rank] {
            const NodeBoard board(&comms[static_cast<size_t>(rank)], static_cast<uint64_t>(ranks));
            body(static_cast<uint64_t>(rank), board);
        });
    }
    for (std::thread& thread : threads) thread.join();
}

void add(const NodeBoard::Numbers& from, NodeBoard::Numbers& into) {
    for (size_t k = 0; k < from.size(); ++k) into[k] += from[k];
}

TEST(NodeBoard, sums_of_many_rounds) {
    on_ranks(3, [](uint64_t rank, const NodeBoard& board) {
        for (uint64_t round = 0; round < kRounds; ++round) {
            const auto sum = board.reduce({rank + 1, round}, &add, {}, {});
            ASSERT_EQ(sum[0], 6u) << round;
            ASSERT_EQ(sum[1], 3 * round);
        }
    });
}

TEST(NodeBoard, room_and_words_pass_with_a_round) {
    on_ranks(3, [](uint64_t rank, const NodeBoard& board) {
        for (uint64_t round = 0; round < kRounds; ++round) {
            *board.words_of(rank) = 100 * rank + round;
            std::function<void(NodeBoard::Numbers&)> between;
            if (rank == 0)
                between = [&](NodeBoard::Numbers& all) {
                    for (uint64_t r = 0; r < 3; ++r) ASSERT_EQ(*board.words_of(r), 100 * r + round);
                    all[1] = round + 7;
                    board.room()[0] = static_cast<std::byte>(round);
                };
            const auto sum = board.reduce({1}, &add, between, [] {});
            ASSERT_EQ(sum[0], 3u);
            ASSERT_EQ(sum[1], round + 7);
            ASSERT_EQ(board.room()[0], static_cast<std::byte>(round));
        }
    });
}

TEST(NodeBoard, bytes_of_any_rank_reach_all) {
    on_ranks(4, [](uint64_t rank, const NodeBoard& board) {
        for (uint64_t round = 0; round < kRounds; ++round) {
            std::vector<uint64_t> data(NodeBoard::kRoomBytes / 8, rank == round % 4 ? round : 0);
            board.broadcast(data.data(), NodeBoard::kRoomBytes, round % 4);
            ASSERT_EQ(data.front(), round);
            ASSERT_EQ(data.back(), round);
        }
    });
}

TEST(NodeBoard, an_error_between_ends_all) {
    on_ranks(3, [](uint64_t rank, const NodeBoard& board) {
        std::function<void(NodeBoard::Numbers&)> between;
        if (rank == 0) between = [](NodeBoard::Numbers&) { throw std::runtime_error("the network is gone"); };
        EXPECT_ANY_THROW(board.reduce({}, &add, between, {}));
    });
}

}  // namespace
}  // namespace tailrace
