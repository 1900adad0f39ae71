// The sink `bundle`: one tar file with an index behind its end mark, compressed or not.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "base/checksum.hpp"
#include "base/paths.hpp"
#include "base/system_error.hpp"
#include "base/workers.hpp"
#include "stage/attributes.hpp"
#include "stage/bundle_index.hpp"
#include "stage/frames.hpp"
#include "stage/sink.hpp"
#include "stage/stop.hpp"
#include "stage/tar.hpp"

namespace tailrace {
namespace {

constexpr size_t kBufferBytes = 8u << 20;
constexpr size_t kCompareBytes = 1u << 20;
// Small files are read, and the bundle is compared, by several threads: on two processors in half of the time.
constexpr size_t kThreads = 4;

class Bundle : public Sink {
public:
    explicit Bundle(const SinkPlace& place) : place_(place), path_(place.temporary + "/" + place.name), buffer_(kBufferBytes) {
        if (place.zstd_level > 0) compressor_.emplace(place.zstd_level);
        ::unlink(path_.c_str());
        file_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
        if (!file_.is_open()) fail_system("create", path_, errno);
    }

    void add(std::span<Item> items, const std::function<void()>& on_copied) override {
        constexpr size_t kGroup = 512;
        for (size_t at = 0; at < items.size(); at += kGroup) {
            const std::span<Item> group = items.subspan(at, std::min(kGroup, items.size() - at));
            std::vector<Head> heads(group.size());
            for_each_index(group.size(), kThreads, [&](size_t k, size_t) { heads[k] = head_of(group[k]); });
            for (size_t done = 0; done < group.size();) {
                throw_if_stopped();
                const size_t count = add_small(group.subspan(done), std::span(heads).subspan(done));
                if (count == 0) add_large(group[done], heads[done]);
                for (const size_t end = done + std::max<size_t>(count, 1); done < end; ++done) on_copied();
            }
        }
    }

    void sync() override {
        put_index();
        flush();
        if (::fsync(file_.get()) != 0) fail_system("fsync", path_, errno);
    }

    void compare() override {
        std::vector<std::vector<char>> buffers(kThreads, std::vector<char>(kCompareBytes));
        for_each_index(written_.size(), kThreads, [&](size_t k, size_t thread) {
            const Written& piece = written_[k];
            if (sum_of_stored(file_.get(), piece.at, piece.bytes, buffers[thread], path_) != piece.sum) fail_compare();
        });
        if (marks_.empty()) return;
        // Whether what was stored becomes the files' bytes again. The frames are in the page cache now, as read from the device.
        FrameReader reader(file_.get(), path_, marks_);
        for (size_t frame = 0; frame < frame_sums_.size(); ++frame) {
            const std::span<char> bytes = std::span(buffer_).first(marks_[frame + 1].tar_at - marks_[frame].tar_at);
            reader.read(marks_[frame].tar_at, bytes);
            if (Checksum::of(bytes.data(), bytes.size()) != frame_sums_[frame]) fail_compare();
        }
    }

    void publish() override {
        const bool is_compressed = place_.zstd_level > 0;
        const std::string name = place_.target + "/" + place_.name;
        rename_path(path_, text(name, is_compressed ? kCompressedEnding : kEnding));
        // A drain that was killed here may have made this bundle in the other form. Its files are in this one.
        other_form_ = text(name, is_compressed ? kEnding : kCompressedEnding);
    }

    void sync_names() override {
        sync_directory(place_.target);
        ::unlink(other_form_.c_str());
    }

    void abandon() noexcept override { ::unlink(path_.c_str()); }

private:
    struct Member {
        std::string name, texts;  // texts: all that the index has of the member, beginning with its name
        BundleEntry entry;
    };
    struct Written {
        uint64_t at, bytes, sum;
    };

    // What stands before the bytes of a member.
    struct Head {
        std::vector<Attribute> attributes;
        std::string text;
    };

    static Head head_of(const Item& item) {
        Head head;
        if (item.kind == ItemKind::file) head.attributes = user_attributes_of(item.file.get(), item.path);
        head.text = tar_header(item, head.attributes);
        return head;
    }

    static uint64_t data_bytes(const Item& item) { return item.kind == ItemKind::file ? item.identity.size_bytes : 0; }
    static size_t padding(uint64_t bytes) { return (kTarBlock - bytes % kTarBlock) % kTarBlock; }

    // Adds the first ones that fit into the buffer; each is read into its place there. Returns how many.
    size_t add_small(std::span<Item> items, std::span<const Head> heads) {
        const auto size_of = [&](size_t k) { return heads[k].text.size() + data_bytes(items[k]) + padding(data_bytes(items[k])); };
        if (size_of(0) > buffer_.size() - filled_) flush();
        std::vector<size_t> places;
        for (size_t k = 0; k < items.size() && size_of(k) <= buffer_.size() - filled_; ++k) {
            places.push_back(filled_);
            filled_ += size_of(k);
        }
        for_each_index(places.size(), kThreads, [&](size_t k, size_t) {
            Item& item = items[k];
            const uint64_t bytes = data_bytes(item);
            char* const data = std::copy(heads[k].text.begin(), heads[k].text.end(), buffer_.data() + places[k]);
            if (item.kind == ItemKind::file) item.sum = read_item(item, std::span(data, bytes), [](std::span<const char>) {});
            std::fill_n(data + bytes, padding(bytes), '\0');
        });
        for (size_t k = 0; k < places.size(); ++k) note_member(items[k], heads[k], tar_at_ + places[k] + heads[k].text.size());
        return places.size();
    }

