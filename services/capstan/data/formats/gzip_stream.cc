#include <zlib.h>

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/compression.h"

namespace capstan {
namespace {

constexpr int kGzipWindow = 15 + 16;  // The largest window; gzip framing only.

class GzipStream : public ByteStream {
 public:
  GzipStream(std::string path, std::unique_ptr<ByteStream> compressed)
      : path_(std::move(path)), compressed_(std::move(compressed)) {
    CAPSTAN_CHECK(::inflateInit2(&zlib_, kGzipWindow) == Z_OK);
  }
  ~GzipStream() override { ::inflateEnd(&zlib_); }

  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    if (buffer.empty()) return size_t{0};
    zlib_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    zlib_.avail_out = static_cast<uInt>(std::min<size_t>(buffer.size(), 1u << 30));
    const uInt wanted = zlib_.avail_out;
    while (zlib_.avail_out == wanted && !ended_) {
      CAPSTAN_RETURN_IF_ERROR(Step());
    }
    return size_t{wanted - zlib_.avail_out};
  }

 private:
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
    if (members_ > 0 && *zlib_.next_in == 0) {  // Padding, which gzip, too, ignores.
      ended_ = true;
      return absl::OkStatus();
    }
    if (::inflateReset(&zlib_) != Z_OK) return Error("the decompressor cannot be reset");
    inside_member_ = true;
    ++members_;
    return absl::OkStatus();
  }

  absl::Status Refill() {
    CAPSTAN_ASSIGN_OR_RETURN(size_t n, compressed_->Read(input_));
    zlib_.next_in = reinterpret_cast<Bytef*>(input_.data());
    zlib_.avail_in = static_cast<uInt>(n);
    read_ += n;
    return absl::OkStatus();
  }

  absl::Status Error(absl::string_view what) const {
    return absl::DataLossError(absl::StrCat(path_, ": byte ", read_ - zlib_.avail_in, ": ", what));
  }

  const std::string path_;
  const std::unique_ptr<ByteStream> compressed_;
  std::array<char, 64 << 10> input_;
  z_stream zlib_ = {};
  uint64_t read_ = 0;  // Compressed bytes handed to zlib.
  uint64_t members_ = 0;
  bool inside_member_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> NewGzipStream(std::string path,
                                          std::unique_ptr<ByteStream> compressed) {
  return std::make_unique<GzipStream>(std::move(path), std::move(compressed));
}

}  // namespace capstan
