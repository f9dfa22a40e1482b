// Determines which columns a job reads, and finds them in a file.
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
  uint32_t column = 0;    // The index of the column in the first training file.
  std::string name = {};  // Empty if the schema identifies the column by its number.
  CellRule rule;
  size_t place = 0;  // Index among the labels, the keys, the numbers, or the features of a record.
};

// Returns the columns to read, in the order of the first training file. If `labels` ignores labels,
// columns of labels, weights and groups are omitted. `vocabularies` are those of data.features;
// without them the result can be used for FindColumns, but not for reading records. REQUIRES:
// DeriveDataSpec has filled in `data`.
std::vector<WantedColumn> WantedColumns(const v1::DataSpec& data, const LabelRule& labels,
                                        const Vocabularies& vocabularies = {});

// Returns the indexes of the wanted columns in `file`. A column with a name is found at any
// position. A column identified by its number must be at that position; with `labels_ignored` the
// columns of labels before it may be missing. INVALID_ARGUMENT: the file lacks a column, or a
// column cannot be used as wanted.
absl::StatusOr<std::vector<uint32_t>> FindColumns(const std::vector<WantedColumn>& wanted,
                                                  const v1::DataSpec& data, bool labels_ignored,
                                                  const ParquetFile& file);

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_RECORD_COLUMNS_H_
