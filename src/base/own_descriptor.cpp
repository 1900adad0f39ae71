#include "base/own_descriptor.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <set>
#include <utility>

#include "base/file.hpp"
#include "base/paths.hpp"

namespace tailrace {
namespace {

// Pointers to the open descriptors of this process. A forked child closes the descriptors and sets them to -1. The list is never
// destroyed, since fork handlers run until the process ends.
struct Opened {
    std::mutex mutex;
    std::set<int*> places;

    static Opened& all() {
        static Opened* const opened = [] {
            pthread_atfork([] { all().mutex.lock(); }, [] { all().mutex.unlock(); }, [] { all().close_in_child(); });
            return new Opened;
        }();
        return *opened;
    }

    void close_in_child() {
        for (int* const place : places) ::close(std::exchange(*place, -1));
        places.clear();
        mutex.unlock();
    }
};

}  // namespace

OwnDescriptor::OwnDescriptor(const char* doing, const std::string& path, int flags) {
    Opened& opened = Opened::all();
    const std::lock_guard lock(opened.mutex);
    descriptor_ = open_regular_file(doing, path, flags);
    opened.places.insert(&descriptor_);
}

OwnDescriptor::OwnDescriptor(OwnDescriptor&& other) noexcept { take(other); }

OwnDescriptor& OwnDescriptor::operator=(OwnDescriptor&& other) noexcept {
    if (this == &other) return *this;
    close();
    take(other);
    return *this;
}

void OwnDescriptor::take(OwnDescriptor& other) {
    Opened& opened = Opened::all();
    const std::lock_guard lock(opened.mutex);
    descriptor_ = std::exchange(other.descriptor_, -1);
    opened.places.erase(&other.descriptor_);
    if (descriptor_ >= 0) opened.places.insert(&descriptor_);
}

bool OwnDescriptor::is_at(const std::string& path) const { return is_open() && is_open_at(descriptor_, path); }

void OwnDescriptor::close() noexcept {
    if (descriptor_ < 0) return;
    Opened& opened = Opened::all();
    const std::lock_guard lock(opened.mutex);
    opened.places.erase(&descriptor_);
    ::close(std::exchange(descriptor_, -1));
}

}  // namespace tailrace
