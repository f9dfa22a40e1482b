#include <zlib.h>

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/compression.h"

namespace capstan {

struct GzipState {
  GzipState() = default;
  ~GzipState() { ::inflateEnd(&zlib); }
  GzipState(const GzipState&) = delete;
  GzipState& operator=(const GzipState&) = delete;

  z_stream zlib = {};
};

namespace {

constexpr int kGzipWindow = 15 + 16;  // The largest window; gzip framing only.

class GzipStream : public ByteStream {
 public:
  GzipStream(std::string path, std::unique_ptr<ByteStream> compressed, const RestartPoint& from,
             RestartKeeper* keeper)
      : path_(std::move(path)),
        compressed_(std::move(compressed)),
        keeper_(keeper),
        read_(from.stored),
        written_(from.content),
        begun_(from.stored > 0),
        inside_member_(from.state != nullptr) {
    const int result = inside_member_ ? ::inflateCopy(&zlib_, &from.state->zlib)
                                      : ::inflateInit2(&zlib_, kGzipWindow);
    CAPSTAN_CHECK(result == Z_OK);
    zlib_.avail_in = 0;
  }
  ~GzipStream() override { ::inflateEnd(&zlib_); }

  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    if (buffer.empty()) return size_t{0};
    OfferRestart();
    zlib_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    zlib_.avail_out = static_cast<uInt>(std::min<size_t>(buffer.size(), 1u << 30));
    const uInt wanted = zlib_.avail_out;
    while (zlib_.avail_out == wanted && !ended_) {
      CAPSTAN_RETURN_IF_ERROR(Step());
    }
    written_ += wanted - zlib_.avail_out;
    return size_t{wanted - zlib_.avail_out};
  }

 private:
  void OfferRestart() {
    if (keeper_ == nullptr || ended_ || !keeper_->Wants(written_)) return;
    const size_t taken = buffered_ - zlib_.avail_in;
    // There are too few bytes before this position: a later one will do.
    if (taken < RestartPoint::kBefore) return;
    RestartPoint point = {
        .content = written_,
        .stored = read_ - zlib_.avail_in,
        .before = {input_.data() + taken - RestartPoint::kBefore, RestartPoint::kBefore}};
    if (inside_member_) {
      point.state = std::make_shared<GzipState>();
      if (::inflateCopy(&point.state->zlib, &zlib_) != Z_OK) return;
    }
    keeper_->Keep(std::move(point));
  }

  absl::Status Step() {
    if (zlib_.avail_in == 0) {
      CAPSTAN_RETURN_IF_ERROR(Refill());
      if (zlib_.avail_in == 0) {
        if (inside_member_) return Error("the gzip data ends early; is the file truncated?");
        ended_ = true;
        return absl::OkStatus();
      }
    }
    if (!inside_member_) return BeginMember();
    int result = ::inflate(&zlib_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      inside_member_ = false;
      return absl::OkStatus();
    }
    if (result == Z_OK || result == Z_BUF_ERROR) return absl::OkStatus();
    return Error(absl::StrCat("malformed gzip data: ", zlib_.msg != nullptr ? zlib_.msg : "?"));
  }

  absl::Status BeginMember() {
    if (begun_ && *zlib_.next_in == 0) {  // Padding after a member, which gzip also ignores.
      ended_ = true;
      return absl::OkStatus();
    }
    if (::inflateReset(&zlib_) != Z_OK) return Error("the decompressor cannot be reset");
    inside_member_ = true;
    begun_ = true;
    return absl::OkStatus();
  }

  absl::Status Refill() {
    CAPSTAN_ASSIGN_OR_RETURN(size_t n, compressed_->Read(input_));
    zlib_.next_in = reinterpret_cast<Bytef*>(input_.data());
    zlib_.avail_in = static_cast<uInt>(n);
    buffered_ = n;
    read_ += n;
    return absl::OkStatus();
  }

  absl::Status Error(absl::string_view what) const {
    return absl::DataLossError(absl::StrCat(path_, ": byte ", read_ - zlib_.avail_in, ": ", what));
  }

  const std::string path_;
  const std::unique_ptr<ByteStream> compressed_;
  RestartKeeper* const keeper_;
  std::array<char, 64 << 10> input_;
  size_t buffered_ = 0;  // How many bytes of the buffer contain data of the file.
  z_stream zlib_ = {};
  uint64_t read_;     // How many compressed bytes of the file were passed to zlib.
  uint64_t written_;  // How many bytes of the content were returned.
  bool begun_;        // A gzip member has begun.
  bool inside_member_;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> NewGzipStream(std::string path, std::unique_ptr<ByteStream> compressed,
                                          const RestartPoint& from, RestartKeeper* keeper) {
  return std::make_unique<GzipStream>(std::move(path), std::move(compressed), from, keeper);
}

}  // namespace capstan
