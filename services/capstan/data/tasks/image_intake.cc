#include "capstan/data/tasks/image_intake.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace capstan {
namespace {

// Returns true if images are decoded when they are read. If bad records are tolerated, they must be
// known before the first batch is cut, as they change how many batches a task has.
bool ChecksImages(const ReaderOptions& options) {
  if (options.images == ImageCheck::kTolerated) return options.data.max_bad_records() > 0;
  return options.images == ImageCheck::kAlways;
}

// Returns the error for a sample without a label, with where the label was expected.
std::string NoLabel(const v1::DataSpec& data) {
  const std::string& named = data.image().label_member();
  if (data.format() == v1::DATA_FORMAT_TAR) {
    return absl::StrCat("has no label (a member that ends in ", named.empty() ? "cls" : named,
                        ", next to its image)");
  }
  if (data.format() != v1::DATA_FORMAT_TFRECORD) return "has no label";
  return absl::StrCat("has no label (the feature ", named.empty() ? "image/class/label" : named,
                      ")");
}

}  // namespace

ImageIntake::ImageIntake(const ReaderOptions& options, BadRecords& bad_records)
    : bad_records_(bad_records),
      labels_(options.data, options.loss, options.classes, options.labels),
      no_label_(NoLabel(options.data)),
      checks_(ChecksImages(options)),
      decoder_(ShapeOfImages(options.data)) {}

// Returns why the sample is a bad record; empty if it is a good one, and `label` is set.
std::string ImageIntake::ErrorOf(const Sample& sample, float& label) {
  if (!sample.error.empty()) return sample.error;
  std::string error;
  if (!sample.has_label && !labels_.ignored()) return no_label_;
  // A text file in a tar that was written by a shell ends with a newline.
  const absl::string_view text = absl::StripAsciiWhitespace(sample.label);
  if (!labels_.Parse({text.data(), text.size()}, label, error)) return error;
  if (!checks_) return "";
  const absl::Status status = decoder_.Check(sample.image);
  return std::string(status.message());
}

absl::Status ImageIntake::Take(const std::string& file, const Sample& sample, Batch& records,
                               TaskImages& images) {
  const std::string place = absl::StrCat(file, sample.place.empty() ? "" : ": ", sample.place);
  float label = 0;
  if (const std::string error = ErrorOf(sample, label); !error.empty()) {
    return bad_records_.Report(absl::StrCat(place, ": ", error));
  }
  if (absl::Status added = images.Add(place, sample.image); !added.ok()) return added;
  records.labels.push_back(label);
  records.offsets.push_back(0);
  return absl::OkStatus();
}

}  // namespace capstan
