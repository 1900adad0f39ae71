#include "storage.hpp"

#include "harness/arrays.hpp"
#include "harness/job.hpp"
#include "harness/values.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

namespace bench {
namespace {

constexpr uint64_t call_bytes = 1 << 20;
constexpr uint64_t call_elements = call_bytes / sizeof(double);

struct Ranks {
    int rank, ranks, partner;  // the rank whose files are examined and read
    explicit Ranks(bool shared) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        partner = shared ? (rank + (ranks + 1) / 2) % ranks : rank;  // on another node, if there is one
    }
};

std::string folder_of_rank(const std::string &directory, int rank) { return directory + "/rank-" + std::to_string(rank); }

std::string file_of(const std::string &directory, int rank, int number) {
    return folder_of_rank(directory, rank) + "/" + std::to_string(number);
}

int opened(const std::string &path, int flags) {
    const int fd = open(path.c_str(), flags | O_CLOEXEC, 0644);
    if (fd < 0) fail("cannot open " + path);
    return fd;
}

void create(const std::string &directory, int rank, int files) {
    for (int number = 0; number < files; ++number) close(opened(file_of(directory, rank, number), O_CREAT | O_EXCL | O_WRONLY));
}

void look_at(const std::string &directory, int rank, int files) {
    for (int number = 0; number < files; ++number) {
        struct stat found{};
        const std::string path = file_of(directory, rank, number);
        if (stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode) || found.st_size != 0)
            fail(path + " is not there, or not empty");
    }
}

void remove_all_of(const std::string &directory, int rank, int files) {
    for (int number = 0; number < files; ++number)
        if (unlink(file_of(directory, rank, number).c_str()) != 0) fail("cannot remove " + file_of(directory, rank, number));
}

// Writes the bytes of a rank: the values of the formula for variable `rank` in step 0.
void write_bytes(const std::string &path, const std::byte *bytes, uint64_t calls) {
    const int fd = opened(path, O_CREAT | O_EXCL | O_WRONLY);
    for (uint64_t call = 0; call < calls; ++call)
        if (pwrite(fd, bytes + call * call_bytes, call_bytes, static_cast<off_t>(call * call_bytes)) !=
            static_cast<ssize_t>(call_bytes))
            fail("cannot write " + path);
    if (fsync(fd) != 0 || close(fd) != 0) fail("cannot sync " + path);
}

void read_bytes(const std::string &path, std::byte *bytes, uint64_t calls) {
    const int fd = opened(path, O_RDONLY);
    for (uint64_t call = 0; call < calls; ++call)
        if (pread(fd, bytes + call * call_bytes, call_bytes, static_cast<off_t>(call * call_bytes)) !=
            static_cast<ssize_t>(call_bytes))
            fail("cannot read " + path);
    close(fd);
}

}  // namespace

void measure_storage(const Options &options) {
    const Ranks of(options.number("shared") != 0);
    const std::string directory = options.text("directory");
    const int files = options.number("files");
    const auto calls = static_cast<uint64_t>(options.number("mib"));
    std::filesystem::create_directories(folder_of_rank(directory, of.rank));
    Buffer sent(calls * call_bytes), received(calls * call_bytes);
    fill_values(sent.data(), sizeof(double), of.rank, 0, 0, calls * call_elements);

    Clock clock(MPI_COMM_WORLD);
    const std::string name = "/bytes-";
    clock.time([&] { create(directory, of.rank, files); });
    clock.time([&] { look_at(directory, of.partner, files); });
    clock.time([&] { remove_all_of(directory, of.rank, files); });
    clock.time([&] { write_bytes(directory + name + std::to_string(of.rank), sent.data(), calls); });
    clock.time([&] { read_bytes(directory + name + std::to_string(of.partner), received.data(), calls); });
    uint64_t index = 0;
    if (count_mismatches(received.data(), sizeof(double), of.partner, 0, 0, calls * call_elements, &index) != 0)
        fail("wrong bytes of rank " + std::to_string(of.partner) + ", first at " + std::to_string(index));

    const std::vector<double> seconds = clock.seconds();
    meet(MPI_COMM_WORLD);
    if (unlink((directory + name + std::to_string(of.rank)).c_str()) != 0) fail("cannot remove " + directory);
    if (of.rank != 0) return;
    const double all_files = static_cast<double>(files) * of.ranks, all_mib = static_cast<double>(calls) * of.ranks;
    std::cout << nlohmann::ordered_json{{"creates_per_s", all_files / seconds[0]}, {"stats_per_s", all_files / seconds[1]},
                                        {"removes_per_s", all_files / seconds[2]}, {"write_mib_per_s", all_mib / seconds[3]},
                                        {"read_mib_per_s", all_mib / seconds[4]},  {"seconds", seconds},
                                        {"checked_bytes", all_mib * call_bytes}}
              << std::endl;
}

}  // namespace bench
