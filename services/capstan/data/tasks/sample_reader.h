// Reads the records of a range of a tar or a TFRecord file.
#ifndef CAPSTAN_DATA_TASKS_SAMPLE_READER_H_
#define CAPSTAN_DATA_TASKS_SAMPLE_READER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "capstan/data/formats/batch.h"
#include "capstan/data/formats/restart_points.h"
#include "capstan/data/formats/samples.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/image_intake.h"
#include "capstan/data/tasks/open_ahead.h"
#include "capstan/data/tasks/task_images.h"
#include "capstan/data/tasks/task_reader.h"

namespace capstan {

// Thread-compatible.
class SampleReader {
 public:
  // `options`, `source` and `intake` must outlive this object.
  SampleReader(const ReaderOptions& options, const Source& source, ImageIntake& intake);

  // Appends the records of `range`. A range of bytes takes its stream from `streams`, whose next
  // stream must be that of this range.
  absl::Status Read(const v1::Task& range, OpenAhead& streams, Batch& records, TaskImages& images);

 private:
  // The samples of a file in the order of their numbers; kept open between tasks.
  struct Numbered {
    std::string file;
    uint64_t next = 0;
    std::unique_ptr<SampleStream> samples;
  };

  absl::Status ReadBytes(const v1::Task& task, std::unique_ptr<ByteStream> stream, Batch& records,
                         TaskImages& images);
  absl::Status ReadRecords(const v1::Task& task, Batch& records, TaskImages& images);
  absl::Status Seek(const v1::Task& task);
  absl::StatusOr<bool> NextNumbered();

  const ReaderOptions& options_;
  const Source& source_;
  ImageIntake& intake_;
  RestartPoints restarts_;
  Numbered open_;
  Sample sample_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_SAMPLE_READER_H_
