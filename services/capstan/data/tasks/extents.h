// The files of a split and their sizes.
#ifndef CAPSTAN_DATA_TASKS_EXTENTS_H_
#define CAPSTAN_DATA_TASKS_EXTENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/tasks.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// One file, before it is cut.
struct Extent {
  std::string file = {};
  std::string labels_file = {};
  bool by_records = false;
  bool estimated = false;     // The number of records is an estimate.
  uint64_t length = 0;        // Bytes or records.
  uint64_t file_records = 0;  // Task.file_records.
  double record_bytes = 0;    // If !by_records: the mean size of a record.
  // Parquet: where its row groups end, in records.
  std::vector<uint64_t> group_ends = {};

  double records() const {
    return by_records         ? static_cast<double>(length)
           : record_bytes > 0 ? static_cast<double>(length) / record_bytes
                              : 0;
  }
};

struct Extents {
  std::vector<Extent> all;
  uint64_t listing = 0;  // TaskRanges::listing.
};

// Returns a hash of the names and sizes of `files`, in their order. Never 0.
uint64_t ListingOf(const std::vector<FileInfo>& files);

// Returns the files of a split, in the order in which the data spec names them.
absl::StatusOr<std::vector<FileInfo>> ListFiles(const Source& source, const v1::DataSpec& data,
                                                Split split);

// Returns the files of options.split with their sizes, in the order in which the data spec names
// them. The records of compressed text are counted or estimated; see tasks.h.
absl::StatusOr<Extents> FindExtents(const Source& source, const v1::DataSpec& data,
                                    const PlanOptions& options);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_EXTENTS_H_
