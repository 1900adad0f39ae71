#include "forward/post.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "gather/memory_failure.hpp"

namespace tailrace {
namespace {

constexpr int kOrderTag = 11, kNoticeTag = 12, kParcelTag = 13, kAnswerTag = 14;
constexpr uint64_t kMessageBytes = 16u << 20;  // of a parcel that travels
constexpr size_t kPathBytes = 64;

// Small enough to arrive while the sender computes.
struct Notice {
    Label label;
    uint64_t crate = 0, gone = 0, bytes = 0, crate_bytes = 0;
    char path[kPathBytes] = "";  // empty: it travels
};

void wait_until(auto&& done) {
    for (Backoff backoff; !done();) backoff.pause();
}

}  // namespace

Crate::Crate(uint64_t bytes, bool shared) : bytes_(bytes) {
    static uint64_t serial = 0;
    number_ = ++serial;
    if (!shared) {
        own_.resize(bytes);
        base_ = own_.data();
        return;
    }
    try {
        file_ = File::create_unnamed("/dev/shm");
        base_ = static_cast<std::byte*>(file_.map(0, bytes));
    } catch (const Error& error) {
        fail(Status::NO_MEMORY, "no memory to share with the rank that writes: ", bytes, " bytes in /dev/shm: ", error.what(),
             "; raise the size of /dev/shm, or lower 'overlap'");
    }
}

Crate::~Crate() {
    if (file_.is_open() && base_ != nullptr) munmap(base_, bytes_);
}

void Crate::wait_sent() {
    for (MPI_Request& send : sends_) check_mpi(wait_with_backoff(send), "MPI_Isend");
    sends_.clear();
}

Post::~Post() {
    for (Letter& letter : sent_) wait_with_backoff(letter.request);
    for (const auto& [of, view] : views_) munmap(view.base, view.bytes);
}

std::string Post::receive_text(uint64_t from, int tag) const {
    MPI_Status status;
    int arrived = 0, bytes = 0;
    wait_until([&] {
        check_mpi(MPI_Iprobe(static_cast<int>(from), tag, job_.all(), &arrived, &status), "MPI_Iprobe");
        return arrived != 0;
    });
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    std::string text(static_cast<size_t>(bytes), '\0');
    finish_mpi(
        [&](MPI_Request* request) {
            return MPI_Irecv(text.data(), bytes, MPI_BYTE, static_cast<int>(from), tag, job_.all(), request);
        },
        "MPI_Irecv");
    return text;
}

void Post::send(uint64_t to, int tag, std::string text, bool wait) {
    for (auto letter = sent_.begin(); letter != sent_.end();) {
        int done = 0;
        check_mpi(MPI_Test(&letter->request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        letter = done ? sent_.erase(letter) : std::next(letter);
    }
    Letter& letter = sent_.emplace_back(std::move(text));
    check_mpi(MPI_Isend(letter.text.data(), static_cast<int>(letter.text.size()), MPI_BYTE, static_cast<int>(to), tag, job_.all(),
                        &letter.request),
              "MPI_Isend");
    if (wait) check_mpi(wait_with_backoff(letter.request), "MPI_Isend");
}

void Post::send_order(uint64_t to, const Json& order, bool wait) {
    // Not as JSON text, which has no place for bytes that are not UTF-8.
    const std::vector<uint8_t> bytes = Json::to_msgpack(order);
    send(to, kOrderTag, std::string(bytes.begin(), bytes.end()), wait);
}

std::string Post::receive_order(uint64_t from) const { return receive_text(from, kOrderTag); }

void Post::send_parcel(uint64_t to, const Label& label, Crate& crate, uint64_t bytes, uint64_t gone) {
    Notice notice{label, crate.number_, gone, bytes, crate.bytes_, ""};
    if (crate.file_.is_open()) {
        const std::string path = crate.file_.path_for_others();
        std::memcpy(notice.path, path.c_str(), std::min(path.size() + 1, kPathBytes));
    }
    send(to, kNoticeTag, {reinterpret_cast<const char*>(&notice), sizeof notice}, false);
    crate.busy = true;
    if (crate.file_.is_open()) return;
    for (uint64_t done = 0; done < bytes; done += kMessageBytes)
        check_mpi(MPI_Isend(crate.base() + done, static_cast<int>(std::min(kMessageBytes, bytes - done)), MPI_BYTE,
                            static_cast<int>(to), kParcelTag, job_.all(), &crate.sends_.emplace_back()),
                  "MPI_Isend");
}

// One message after the other; where there is no memory for all of them, each in the place of the one before.
void Post::receive_pieces(uint64_t from, uint64_t bytes, Delivery& delivery) const {
    std::exception_ptr error;
    std::vector<std::byte>& own = delivery.own_;
    try {
        own.resize(bytes);
    } catch (const std::bad_alloc&) {
        error = std::current_exception();
        run_or_end_job(true, [&] { own.resize(std::min(kMessageBytes, bytes)); });
    }
    for (uint64_t done = 0; done < bytes; done += kMessageBytes) {
        const uint64_t now = std::min(kMessageBytes, bytes - done);
        finish_long_mpi(
            [&](MPI_Request* request) {
                return MPI_Irecv(own.data() + (error ? 0 : done), static_cast<int>(now), MPI_BYTE, static_cast<int>(from),
                                 kParcelTag, job_.all(), request);
            },
            "MPI_Irecv");
    }
    if (error) std::rethrow_exception(error);
    delivery.base_ = own.data();
}

Delivery Post::receive_parcel(uint64_t from, const Label& label) {
    Notice notice;
    finish_mpi(
        [&](MPI_Request* request) {
            return MPI_Irecv(&notice, sizeof notice, MPI_BYTE, static_cast<int>(from), kNoticeTag, job_.all(), request);
        },
        "MPI_Irecv");
    if (const auto gone = views_.find({from, notice.gone}); gone != views_.end()) {
        munmap(gone->second.base, gone->second.bytes);
        views_.erase(gone);
    }
    Delivery delivery;
    if (notice.path[0] == '\0') receive_pieces(from, notice.bytes, delivery);
    if (notice.label != label)
        fail(Status::INTERNAL, "rank ", from, " sent step ", notice.label.step, " of stream ", notice.label.stream,
             " in place of step ", label.step, " of stream ", label.stream);
    if (notice.path[0] == '\0') return delivery;
    View& view = views_[{from, notice.crate}];
    if (view.base == nullptr) {
        File file = File::open_write(notice.path);
        view = {static_cast<std::byte*>(file.map(0, notice.crate_bytes)), notice.crate_bytes};
    }
    delivery.base_ = view.base;
    return delivery;
}

void Post::send_answer(uint64_t to, const Answer& answer) {
    const uint64_t head[] = {answer.stream, static_cast<uint64_t>(answer.status)};
    send(to, kAnswerTag, std::string(reinterpret_cast<const char*>(head), sizeof head) + answer.text, false);
}

Answer Post::receive_answer(uint64_t from) const {
    const std::string text = receive_text(from, kAnswerTag);
    uint64_t head[2];
    std::memcpy(head, text.data(), sizeof head);
    return {head[0], static_cast<Status>(head[1]), text.substr(sizeof head)};
}

bool Post::has_answer(uint64_t from) const {
    int arrived = 0;
    check_mpi(MPI_Iprobe(static_cast<int>(from), kAnswerTag, job_.all(), &arrived, MPI_STATUS_IGNORE), "MPI_Iprobe");
    return arrived != 0;
}

}  // namespace tailrace
