#include <algorithm>
#include <cstring>
#include <deque>
#include <future>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/object_files.h"

namespace capstan {
namespace {

// Returns how far to read ahead. A range of a few bytes is at most doubled, as otherwise most of
// what is read would be the tail.
uint64_t WithTail(uint64_t offset, uint64_t likely_end) {
  if (likely_end == Source::kToTheEnd) return likely_end;
  return likely_end + std::min(kRecordTail, std::max(likely_end, offset) - offset);
}

class ObjectStream : public ByteStream {
 public:
  ObjectStream(ObjectStore& store, std::string key, std::string name, uint64_t offset,
               uint64_t likely_end)
      : store_(store),
        key_(std::move(key)),
        name_(std::move(name)),
        likely_end_(WithTail(offset, likely_end)),
        next_(offset),
        growth_(likely_end == Source::kToTheEnd ? kFirstPiece : kMostPiece) {
    Request();
  }

  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    CAPSTAN_RETURN_IF_ERROR(error_);
    while (at_ == piece_.size() && !buffer.empty()) {
      const absl::StatusOr<bool> more = Advance();
      if (!more.ok()) return error_ = more.status();
      if (!*more) return size_t{0};
    }
    const size_t taken = std::min(buffer.size(), piece_.size() - at_);
    if (taken > 0) std::memcpy(buffer.data(), piece_.data() + at_, taken);
    at_ += taken;
    return taken;
  }

 private:
  // Makes the next piece the present one. Returns false at the end of the object.
  absl::StatusOr<bool> Advance();

  // Requests the piece that begins at next_.
  void Request();

  bool at_end() const { return size_.has_value() && next_ >= *size_; }

  ObjectStore& store_;
  const std::string key_;
  const std::string name_;
  const uint64_t likely_end_;
  uint64_t next_;    // Where the next requested piece begins.
  uint64_t growth_;  // How large that piece may be.
  // The size and the version of the object are known after the first piece.
  std::optional<uint64_t> size_;
  ObjectVersion version_;
  std::string piece_;
  size_t at_ = 0;
  absl::Status error_;
  // The last member, so that pieces under way end before the members that they use are destroyed.
  std::deque<std::future<absl::StatusOr<Object>>> ahead_;
};

void ObjectStream::Request() {
  uint64_t length = growth_;
  if (size_.has_value()) length = std::min(length, *size_ - next_);
  if (next_ < likely_end_) length = std::min(length, likely_end_ - next_);
  growth_ = std::min(4 * growth_, kMostPiece);
  const ReadRange range{
      .offset = next_, .length = length, .version = version_, .may_be_short = !size_.has_value()};
  next_ += length;
  // If no thread could be started, the piece is read in this one.
  ahead_.push_back(std::async(std::launch::async | std::launch::deferred,
                              [this, range] { return store_.Read(key_, range); }));
}

absl::StatusOr<bool> ObjectStream::Advance() {
  if (ahead_.empty() && at_end()) return false;
  if (ahead_.empty()) {
    // Beyond the likely end only the rest of a record is read.
    if (next_ >= likely_end_) growth_ = kFirstPiece;
    Request();
  }
  absl::StatusOr<Object> piece = ahead_.front().get();
  ahead_.pop_front();
  if (!piece.ok()) {
    return absl::Status(piece.status().code(), absl::StrCat(name_, ": ", piece.status().message()));
  }
  if (!size_.has_value()) {
    size_ = piece->size;
    version_ = std::move(piece->version);
  }
  piece_ = std::move(piece->bytes);
  at_ = 0;
  while (ahead_.size() < kMostAhead && !at_end() && next_ < likely_end_) Request();
  return !piece_.empty();
}

}  // namespace

std::unique_ptr<ByteStream> NewObjectStream(ObjectStore& store, std::string key, std::string name,
                                            uint64_t offset, uint64_t likely_end) {
  return std::make_unique<ObjectStream>(store, std::move(key), std::move(name), offset, likely_end);
}

}  // namespace capstan
