#include "part/reading_process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <string>
#include <thread>

#include "../error_of.hpp"
#include "../temporary_directory.hpp"
#include "base/file.hpp"
#include "part/hdf5.hpp"

namespace tailrace {
namespace {

class ReadingProcessTest : public testing::Test {
protected:
    void SetUp() override { File::create(path_).write_at(0, "x", 1); }
    // As HDF5 where it reads a damaged file.
    Json end_by(int signal) const {
        const hdf5::Quiet quiet;
        hdf5::begin_reading(path_);
        std::signal(signal, SIG_DFL);  // a sanitizer has a handler
        ::raise(signal);
        return {};
    }

    TemporaryDirectory directory_;
    std::string path_ = directory_ / "part.nc";
};

TEST_F(ReadingProcessTest, AnswersErrorsAndProgressComeFromAnotherProcess) {
    const pid_t here = ::getpid();
    const Json answer = in_reading_process([&](const ChildProgress&) { return Json{{"process", ::getpid()}}; });
    EXPECT_NE(answer.at("process").get<pid_t>(), here);
    const Error error =
        error_of([] { in_reading_process([](const ChildProgress&) -> Json { fail(Status::BAD_SHAPE, "as it was"); }); });
    EXPECT_EQ(error.status(), Status::BAD_SHAPE);
    EXPECT_STREQ(error.what(), "as it was");
    EXPECT_THROW(in_reading_process([](const ChildProgress&) -> Json { throw std::bad_alloc(); }), std::bad_alloc);
    std::vector<std::pair<uint64_t, uint64_t>> seen;
    const auto work = [](const ChildProgress& progress) { return Json{progress(1, 3), progress(2, 3)}; };
    const auto note = [&](uint64_t done, uint64_t all) {
        EXPECT_EQ(::getpid(), here);
        seen.emplace_back(done, all);
        return done < 2;
    };
    EXPECT_EQ(in_reading_process(work, note), (Json{true, false}));
    EXPECT_EQ(seen, (std::vector<std::pair<uint64_t, uint64_t>>{{1, 3}, {2, 3}}));
}

// Holds a lock in a thread, for some time.
class Holder {
public:
    explicit Holder(std::chrono::seconds time) {
        thread_ = std::jthread([this, time](const std::stop_token& ends) {
            const std::lock_guard lock(mutex);
            is_held_ = true;
            const auto until = std::chrono::steady_clock::now() + time;
            while (!ends.stop_requested() && std::chrono::steady_clock::now() < until)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
        });
        while (!is_held_) std::this_thread::yield();
    }

    std::mutex mutex;

private:
    std::atomic<bool> is_held_ = false;
    std::jthread thread_;
};

TEST_F(ReadingProcessTest, AChildThatWaitsForALockOfAnotherThreadIsStartedAgain) {
    Holder holder(std::chrono::seconds(1));
    const auto work = [&](const ChildProgress&) {
        const std::lock_guard lock(holder.mutex);
        return Json(::getpid());
    };
    EXPECT_NE(in_reading_process(work).get<pid_t>(), ::getpid());
    Holder longer(std::chrono::seconds(600));
    const Error error = error_of([&] {
        in_reading_process([&](const ChildProgress&) {
            const std::lock_guard lock(longer.mutex);
            return Json();
        });
    });
    EXPECT_EQ(error.status(), Status::IO_FAILED);
    EXPECT_NE(std::string(error.what()).find("waited for a lock that another thread"), std::string::npos) << error.what();
}

TEST_F(ReadingProcessTest, AFileThatEndsHdf5IsRefusedFromThenOn) {
    const auto read = [&](const ChildProgress&) {
        try {
            return end_by(SIGSEGV);
        } catch (const Error& error) {
            return Json{{"refused", error.what()}};
        }
    };
    const std::string refused = path_ + ": HDF5 ended with signal 11 when it read it: it is damaged, and is not read again";
    EXPECT_EQ(in_reading_process(read).at("refused"), refused);
    EXPECT_EQ(error_of([&] { hdf5::begin_reading(path_); }).what(), refused) << "in this process, too";
    File::create(path_).write_at(0, "another", 7);
    hdf5::begin_reading(path_);
}

TEST_F(ReadingProcessTest, AKilledChildIsNoDamage) {
    EXPECT_EQ(error_of([&] { in_reading_process([&](const ChildProgress&) { return end_by(SIGKILL); }); }).status(),
              Status::IO_FAILED);
    hdf5::begin_reading(path_);
}

}  // namespace
}  // namespace tailrace
