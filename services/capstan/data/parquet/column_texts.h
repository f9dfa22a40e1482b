// Finds texts that a column holds.
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

// Returns the first different texts of a column of `file`, at most `most`, in the order of the
// file, without the empty text. Looks only at the first `rows` rows. INVALID_ARGUMENT: the column
// is encrypted, or compressed in a way that is not supported. REQUIRES: it has integers, texts or
// booleans, and is no list.
absl::StatusOr<std::vector<std::string>> FirstTexts(const Source& source, const ParquetFile& file,
                                                    uint32_t column, uint64_t rows, size_t most);

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_COLUMN_TEXTS_H_