    // Adds one that is larger than the buffer.
    void add_large(Item& item, const Head& head) {
        put(head.text.data(), head.text.size());
        const uint64_t data_at = tar_at_ + filled_;
        flush();
        item.sum = read_item(item, buffer_, [&](std::span<const char> piece) {
            filled_ = piece.size();
            flush();
        });
        static constexpr char kZeros[kTarBlock] = {};
        put(kZeros, padding(item.identity.size_bytes));
        note_member(item, head, data_at);
    }

    void note_member(const Item& item, const Head& head, uint64_t data_at) {
        const std::string name = item.target_path(), more = packed(head.attributes);
        entries_.push_back({name,
                            name + item.link + more,
                            {.name_at = 0,
                             .name_bytes = static_cast<uint32_t>(name.size()),
                             .kind = static_cast<uint32_t>(item.kind),
                             .link_bytes = static_cast<uint32_t>(item.link.size()),
                             .mode = item.identity.mode & 07777,
                             .data_at = data_at,
                             .data_bytes = data_bytes(item),
                             .mtime_ns = item.identity.mtime_ns,
                             .sum = item.sum,
                             .attributes_bytes = static_cast<uint32_t>(more.size()),
                             .reserved = 0}});
    }

    void put(const char* data, size_t bytes) {
        while (bytes > 0) {
            if (filled_ == buffer_.size()) flush();
            const size_t fits = std::min(bytes, buffer_.size() - filled_);
            std::memcpy(buffer_.data() + filled_, data, fits);
            filled_ += fits;
            data += fits;
            bytes -= fits;
        }
    }

    void flush() {
        if (filled_ == 0) return;
        if (compressor_)
            store_frames();
        else
            store({buffer_.data(), filled_});
        tar_at_ += filled_;
        filled_ = 0;
    }

    void store(std::span<const char> bytes) {
        write_fully(file_.get(), stored_at_, bytes.data(), bytes.size(), path_);
        written_.push_back({stored_at_, bytes.size(), Checksum::of(bytes.data(), bytes.size())});
        ::sync_file_range(file_.get(), static_cast<off_t>(stored_at_), static_cast<off_t>(bytes.size()), SYNC_FILE_RANGE_WRITE);
        stored_at_ += bytes.size();
    }

    void store_frames() {
        compressed_.clear();
        if (marks_.empty()) marks_.push_back({.tar_at = 0, .stored_at = 0});
        for (size_t at = 0; at < filled_;) {
            const std::span piece(buffer_.data() + at, std::min<size_t>(filled_ - at, kFrameBytes));
            compressor_->append(piece, compressed_);
            frame_sums_.push_back(Checksum::of(piece.data(), piece.size()));
            at += piece.size();
            marks_.push_back({.tar_at = tar_at_ + at, .stored_at = stored_at_ + compressed_.size()});
        }
        store(compressed_);
    }

    [[noreturn]] void fail_compare() const {
        fail(Status::CORRUPT, path_, " reads back other bytes than were written: its device may be damaged");
    }

    void put_index() {
        constexpr char kEndMark[2 * kTarBlock] = {};
        put(kEndMark, sizeof kEndMark);
        flush();
        compressor_.reset();
        const std::string index = sorted_index();
        if (!marks_.empty()) {
            const uint64_t bytes = index.size() + sizeof(BundleEnd);
            if (bytes > UINT32_MAX) fail(Status::INTERNAL, path_, ": its index has ", bytes, " bytes, more than a frame may have");
            const SkippedFrame skipped{kSkippedFrameMagic, static_cast<uint32_t>(bytes)};
            put(reinterpret_cast<const char*>(&skipped), sizeof skipped);
        }
        BundleEnd end{};
        std::memcpy(end.magic, kBundleMagic, sizeof end.magic);
        end.version = kBundleVersion;
        end.entry_bytes = sizeof(BundleEntry);
        end.count = entries_.size();
        end.index_at = stored_at_ + filled_;
        end.index_bytes = index.size();
        end.sum = Checksum::of(index.data(), index.size());
        end.marks = marks_.size();
        end.end_sum = Checksum::of(&end, offsetof(BundleEnd, end_sum));
        put(index.data(), index.size());
        put(reinterpret_cast<const char*>(&end), sizeof end);
    }

    std::string sorted_index() {
        std::sort(entries_.begin(), entries_.end(), [](const Member& a, const Member& b) { return a.name < b.name; });
        std::string index(entries_.size() * sizeof(BundleEntry), '\0'), names;
        for (size_t i = 0; i < entries_.size(); ++i) {
            entries_[i].entry.name_at = names.size();
            names += entries_[i].texts;
            std::memcpy(index.data() + i * sizeof(BundleEntry), &entries_[i].entry, sizeof(BundleEntry));
        }
        index.append(reinterpret_cast<const char*>(marks_.data()), marks_.size() * sizeof(FrameMark));
        return index + names;
    }

    SinkPlace place_;
    std::string path_;
    std::string other_form_;  // the path that the bundle would have in the other form, compressed or not
    Descriptor file_;
    std::vector<char> buffer_;
    size_t filled_ = 0;
    uint64_t tar_at_ = 0,
             stored_at_ = 0;  // where the buffer will be, in the tar stream and in the file; the same if not compressed
    std::optional<FrameCompressor> compressor_;
    std::vector<char> compressed_;
    std::vector<FrameMark> marks_;      // none if not compressed
    std::vector<uint64_t> frame_sums_;  // XXH3 of the bytes before compression
    std::vector<Written> written_;
    std::vector<Member> entries_;
};

}  // namespace

std::unique_ptr<Sink> make_bundle(const SinkPlace& place) { return std::make_unique<Bundle>(place); }

}  // namespace tailrace
