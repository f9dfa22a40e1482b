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
  ZstdStream(std::string path, std::unique_ptr<ByteStream> compressed, const RestartPoint& from,
             RestartKeeper* keeper)
      : path_(std::move(path)),
        compressed_(std::move(compressed)),
        keeper_(keeper),
        zstd_(::ZSTD_createDCtx()),
        read_(from.stored),
        written_(from.content) {
    CAPSTAN_CHECK(zstd_ != nullptr);
    buffer_.resize(::ZSTD_DStreamInSize());
  }
  ~ZstdStream() override { ::ZSTD_freeDCtx(zstd_); }

  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    OfferRestart();
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
      flushing_ = result != 0 && output.pos == output.size;  // The decompressor has more output.
    }
    written_ += output.pos;
    return output.pos;
  }

 private:
  void OfferRestart() {
    if (keeper_ == nullptr || inside_frame_ || !keeper_->Wants(written_)) return;
    // There are too few bytes before this position: the end of a later frame will do.
    if (input_.pos < RestartPoint::kBefore) return;
    const char* before = buffer_.data() + input_.pos - RestartPoint::kBefore;
    keeper_->Keep({.content = written_,
                   .stored = read_ - (input_.size - input_.pos),
                   .before = {before, RestartPoint::kBefore}});
  }

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
  RestartKeeper* const keeper_;
  ZSTD_DCtx* const zstd_;
  std::vector<char> buffer_;
  ZSTD_inBuffer input_ = {nullptr, 0, 0};
  uint64_t read_;     // How many compressed bytes of the file were passed to zstd.
  uint64_t written_;  // How many bytes of the content were returned.
  bool inside_frame_ = false;
  bool flushing_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> NewZstdStream(std::string path, std::unique_ptr<ByteStream> compressed,
                                          const RestartPoint& from, RestartKeeper* keeper) {
  return std::make_unique<ZstdStream>(std::move(path), std::move(compressed), from, keeper);
}

}  // namespace capstan
