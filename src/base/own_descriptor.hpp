// A file descriptor that a forked child closes. A child that kept a lock or a heartbeat open would make other runs believe that
// this process is still alive.
#pragma once

#include <string>

namespace tailrace {

class OwnDescriptor {
public:
    OwnDescriptor() = default;
    // Opens the file with open()'s flags. Throws Error: "cannot DOING PATH: REASON".
    OwnDescriptor(const char* doing, const std::string& path, int flags);
    OwnDescriptor(OwnDescriptor&& other) noexcept;
    OwnDescriptor& operator=(OwnDescriptor&& other) noexcept;
    OwnDescriptor(const OwnDescriptor&) = delete;
    ~OwnDescriptor() { close(); }

    // False after close(), and in a child of the process that opened it.
    bool is_open() const { return descriptor_ >= 0; }
    int get() const { return descriptor_; }
    // Whether the path still names the file that is open.
    bool is_at(const std::string& path) const;
    void close() noexcept;

private:
    void take(OwnDescriptor& other);

    int descriptor_ = -1;
};

}  // namespace tailrace
