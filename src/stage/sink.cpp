#include "stage/sink.hpp"

#include <fcntl.h>

#include <algorithm>

#include "base/checksum.hpp"
#include "base/error.hpp"
#include "stage/stop.hpp"

namespace tailrace {

namespace {

struct SinkKind {
    const char* name;
    std::unique_ptr<Sink> (*make)(const SinkPlace& place);
};

constexpr SinkKind kSinks[] = {{"mirror", make_mirror}, {"bundle", make_bundle}};

const SinkKind& kind_of(const std::string& name) {
    std::string names;
    for (const SinkKind& kind : kSinks) {
        if (name == kind.name) return kind;
        names += (names.empty() ? "" : " or ") + std::string(kind.name);
    }
    fail(Status::BAD_ARGUMENT, "there is no sink '", name, "': choose ", names);
}

}  // namespace

void check_sink(const std::string& name) { kind_of(name); }

std::unique_ptr<Sink> make_sink(const std::string& name, const SinkPlace& place) { return kind_of(name).make(place); }

uint64_t read_item(const Item& item, std::span<char> buffer, const std::function<void(std::span<const char>)>& take) {
    Checksum sum;
    for (uint64_t at = 0; at < item.identity.size_bytes;) {
        throw_if_stopped();
        const size_t wanted = std::min<uint64_t>(buffer.size(), item.identity.size_bytes - at);
        const size_t got = read_up_to(item.file.get(), at, buffer.data(), wanted, item.path);
        if (got < wanted) fail(Status::CORRUPT, item.path, " was truncated to ", at + got, " bytes while it was copied");
        sum.add(buffer.data(), got);
        take({buffer.data(), got});
        at += got;
    }
    return sum.value();
}

uint64_t sum_of_stored(int file, uint64_t at, uint64_t bytes, std::span<char> buffer, const std::string& path) {
    ::posix_fadvise(file, static_cast<off_t>(at), static_cast<off_t>(bytes), POSIX_FADV_DONTNEED);
    Checksum sum;
    for (uint64_t done = 0; done < bytes;) {
        throw_if_stopped();
        const size_t got = read_up_to(file, at + done, buffer.data(), std::min<uint64_t>(buffer.size(), bytes - done), path);
        if (got == 0) fail(Status::CORRUPT, path, " ends at byte ", at + done, ": its copy is not whole");
        sum.add(buffer.data(), got);
        done += got;
    }
    return sum.value();
}

}  // namespace tailrace
