#include "cluster/switch/fabric.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tailrace::cluster {
namespace {

constexpr Nanoseconds us = 1000;
constexpr std::size_t ports = 3;

Frame frame_of(unsigned char from, unsigned char to, std::size_t bytes = 1000) {
    Frame frame;
    frame.bytes.assign(14, 0);
    frame.bytes[5] = to;
    frame.bytes[11] = from;
    if (to == 255) frame.bytes[0] = 255;  // for all
    frame.wire_bytes = bytes;
    return frame;
}

struct Arrival {
    std::size_t port;
    Nanoseconds at_ns;
    unsigned char from;
    bool operator==(const Arrival&) const = default;
};

class FabricTest : public testing::Test {
protected:
    FabricTest() {
        for (unsigned char port = 0; port < ports; ++port) fabric.take(port, frame_of(port, 255), 0);
        run(0);
        arrivals.clear();
    }

    // Wakes exactly when it was asked to, until nothing is under way.
    void run(Nanoseconds from_ns) {
        for (Nanoseconds now = from_ns, next = 0;; now = next) {
            next = fabric.advance(now,
                                  [&](std::size_t port, const Frame& frame) { arrivals.push_back({port, now, frame.bytes[11]}); });
            if (next == 0) return;
        }
    }

    Fabric fabric{ports};
    std::vector<Arrival> arrivals;
};

TEST_F(FabricTest, ForwardsToTheNodeThatHasTheAddress) {
    fabric.take(0, frame_of(0, 2), 5);
    run(5);
    EXPECT_EQ(arrivals, (std::vector<Arrival>{{2, 5, 0}}));
}

TEST_F(FabricTest, ForwardsToAllWhatIsForAllOrForNobodyKnown) {
    for (unsigned char to : {255, 77}) {
        arrivals.clear();
        fabric.take(1, frame_of(1, to), 5);
        run(5);
        EXPECT_EQ(arrivals, (std::vector<Arrival>{{0, 5, 1}, {2, 5, 1}}));
    }
}

TEST_F(FabricTest, DelaysOfBothLinksAddUp) {
    fabric.set_link(0, {100 * us, 0, false}, 0);
    fabric.set_link(2, {30 * us, 0, false}, 0);
    fabric.take(0, frame_of(0, 2), 0);
    fabric.take(0, frame_of(0, 1), 0);
    run(0);
    EXPECT_EQ(arrivals, (std::vector<Arrival>{{1, 100 * us, 0}, {2, 130 * us, 0}}));
}

TEST_F(FabricTest, LatenessDoesNotAddUp) {
    fabric.set_link(0, {100 * us, 0, false}, 0);
    fabric.set_link(2, {100 * us, 0, false}, 0);
    fabric.take(0, frame_of(0, 2), 0);
    const auto nothing = [](std::size_t, const Frame&) { FAIL(); };
    EXPECT_EQ(fabric.advance(150 * us, nothing), 200 * us) << "50 us too late at the switch";
}

TEST_F(FabricTest, FramesFollowEachOtherAtTheRate) {
    fabric.set_link(0, {0, 8.0, false}, 0);  // 1000 Mbit/s
    for (int count = 0; count < 3; ++count) fabric.take(0, frame_of(0, 2), 0);
    run(0);
    EXPECT_EQ(arrivals, (std::vector<Arrival>{{2, 8 * us, 0}, {2, 16 * us, 0}, {2, 24 * us, 0}}));
}

TEST_F(FabricTest, SendersShareTheLinkOfTheReceiver) {
    fabric.set_link(2, {0, 8.0, false}, 0);
    fabric.take(0, frame_of(0, 2), 0);
    fabric.take(1, frame_of(1, 2), 0);
    run(0);
    EXPECT_EQ(arrivals, (std::vector<Arrival>{{2, 8 * us, 0}, {2, 16 * us, 1}}));
}

TEST_F(FabricTest, ASlowLinkMakesItsOwnNodeWait) {
    fabric.set_link(0, {0, 8000.0, false}, 0);
    int taken = 0;
    while (fabric.takes(0) && taken < 1'000'000) {
        fabric.take(0, frame_of(0, 2), 0);
        ++taken;
    }
    EXPECT_LT(taken, 1'000'000);
    EXPECT_TRUE(fabric.takes(1)) << "others are not concerned";
    run(0);
    EXPECT_EQ(arrivals.size(), static_cast<std::size_t>(taken)) << "and nothing is lost";
    EXPECT_TRUE(fabric.takes(0));
}

TEST_F(FabricTest, AReceiverThatIsTooSlowLosesFrames) {
    fabric.set_link(2, {0, 8000.0, false}, 0);
    const std::size_t sent = 100'000;
    for (std::size_t count = 0; count < sent; ++count) fabric.take(0, frame_of(0, 2), 0);
    run(0);
    EXPECT_GT(fabric.dropped(), 0u);
    EXPECT_EQ(arrivals.size() + fabric.dropped(), sent);
}

TEST_F(FabricTest, APortHoldsWhatItsLinkSendsIn50Ms) {
    fabric.set_link(2, {0, 80.0, false}, 0);  // 100 Mbit/s
    for (int count = 0; count < 10'000; ++count) fabric.take(0, frame_of(0, 2), 0);
    run(0);
    EXPECT_EQ(arrivals.back().at_ns, 50'000 * us);
}

TEST_F(FabricTest, WhatWaitsGoesOnAtTheNewRate) {
    Nanoseconds now = 0;
    for (std::size_t slow : {0U, 2U}) {
        arrivals.clear();
        fabric.set_link(slow, {0, 8000.0, false}, now);
        for (int count = 0; count < 3; ++count) fabric.take(0, frame_of(0, 2), now);
        fabric.advance(now, [](std::size_t, const Frame&) { FAIL(); });
        fabric.set_link(slow, {0, 8.0, false}, now);
        run(now);
        EXPECT_EQ(arrivals, (std::vector<Arrival>{{2, now + 8 * us, 0}, {2, now + 16 * us, 0}, {2, now + 24 * us, 0}}));
        now += 24 * us;
        fabric.set_link(slow, {}, now);
    }
}

TEST_F(FabricTest, ACutLinkCarriesNothingEitherWay) {
    fabric.set_link(1, {0, 0, true}, 0);
    fabric.take(1, frame_of(1, 0), 0);
    fabric.take(0, frame_of(0, 1), 0);
    run(0);
    EXPECT_TRUE(arrivals.empty());
    fabric.set_link(1, {}, 0);
    fabric.take(1, frame_of(1, 0), 0);
    run(0);
    EXPECT_EQ(arrivals, (std::vector<Arrival>{{0, 0, 1}}));
}

TEST_F(FabricTest, WhatIsUnderWayOnALinkThatIsCutDoesNotArrive) {
    fabric.set_link(1, {1000, 0, false}, 0);
    fabric.take(1, frame_of(1, 0), 0);
    fabric.set_link(1, {0, 0, true}, 10);
    run(1'000'000);
    EXPECT_TRUE(arrivals.empty());
    fabric.set_link(1, {}, 1'000'000);
    fabric.take(1, frame_of(1, 0), 1'000'000);
    run(1'000'000);
    EXPECT_EQ(arrivals.size(), 1u);
}

TEST_F(FabricTest, ANodeThatMovedIsFoundAtItsNewPort) {
    fabric.take(2, frame_of(0, 255), 0);
    run(0);
    arrivals.clear();
    fabric.take(1, frame_of(1, 0), 5);
    run(5);
    EXPECT_EQ(arrivals, (std::vector<Arrival>{{2, 5, 1}}));
}

}  // namespace
}  // namespace tailrace::cluster
