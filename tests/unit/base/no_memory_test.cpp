#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <new>
#include <utility>

#include "../temporary_directory.hpp"
#include "base/paths.hpp"

namespace {

int until_failure = 0;  // requests for memory until one fails; 0: none does

}  // namespace

void* operator new(size_t bytes) {
    if (until_failure > 0 && --until_failure == 0) throw std::bad_alloc();
    if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
    throw std::bad_alloc();
}
// Not inlined: the compiler takes `free` of what `new` gave for a mistake.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace tailrace {
namespace {

// Each request of a call fails once, in a run of its own: the caller is told, and the next call does all of it.
template <typename Make, typename Call>
int fail_each_request(Make&& make, Call&& call) {
    for (int number = 1;; ++number) {
        make();
        bool told = false;
        until_failure = number;
        try {
            call();
        } catch (const std::bad_alloc&) {
            told = true;
        }
        const bool failed = std::exchange(until_failure, 0) == 0;
        EXPECT_EQ(told, failed) << "request " << number;
        call();
        if (!failed) return number - 1;
    }
}

class NoMemoryTest : public testing::Test {
protected:
    void make_tree() {
        for (const char* folder : {"step000000", "step000001"}) {
            make_directories(tree_ + "/" + folder);
            for (const char* name : {"part.000000.000000.nc", "part.000000.000001.nc"})
                std::ofstream(tree_ + "/" + folder + "/" + name) << "data";
        }
    }

    TemporaryDirectory directory_;
    std::string tree_ = directory_ / "a-name-of-some-length.parts";
};

TEST_F(NoMemoryTest, IsToldWhereADirectoryIsListed) {
    std::vector<std::string> names;
    const int requests = fail_each_request([&] { make_tree(); }, [&] { names = list_directory(tree_ + "/step000000"); });
    EXPECT_GE(requests, 3);
    EXPECT_EQ(names, (std::vector<std::string>{"part.000000.000000.nc", "part.000000.000001.nc"}));
}

TEST_F(NoMemoryTest, IsToldWhereATreeIsRemoved) {
    const int requests = fail_each_request([&] { make_tree(); },
                                           [&] {
                                               remove_tree(tree_);
                                               EXPECT_FALSE(path_exists(tree_));
                                           });
    EXPECT_GE(requests, 6);
}

}  // namespace
}  // namespace tailrace
