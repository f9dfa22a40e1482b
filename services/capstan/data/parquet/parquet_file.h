// A Parquet file, as its footer describes it.
#ifndef CAPSTAN_DATA_PARQUET_PARQUET_FILE_H_
#define CAPSTAN_DATA_PARQUET_PARQUET_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/parquet/metadata.h"

namespace capstan::parquet {

struct ParquetFile {
  FileInfo info;
  uint64_t footer_bytes = 0;
  FileMetadata metadata;
};

// Reads the footer at the end of the file, and nothing else. INVALID_ARGUMENT: the file is not a
// Parquet file, or encrypted; DATA_LOSS: it is damaged. The message begins with the path.
absl::StatusOr<ParquetFile> OpenParquetFile(const Source& source, const std::string& path);

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_PARQUET_FILE_H_
