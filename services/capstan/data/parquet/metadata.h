// Parses the footer of a Parquet file, which describes the columns and where the values of each
// are.
//
//   file   = "PAR1" page* footer length:uint32 "PAR1"     all numbers little-endian
//   footer = FileMetaData in Thrift's compact protocol
#ifndef CAPSTAN_DATA_PARQUET_METADATA_H_
#define CAPSTAN_DATA_PARQUET_METADATA_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace capstan::parquet {

// Numbered as in the file.
enum class Physical {
  kBoolean = 0,
  kInt32 = 1,
  kInt64 = 2,
  kInt96 = 3,
  kFloat = 4,
  kDouble = 5,
  kByteArray = 6,
  kFixed = 7,
};

enum class Codec { kNone = 0, kSnappy = 1, kGzip = 2, kZstd = 6, kLz4Raw = 7 };

// A column of the table: a child of the schema's root, including all nodes below it.
struct Column {
  std::string name;
  Physical physical = Physical::kInt32;
  uint32_t fixed_bytes = 0;  // Bytes of one value of kFixed.
  bool is_unsigned = false;  // Integers are unsigned.
  bool optional = false;     // Cells may be null.
  // A cell is a list of values. An entry of the file's levels is then a value or a null if its
  // definition level is at least `list_definition`, a value if it is `most_definition`, and
  // otherwise an empty list or a null list.
  bool list = false;
  uint32_t list_definition = 0;
  uint32_t most_definition = 0;
  uint32_t leaf = 0;            // Its index among the chunks of a row group.
  std::string unreadable = {};  // Why it cannot be read: "is a map or a struct".
};

// The values of one column in one row group.
struct Chunk {
  Physical physical = Physical::kInt32;
  int64_t codec = 0;  // A Codec, or one that is not supported.
  uint64_t values = 0;
  uint64_t begin = 0;  // Bytes of the file.
  uint64_t end = 0;
  std::string unreadable = {};  // Why it cannot be read: "is encrypted".
};

struct RowGroup {
  uint64_t first_row = 0;
  uint64_t rows = 0;
  std::vector<Chunk> chunks;  // One for each leaf of the schema.
};

struct FileMetadata {
  std::vector<Column> columns;
  std::vector<RowGroup> row_groups;
  uint64_t rows = 0;
};

// Parses the footer of a file whose pages are in its first `data_bytes` bytes. In the result all
// chunks are within these bytes, and the rows of the row groups add up to the rows of the file.
// DATA_LOSS: the footer is malformed. The messages do not name the file.
absl::StatusOr<FileMetadata> ParseFooter(std::string_view footer, uint64_t data_bytes);

std::string_view PhysicalName(Physical type);

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_METADATA_H_
