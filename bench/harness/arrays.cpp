#include "arrays.hpp"

#include <sys/mman.h>

#include <cstdio>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

namespace bench {

Buffer::Buffer(uint64_t bytes) : bytes_(bytes) {
    void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<std::byte *>(at);
}

Buffer::Buffer(Buffer &&other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Buffer &Buffer::operator=(Buffer &&other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

Buffer::~Buffer() {
    if (data_ != nullptr) munmap(data_, bytes_);
}

Case find_case(const std::string &name, int steps) {
    if (name == "large") return {name, 8, {32, 256, 256}, 8, steps};  // 8 arrays of 16 MiB a rank
    if (name == "small") return {name, 100, {16, 32, 32}, 4, steps};  // 100 arrays of 64 KiB a rank
    if (name == "kernel") return {name, 4, {32, 256, 256}, 8, steps, Pattern::kernel};
    if (name == "smooth") return {name, 4, {64, 256, 256}, 4, steps, Pattern::smooth};  // 4 arrays of 16 MiB a rank
    throw std::invalid_argument("unknown case '" + name + "'; known: large, small, kernel, smooth");
}

const std::string &variable_name(int variable) {
    static const std::vector<std::string> names = [] {  // a program has its names at hand
        std::vector<std::string> all(1000);
        char text[16];
        for (int v = 0; v < 1000; ++v) all[static_cast<size_t>(v)] = (std::snprintf(text, sizeof text, "v%03d", v), text);
        return all;
    }();
    return names.at(static_cast<size_t>(variable));
}

std::string step_path(const std::string &folder, int step, const char *suffix) {
    char text[64];
    std::snprintf(text, sizeof text, "/step%06d%s", step, suffix);
    return folder + text;
}

}  // namespace bench
