// Reads the records of a range of an idx file.
#ifndef CAPSTAN_DATA_TASKS_IDX_READER_H_
#define CAPSTAN_DATA_TASKS_IDX_READER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "capstan/data/formats/bad_records.h"
#include "capstan/data/formats/batch.h"
#include "capstan/data/formats/idx.h"
#include "capstan/data/formats/labels.h"
#include "capstan/data/tasks/task_reader.h"

namespace capstan {

// Thread-compatible.
class IdxReader {
 public:
  // `options`, `source` and `bad_records` must outlive this object.
  IdxReader(const ReaderOptions& options, const Source& source, BadRecords& bad_records);

  // Appends the images and labels of `task` to `records`.
  absl::Status Read(const v1::Task& task, Batch& records);

 private:
  struct Pair {
    IdxFile images;
    std::optional<IdxFile> labels;  // nullopt if labels are ignored.
    std::string file;
  };

  absl::Status Seek(const v1::Task& task);
  absl::Status Take(const v1::Task& task, uint64_t item, uint8_t number, Batch& records);

  const ReaderOptions& options_;
  const Source& source_;
  BadRecords& bad_records_;
  const LabelRule labels_;
  std::optional<Pair> open_;  // Kept open between tasks.
  std::vector<char> image_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_IDX_READER_H_
