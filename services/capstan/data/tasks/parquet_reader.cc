#include "capstan/data/tasks/parquet_reader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/data/parquet/record_reader.h"

namespace capstan {
namespace {

// The limit of the total size of the footers that are kept.
constexpr uint64_t kMostKnownBytes = uint64_t{16} << 20;

}  // namespace

ParquetReader::ParquetReader(const ReaderOptions& options, const Source& source,
                             BadRecords& bad_records)
    : options_(options),
      source_(source),
      bad_records_(bad_records),
      labels_(options.data, options.loss, options.classes, options.labels),
      wanted_(parquet::WantedColumns(options.data, labels_, options.vocabularies)) {}

absl::StatusOr<const ParquetReader::KnownFile*> ParquetReader::Know(const std::string& path) {
  const auto found = known_.find(path);
  if (found != known_.end()) return &found->second;
  if (known_bytes_ > kMostKnownBytes) {
    known_.clear();
    known_bytes_ = 0;
  }
  KnownFile known;
  CAPSTAN_ASSIGN_OR_RETURN(known.file, parquet::OpenParquetFile(source_, path));
  CAPSTAN_ASSIGN_OR_RETURN(
      known.places, parquet::FindColumns(wanted_, options_.data, labels_.ignored(), known.file));
  known_bytes_ += known.file.footer_bytes;
  return &known_.emplace(path, std::move(known)).first->second;
}

absl::Status ParquetReader::Read(const v1::Task& task, Batch& records) {
  CAPSTAN_ASSIGN_OR_RETURN(const KnownFile* const known, Know(task.file()));
  parquet::RecordReader reader(source_, known->file, wanted_, known->places);
  const absl::Status status = reader.Read(task.begin(), task.end(), records, bad_records_);
  if (!status.ok()) {
    known_.clear();  // The file may have been replaced.
    known_bytes_ = 0;
  }
  return status;
}

}  // namespace capstan
