#include "record/stream_lock.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>

#include "../error_of.hpp"
#include "../temporary_directory.hpp"
#include "base/paths.hpp"
#include "record/write_access.hpp"

namespace tailrace {
namespace {

class Locks : public testing::Test {
protected:
    Locks() { make_directories(parts_); }
    void write_heartbeat(Writer writer, int64_t age_s) const {
        const std::string path = parts_ + "/writer.json";
        replace_file(path, writer.json().dump(), false);
        const timespec then{std::time(nullptr) - age_s, 0}, both[] = {then, then};
        ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), both, 0), 0);
    }

    TemporaryDirectory directory_;
    std::string parts_ = directory_ / "h.parts";
};

TEST_F(Locks, TwoHandlesOfAProcessExcludeEachOther) {
    StreamLock first(directory_.path(), "h", false);
    const Error error = error_of([&] { StreamLock(directory_.path(), "h", false); });
    EXPECT_EQ(error.status(), Status::IN_USE);
    EXPECT_NE(std::string(error.what()).find(text("(process ", ::getpid())), std::string::npos) << error.what();
    ASSERT_TRUE(living_writer(directory_.path(), "h"));
    first.release();
    EXPECT_FALSE(living_writer(directory_.path(), "h"));
    EXPECT_EQ(list_directory(parts_), std::vector<std::string>{}) << "neither lock nor heartbeat is left";
    StreamLock(directory_.path(), "h", false);
}

TEST_F(Locks, ARankThatWritesKeepsTheStreamLocked) {
    ByteLock lock(parts_ + "/lock", ByteLock::File::made);
    ASSERT_EQ(lock.try_take(1, LockKind::shared), LockAnswer::taken);
    ByteLock other(parts_ + "/lock", ByteLock::File::made);
    EXPECT_EQ(other.try_take(1, LockKind::exclusive), LockAnswer::busy);
    EXPECT_EQ(other.try_take(1, LockKind::shared), LockAnswer::taken);
}

TEST_F(Locks, AForkedChildDoesNotKeepTheLock) {
    auto lock = std::make_unique<StreamLock>(directory_.path(), "h", false);
    int wait[2];
    ASSERT_EQ(::pipe(wait), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        char byte;
        ::close(wait[1]);
        (void)!::read(wait[0], &byte, 1);
        lock.reset();  // it is the parent's: the child removes nothing
        ::_exit(0);
    }
    ASSERT_TRUE(path_exists(parts_ + "/writer.json"));
    lock.reset();
    StreamLock again(directory_.path(), "h", false);
    ::close(wait[0]);
    ::close(wait[1]);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_TRUE(path_exists(parts_ + "/writer.json"));
    EXPECT_TRUE(path_exists(parts_ + "/lock"));
}

TEST_F(Locks, AHeartbeatTellsWhereTheLockMayNot) {
    Writer other;
    other.host = "node12";
    other.process = 815;
    other.job = "4711";
    other.nodes = 2;
    const bool everywhere = lock_reach(directory_.path()) == LockReach::all_nodes;
    write_heartbeat(other, 10);
    if (!everywhere) {
        const Error error = error_of([&] { StreamLock(directory_.path(), "h", false); });
        EXPECT_EQ(error.status(), Status::IN_USE);
        EXPECT_NE(std::string(error.what()).find("job 4711 on node12 (process 815, since"), std::string::npos) << error.what();
        EXPECT_TRUE(StreamLock(directory_.path(), "h", true).overrode());
    }
    write_heartbeat(other, kHeartbeatValidS + 10);
    StreamLock taken(directory_.path(), "h", false);
    EXPECT_EQ(taken.proves_end_of(other), everywhere);
    EXPECT_FALSE(taken.overrode());
}

TEST_F(Locks, ReachOfLocks) {
    EXPECT_EQ(lock_reach_of("ext4", "rw"), LockReach::all_nodes);
    EXPECT_EQ(lock_reach_of("nfs4", "rw,vers=4.2"), LockReach::all_nodes);
    EXPECT_EQ(lock_reach_of("nfs", "rw,nolock"), LockReach::this_node);
    EXPECT_EQ(lock_reach_of("nfs", "rw,local_lock=posix"), LockReach::this_node);
    EXPECT_EQ(lock_reach_of("nfs", "rw,local_lock=none"), LockReach::all_nodes);
    EXPECT_EQ(lock_reach_of("lustre", "rw,flock,lazystatfs"), LockReach::all_nodes);
    EXPECT_EQ(lock_reach_of("lustre", "rw,localflock"), LockReach::this_node);
    EXPECT_EQ(lock_reach_of("lustre", "rw"), LockReach::this_node);
    EXPECT_EQ(lock_reach_of("fuse.mfs", "rw"), LockReach::this_node);
}

TEST_F(Locks, AnOpeningIsContestedUntilTheRunBeforeHasEnded) {
    const std::string step = journal_line({{"kind", "step"}});
    {
        WriteAccess first(directory_.path(), "h", {});
        EXPECT_FALSE(first.is_contested());
        EXPECT_FALSE(path_exists(first.journal())) << "opening alone writes nothing";
        first.segment().append_line(step, false);
        EXPECT_EQ(first.part_number(), 0u);
        WriteAccess by_hand(directory_.path(), "h", {.takes_over = true});
        EXPECT_TRUE(by_hand.is_contested());
        EXPECT_EQ(by_hand.part_number(), 1u);
        EXPECT_EQ(error_of([&] { first.segment().append_line(step, false); }).status(), Status::OVERTAKEN);
        by_hand.end();
    }
    WriteAccess third(directory_.path(), "h", {});
    EXPECT_FALSE(third.is_contested());
    EXPECT_EQ(third.part_number(), 2u) << "the first run may live: names stay apart";
}

TEST_F(Locks, AStreamOfALaterVersionIsNotWritten) {
    const std::string path = parts_ + "/journal.jsonl";
    Json head = SegmentHead().json();
    head["format"] = kJournalFormat + 1;
    head["writer"]["version"] = "9.8.7";
    replace_file(path, journal_line(head), false);
    const Error error = error_of([&] { WriteAccess(directory_.path(), "h", {}); });
    EXPECT_EQ(error.status(), Status::UNSUPPORTED);
    EXPECT_NE(std::string(error.what()).find("Tailrace 9.8.7"), std::string::npos) << error.what();
}

}  // namespace
}  // namespace tailrace
