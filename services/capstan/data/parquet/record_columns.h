// The columns that a job reads, and where a file has them.
#ifndef CAPSTAN_DATA_PARQUET_RECORD_COLUMNS_H_
#define CAPSTAN_DATA_PARQUET_RECORD_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/data/formats/labels.h"
#include "capstan/data/formats/vocabulary.h"
#include "capstan/data/parquet/cell_rule.h"
#include "capstan/data/parquet/parquet_file.h"
#include "capstan/v1/job.pb.h"

namespace capstan::parquet {

struct WantedColumn {
  uint32_t column = 0;    // In the first training file.
  std::string name = {};  // Empty: the schema counts it.
  CellRule rule;
  size_t place = 0;  // Among the labels, the keys, the numbers, or the features of a record.
};

// In the order in which a record has them: that of the first file's columns. Labels that are
// ignored are wanted by nobody, nor are weights and groups then. `data` is that of DeriveDataSpec.
// `vocabularies`: of data.features; without them columns can be found, and no records read.
std::vector<WantedColumn> WantedColumns(const v1::DataSpec& data, const LabelRule& labels,
                                        const Vocabularies& vocabularies = {});

// The places of these columns in `file`: those that are named are found wherever it has them, those
// that are counted must be there, and `labels_ignored` says that the labels' columns may be missing
// before them. INVALID_ARGUMENT: the file lacks one, or it cannot be used so.
absl::StatusOr<std::vector<uint32_t>> FindColumns(const std::vector<WantedColumn>& wanted,
                                                  const v1::DataSpec& data, bool labels_ignored,
                                                  const ParquetFile& file);

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_RECORD_COLUMNS_H_
