// The header of a page of a column.
#ifndef CAPSTAN_DATA_PARQUET_PAGE_HEADER_H_
#define CAPSTAN_DATA_PARQUET_PAGE_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace capstan::parquet {

enum class PageKind { kData = 0, kIndex = 1, kDictionary = 2, kDataV2 = 3 };

struct PageHeader {
  int64_t kind = -1;  // A PageKind, or one that is not known.
  uint64_t stored_bytes = 0;
  uint64_t bytes = 0;  // Size after decompression.
  std::optional<uint32_t> crc;
  uint64_t values = 0;  // Including nulls. For columns that are not lists, the number of rows.
  int64_t encoding = -1;
  int64_t level_encoding = 3;  // Only in data pages of version 1.
  // Only in data pages of version 2, up to and including `compressed`.
  uint64_t level_bytes = 0;
  uint64_t repetition_bytes = 0;
  bool compressed = true;

  size_t header_bytes = 0;
};

enum class Parsed { kYes, kMalformed, kNeedsMore };

// Parses the header at the front of `bytes`. kNeedsMore: the bytes end within it.
Parsed ParsePageHeader(std::string_view bytes, PageHeader& header);

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_PAGE_HEADER_H_
