// Reads the records of a range of a Parquet file.
#ifndef CAPSTAN_DATA_TASKS_PARQUET_READER_H_
#define CAPSTAN_DATA_TASKS_PARQUET_READER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/data/formats/bad_records.h"
#include "capstan/data/formats/batch.h"
#include "capstan/data/formats/labels.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/parquet/parquet_file.h"
#include "capstan/data/parquet/record_columns.h"
#include "capstan/data/tasks/task_reader.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Keeps the parsed footers of files, as a task may consist of pieces of many files.
// Thread-compatible.
class ParquetReader {
 public:
  // `options`, `source` and `bad_records` must outlive this object.
  ParquetReader(const ReaderOptions& options, const Source& source, BadRecords& bad_records);

  // Appends the rows of `task` to `records`.
  absl::Status Read(const v1::Task& task, Batch& records);

 private:
  struct KnownFile {
    parquet::ParquetFile file;
    std::vector<uint32_t> places;  // The indexes of the wanted columns in the file.
  };

  absl::StatusOr<const KnownFile*> Know(const std::string& path);

  const ReaderOptions& options_;
  const Source& source_;
  BadRecords& bad_records_;
  const LabelRule labels_;
  const std::vector<parquet::WantedColumn> wanted_;
  std::map<std::string, KnownFile> known_;
  uint64_t known_bytes_ = 0;  // The total size of the footers that are kept.
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_PARQUET_READER_H_
