// Decodes texts whose lengths are stored before all of them: whole texts, or only the suffix of
// each after the prefix that it shares with the text before.
//
//   DELTA_LENGTH_BYTE_ARRAY = lengths:delta byte*
//   DELTA_BYTE_ARRAY        = common:delta suffixes:DELTA_LENGTH_BYTE_ARRAY
#include <deque>
#include <string>

#include "capstan/data/parquet/delta_numbers.h"
#include "capstan/data/parquet/value_decoder.h"

namespace capstan::parquet {
namespace {

// Limits the texts in memory: texts that repeat the one before may take a thousand times the bytes
// of the page.
constexpr size_t kMostTogether = size_t{64} << 20;

class LengthDecoder : public ValueDecoder {
 public:
  explicit LengthDecoder(std::string_view bytes) : lengths_(bytes), rest_(lengths_.Behind()) {}

  bool Read(size_t count, Values& values) override {
    for (size_t i = 0; i < count; ++i) {
      std::string_view text;
      if (!Next(text)) return false;
      values.texts.push_back(text);
    }
    return true;
  }

  bool Next(std::string_view& text) {
    int64_t length = 0;
    if (!lengths_.Next(length) || length < 0 || static_cast<uint64_t>(length) > rest_.size()) {
      return false;
    }
    text = rest_.substr(0, static_cast<size_t>(length));
    rest_.remove_prefix(text.size());
    return true;
  }

 private:
  DeltaNumbers lengths_;
  std::string_view rest_;
};

class TextDecoder : public ValueDecoder {
 public:
  explicit TextDecoder(std::string_view bytes) : common_(bytes), suffixes_(common_.Behind()) {}

  bool Read(size_t count, Values& values) override {
    texts_.clear();
    size_t together = 0;
    for (size_t i = 0; i < count; ++i) {
      int64_t common = 0;
      std::string_view suffix;
      if (!common_.Next(common) || !suffixes_.Next(suffix)) return false;
      if (common < 0 || static_cast<uint64_t>(common) > last_.size()) return false;
      last_.resize(static_cast<size_t>(common));
      last_ += suffix;
      together += last_.size();
      if (together > kMostTogether) return false;
      values.texts.push_back(texts_.emplace_back(last_));
    }
    return true;
  }

 private:
  DeltaNumbers common_;
  LengthDecoder suffixes_;
  std::string last_;
  std::deque<std::string> texts_;  // The texts that the last Read has returned.
};

}  // namespace

std::unique_ptr<ValueDecoder> NewDeltaLengthDecoder(std::string_view bytes) {
  return std::make_unique<LengthDecoder>(bytes);
}

std::unique_ptr<ValueDecoder> NewDeltaTextDecoder(std::string_view bytes) {
  return std::make_unique<TextDecoder>(bytes);
}

}  // namespace capstan::parquet
