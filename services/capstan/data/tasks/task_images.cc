#include "capstan/data/tasks/task_images.h"

#include "absl/strings/str_cat.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/hash.h"
#include "capstan/base/status.h"

namespace capstan {
namespace {

constexpr uint64_t kImageSeedSalt = 0x696D'6167'6573'3031;  // "images01"

}  // namespace

ImageShape ShapeOfImages(const v1::DataSpec& data) {
  return {{data.image().width(), data.image().height()}, data.image().channels()};
}

TaskImages::TaskImages(const v1::DataSpec& data, const ImageDraws& draws)
    : shape_(ShapeOfImages(data)),
      scale_(data.numeric_scale()),
      crop_(draws.training && data.image().random_crop()),
      flip_(draws.training && data.image().random_flip()),
      draws_(draws) {}

absl::Status TaskImages::Add(std::string_view place, std::string_view encoded) {
  if (bytes_.size() + place.size() + encoded.size() > kMostBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(AbslView(place), ": a task of more than ", kMostBytes,
                     " bytes of images; make tasks smaller (data.task_bytes, data.task_records)"));
  }
  bytes_.append(place);
  const size_t image = bytes_.size();
  bytes_.append(encoded);
  entries_.push_back({image, bytes_.size()});
  return absl::OkStatus();
}

std::string_view TaskImages::PlaceOf(size_t record) const {
  const size_t begin = record == 0 ? 0 : entries_[record - 1].end;
  return std::string_view(bytes_).substr(begin, entries_[record].image - begin);
}

std::string_view TaskImages::EncodedOf(size_t record) const {
  const Entry& entry = entries_[record];
  return std::string_view(bytes_).substr(entry.image, entry.end - entry.image);
}

ImageView TaskImages::ViewOf(size_t record) const {
  const uint64_t draw = Draw(draws_.seed ^ kImageSeedSalt, draws_.stream, record);
  ImageView view;
  if (crop_) view.crop = draw;
  view.mirrored = flip_ && (Draw(draw, 0, 0) & 1) == 1;
  return view;
}

TaskImages::Reader::Reader(const TaskImages& images)
    : images_(images),
      decoder_(images.shape_),
      pixels_(size_t{images.shape_.size.width} * images.shape_.size.height *
              images.shape_.channels) {}

absl::Status TaskImages::Reader::AppendTo(size_t record, std::vector<float>& dense) {
  const absl::Status decoded =
      decoder_.Decode(images_.EncodedOf(record), images_.ViewOf(record), pixels_);
  if (!decoded.ok()) {
    return absl::Status(decoded.code(),
                        absl::StrCat(AbslView(images_.PlaceOf(record)), ": ", decoded.message()));
  }
  for (const uint8_t pixel : pixels_) dense.push_back(pixel * images_.scale_);
  return absl::OkStatus();
}

}  // namespace capstan
