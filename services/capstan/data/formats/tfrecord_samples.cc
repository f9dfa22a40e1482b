#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/quote.h"
#include "capstan/data/formats/samples.h"
#include "capstan/data/formats/tf_example.h"
#include "capstan/data/formats/tfrecord.h"

namespace capstan {
namespace {

constexpr size_t kFrontBytes = kTfRecordLengthBytes + kTfRecordSumBytes;
constexpr size_t kSearchedBytes = size_t{64} << 10;

// A longer record counts as damaged: skipping that many bytes might skip the rest of the file.
constexpr uint64_t kMostRecordBytes = uint64_t{1} << 30;
constexpr uint64_t kMostExampleBytes = kMostImageBytes + (uint64_t{1} << 20);

bool IsFront(std::string_view bytes) {
  if (bytes.size() < kFrontBytes) return false;
  // Few positions contain a plausible length, so the checksum is rarely computed.
  if (LittleEndianAt<uint64_t>(bytes, 0) > kMostRecordBytes) return false;
  return TfRecordSum(bytes.substr(0, kTfRecordLengthBytes)) ==
         LittleEndianAt<uint32_t>(bytes, kTfRecordLengthBytes);
}

std::string TextOf(const FeatureValue& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) return std::string(*text);
  if (const auto* whole = std::get_if<int64_t>(&value)) return absl::StrCat(*whole);
  return absl::StrCat(std::get<float>(value));
}

class TfRecordSamples : public SampleStream {
 public:
  TfRecordSamples(ByteReader bytes, const SampleRange& range, const v1::ImageSpec& image)
      : bytes_(std::move(bytes)),
        range_(range),
        image_(image.image_member().empty() ? "image/encoded" : image.image_member()),
        label_(image.label_member().empty() ? "image/class/label" : image.label_member()) {}

  absl::StatusOr<bool> Next(Sample& sample) override;
  uint64_t offset() const override { return bytes_.offset(); }
  std::optional<uint64_t> next_begin() const override {
    return read_ ? std::optional(bytes_.offset()) : std::nullopt;
  }

 private:
  absl::Status Begin();
  absl::StatusOr<bool> FindFront();
  absl::Status ReadRecord(uint64_t length, Sample& sample);
  void ReadExample(Sample& sample) const;

  ByteReader bytes_;
  const SampleRange range_;
  const std::string image_;
  const std::string label_;
  bool begun_ = false;
  bool read_ = false;  // A record was read, so the beginning of the next one is known.
  bool over_ = false;
  std::string record_;
};

// Advances to the next position at which a record begins, which may be the present one. Returns
// false if there is none.
absl::StatusOr<bool> TfRecordSamples::FindFront() {
  while (true) {
    CAPSTAN_ASSIGN_OR_RETURN(const std::string_view bytes, bytes_.Peek(kSearchedBytes));
    size_t at = 0;
    while (at + kFrontBytes <= bytes.size() && !IsFront(bytes.substr(at))) ++at;
    const bool found = at + kFrontBytes <= bytes.size();
    const bool last = bytes.size() < kSearchedBytes;
    CAPSTAN_RETURN_IF_ERROR(bytes_.Skip(!found && last ? bytes.size() : at).status());
    if (found || last) return found;
  }
}

absl::Status TfRecordSamples::Begin() {
  if (begun_) return absl::OkStatus();
  begun_ = true;
  CAPSTAN_RETURN_IF_ERROR(bytes_.Skip(range_.begin - bytes_.offset()).status());
  if (range_.begin == 0 || range_.at_sample) return absl::OkStatus();
  return FindFront().status();
}

absl::StatusOr<bool> TfRecordSamples::Next(Sample& sample) {
  sample = {};
  CAPSTAN_RETURN_IF_ERROR(Begin());
  const uint64_t place = bytes_.offset();
  if (over_ || (place >= range_.end && !read_)) return false;
  CAPSTAN_ASSIGN_OR_RETURN(const std::string_view front, bytes_.Peek(kFrontBytes));
  over_ = front.empty() || place >= range_.end;
  // Damage where the first record of the next range should begin is reported by this range, as the
  // next one would skip it in search of a record.
  if (front.empty() || (over_ && IsFront(front))) return false;
  read_ = true;
  sample.place = absl::StrCat("record at byte ", place);
  if (IsFront(front)) {
    const auto length = LittleEndianAt<uint64_t>(front, 0);
    CAPSTAN_RETURN_IF_ERROR(bytes_.Skip(kFrontBytes).status());
    CAPSTAN_RETURN_IF_ERROR(ReadRecord(length, sample));
    return true;
  }
  sample.error = front.size() < kFrontBytes ? "the file ends within it"
                                            : "its length does not fit its checksum";
  CAPSTAN_RETURN_IF_ERROR(bytes_.Skip(1).status());
  CAPSTAN_RETURN_IF_ERROR(FindFront().status());
  return true;
}

absl::Status TfRecordSamples::ReadRecord(uint64_t length, Sample& sample) {
  if (length > kMostExampleBytes) {
    sample.error =
        absl::StrCat("has ", length, " bytes; at most ", kMostExampleBytes, " are possible");
    return bytes_.Skip(length + kTfRecordSumBytes).status();
  }
  CAPSTAN_ASSIGN_OR_RETURN(const bool whole, bytes_.Read(length + kTfRecordSumBytes, record_));
  if (!whole) {
    sample.error = absl::StrCat("the file ends within it, after ", record_.size(), " of ",
                                length + kTfRecordSumBytes, " bytes");
    return absl::OkStatus();
  }
  if (TfRecordSum(std::string_view(record_).substr(0, length)) !=
      LittleEndianAt<uint32_t>(record_, length)) {
    sample.error = "its data do not fit their checksum";
    return absl::OkStatus();
  }
  record_.resize(length);
  ReadExample(sample);
  return absl::OkStatus();
}

void TfRecordSamples::ReadExample(Sample& sample) const {
  TwoFeatures found;
  if (!FindFeatures(record_, image_, label_, found)) {
    sample.error = "is no tf.train.Example";
    return;
  }
  if (found.second) sample.label = TextOf(*found.second);
  sample.has_label = found.second.has_value();
  if (found.first) sample.image = TextOf(*found.first);
  if (sample.image.empty()) sample.error = absl::StrCat("has no feature ", Quote(image_));
}

}  // namespace

std::unique_ptr<SampleStream> NewTfRecordSamples(ByteReader bytes, const SampleRange& range,
                                                 const v1::ImageSpec& image) {
  return std::make_unique<TfRecordSamples>(std::move(bytes), range, image);
}

}  // namespace capstan
