#include "capstan/data/tasks/idx_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"

namespace capstan {
namespace {

constexpr uint64_t kChunk = 1024;  // Labels read at a time.

}  // namespace

IdxReader::IdxReader(const ReaderOptions& options, const Source& source, BadRecords& bad_records)
    : options_(options),
      source_(source),
      bad_records_(bad_records),
      labels_(options.data, options.loss, options.classes, options.labels) {}

absl::Status IdxReader::Seek(const v1::Task& task) {
  const bool goes_on = open_ && open_->file == task.file() &&
                       open_->images.next_item() <= task.begin() &&
                       (!open_->labels || open_->labels->next_item() <= task.begin());
  if (goes_on) return absl::OkStatus();
  open_.reset();
  CAPSTAN_ASSIGN_OR_RETURN(IdxFile images, IdxFile::Open(source_, task.file()));
  if (images.item_shape().empty() || images.item_bytes() != options_.data.dense_width()) {
    return absl::InvalidArgumentError(absl::StrCat(task.file(), ": items of ", images.item_bytes(),
                                                   " bytes, expected ",
                                                   options_.data.dense_width()));
  }
  std::optional<IdxFile> labels;
  if (!labels_.ignored()) {
    CAPSTAN_ASSIGN_OR_RETURN(labels, IdxFile::Open(source_, task.labels_file()));
    if (!labels->item_shape().empty()) {
      return absl::InvalidArgumentError(absl::StrCat(task.labels_file(), ": holds no labels"));
    }
  }
  open_ = {std::move(images), std::move(labels), task.file()};
  return absl::OkStatus();
}

absl::Status IdxReader::Read(const v1::Task& task, Batch& records) {
  CAPSTAN_RETURN_IF_ERROR(Seek(task));
  uint64_t end = std::min(task.end(), open_->images.items());
  if (open_->labels) end = std::min(end, open_->labels->items());
  absl::Status status;
  std::vector<char> labels;
  for (uint64_t first = task.begin(); status.ok() && first < end; first += labels.size()) {
    labels.assign(std::min(end - first, kChunk), 0);
    if (open_->labels) status = open_->labels->Read(first, labels);
    for (size_t i = 0; status.ok() && i < labels.size(); ++i) {
      status = Take(task, first + i, static_cast<uint8_t>(labels[i]), records);
    }
  }
  if (!status.ok()) open_.reset();
  return status;
}

absl::Status IdxReader::Take(const v1::Task& task, uint64_t item, uint8_t number, Batch& records) {
  image_.resize(open_->images.item_bytes());
  CAPSTAN_RETURN_IF_ERROR(open_->images.Read(item, image_));
  float label;
  std::string error;
  if (!labels_.Admit(number, label, error)) {
    return bad_records_.Report(absl::StrCat(task.labels_file(), ": item ", item, ": ", error));
  }
  const float scale = options_.data.numeric_scale();
  for (char pixel : image_) records.dense.push_back(static_cast<uint8_t>(pixel) * scale);
  records.labels.push_back(label);
  records.offsets.push_back(0);
  return absl::OkStatus();
}

}  // namespace capstan
