// The texts that a column holds.
#ifndef CAPSTAN_DATA_PARQUET_COLUMN_TEXTS_H_
#define CAPSTAN_DATA_PARQUET_COLUMN_TEXTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/parquet/parquet_file.h"

namespace capstan::parquet {

// The first texts of `file`'s column that differ, at most `most`, in the order of the file, without
// the empty one, as far as its first `rows` rows have them. REQUIRES: the column has integers,
// texts or booleans.
absl::StatusOr<std::vector<std::string>> FirstTexts(const Source& source, const ParquetFile& file,
                                                    uint32_t column, uint64_t rows, size_t most);

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_COLUMN_TEXTS_H_
