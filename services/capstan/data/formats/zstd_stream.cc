#include <zstd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/compression.h"

namespace capstan {
namespace {

class ZstdStream : public ByteStream {
 public:
  ZstdStream(std::string path, std::unique_ptr<ByteStream> compressed)
      : path_(std::move(path)), compressed_(std::move(compressed)), zstd_(::ZSTD_createDCtx()) {
    CAPSTAN_CHECK(zstd_ != nullptr);
    buffer_.resize(::ZSTD_DStreamInSize());
  }
  ~ZstdStream() override { ::ZSTD_freeDCtx(zstd_); }

  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    ZSTD_outBuffer output = {buffer.data(), buffer.size(), 0};
    while (output.pos == 0 && output.size > 0) {
      if (input_.pos == input_.size && !flushing_) {
        CAPSTAN_RETURN_IF_ERROR(Refill());
        if (input_.size == 0) {
          if (inside_frame_) return Error("the zstd data ends early; is the file truncated?");
          break;
        }
      }
      size_t result = ::ZSTD_decompressStream(zstd_, &output, &input_);
      if (::ZSTD_isError(result)) {
        return Error(absl::StrCat("malformed zstd data: ", ::ZSTD_getErrorName(result)));
      }
      inside_frame_ = result != 0;
      flushing_ = result != 0 && output.pos == output.size;  // More is inside the decompressor.
    }
    return output.pos;
  }

 private:
  absl::Status Refill() {
    CAPSTAN_ASSIGN_OR_RETURN(size_t n, compressed_->Read(buffer_));
    input_ = {buffer_.data(), n, 0};
    read_ += n;
    return absl::OkStatus();
  }

  absl::Status Error(absl::string_view what) const {
    return absl::DataLossError(
        absl::StrCat(path_, ": byte ", read_ - (input_.size - input_.pos), ": ", what));
  }

  const std::string path_;
  const std::unique_ptr<ByteStream> compressed_;
  ZSTD_DCtx* const zstd_;
  std::vector<char> buffer_;
  ZSTD_inBuffer input_ = {nullptr, 0, 0};
  uint64_t read_ = 0;  // Compressed bytes handed to zstd.
  bool inside_frame_ = false;
  bool flushing_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> NewZstdStream(std::string path,
                                          std::unique_ptr<ByteStream> compressed) {
  return std::make_unique<ZstdStream>(std::move(path), std::move(compressed));
}

}  // namespace capstan
