// Decodes BYTE_STREAM_SPLIT: the first bytes of all values, then all second bytes, and so on.
#include <array>
#include <string>

#include "capstan/data/parquet/value_decoder.h"

namespace capstan::parquet {
namespace {

class ByteStreamSplit : public ValueDecoder {
 public:
  ByteStreamSplit(const Column& column, std::string_view bytes)
      : column_(column), width_(ValueBytes(column)), total_(bytes.size() / width_), bytes_(bytes) {}

  bool Read(size_t count, Values& values) override {
    if (bytes_.size() % width_ != 0 || count > total_ - next_) return false;
    joined_.resize(count * width_);
    for (size_t i = 0; i < count; ++i) {
      for (size_t k = 0; k < width_; ++k) joined_[i * width_ + k] = bytes_[k * total_ + next_ + i];
    }
    next_ += count;
    for (size_t i = 0; i < count; ++i) {
      const std::string_view value = std::string_view(joined_).substr(i * width_, width_);
      if (column_.physical == Physical::kFixed) {
        values.texts.push_back(value);
      } else {
        AppendNumber(column_, value, values);
      }
    }
    return true;
  }

 private:
  const Column& column_;
  const size_t width_;
  const size_t total_;
  const std::string_view bytes_;
  size_t next_ = 0;
  std::string joined_;
};

}  // namespace

std::unique_ptr<ValueDecoder> NewByteStreamSplitDecoder(const Column& column,
                                                        std::string_view bytes) {
  return std::make_unique<ByteStreamSplit>(column, bytes);
}

}  // namespace capstan::parquet
