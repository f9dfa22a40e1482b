// Reads the images of a range of a class's folder as records.
#ifndef CAPSTAN_DATA_TASKS_FOLDER_READER_H_
#define CAPSTAN_DATA_TASKS_FOLDER_READER_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/data/formats/batch.h"
#include "capstan/data/formats/samples.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/image_intake.h"
#include "capstan/data/tasks/task_images.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Thread-compatible.
class FolderReader {
 public:
  // `source` and `intake` must outlive this object.
  FolderReader(const Source& source, ImageIntake& intake);

  // Appends images [begin, end) of the folder `range.file`, in the order of their names; the label
  // is the name of the folder. DATA_LOSS: the number of images has changed since the job was
  // planned.
  absl::Status Read(const v1::Task& range, Batch& records, TaskImages& images);

 private:
  absl::StatusOr<const std::vector<std::string>*> List(const std::string& folder);
  absl::Status ReadFile(const std::string& path);

  const Source& source_;
  ImageIntake& intake_;
  // The images in each of the folders that were read last.
  std::map<std::string, std::vector<std::string>> listed_;
  Sample sample_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_FOLDER_READER_H_
