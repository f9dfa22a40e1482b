// Finds the texts in a column.
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

// Returns the first distinct texts in a column of `file`, at most `most`, in the order of the file,
// without the empty text. Reads only the first `rows` rows. INVALID_ARGUMENT: the column is
// encrypted, or its compression is not supported. REQUIRES: it has integers, texts or booleans, and
// is not a list.
absl::StatusOr<std::vector<std::string>> FirstTexts(const Source& source, const ParquetFile& file,
                                                    uint32_t column, uint64_t rows, size_t most);

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_COLUMN_TEXTS_H_
