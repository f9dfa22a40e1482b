// Adds an image with its label to the records of a task, or counts it as a bad record.
#ifndef CAPSTAN_DATA_TASKS_IMAGE_INTAKE_H_
#define CAPSTAN_DATA_TASKS_IMAGE_INTAKE_H_

#include <string>

#include "absl/status/status.h"
#include "capstan/data/formats/bad_records.h"
#include "capstan/data/formats/batch.h"
#include "capstan/data/formats/labels.h"
#include "capstan/data/formats/samples.h"
#include "capstan/data/tasks/task_images.h"
#include "capstan/data/tasks/task_reader.h"
#include "capstan/image/decode.h"

namespace capstan {

// Thread-compatible.
class ImageIntake {
 public:
  // `bad_records` must outlive this object.
  ImageIntake(const ReaderOptions& options, BadRecords& bad_records);

  // Appends the label of `sample`, which is from `file`, to `records` and its image to `images`. A
  // sample that is not a valid record is reported to BadRecords instead, whose error is returned if
  // there are too many.
  absl::Status Take(const std::string& file, const Sample& sample, Batch& records,
                    TaskImages& images);

 private:
  std::string ErrorOf(const Sample& sample, float& label);

  BadRecords& bad_records_;
  const LabelRule labels_;
  const std::string no_label_;  // The error for a sample without a label.
  const bool checks_;
  ImageDecoder decoder_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_IMAGE_INTAKE_H_
