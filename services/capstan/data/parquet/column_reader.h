// Reads the cells of one column in one row group, from the first row to the last.
#ifndef CAPSTAN_DATA_PARQUET_COLUMN_READER_H_
#define CAPSTAN_DATA_PARQUET_COLUMN_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "capstan/data/parquet/hybrid_decoder.h"
#include "capstan/data/parquet/metadata.h"
#include "capstan/data/parquet/page_header.h"
#include "capstan/data/parquet/ranged_file.h"
#include "capstan/data/parquet/value_decoder.h"
#include "capstan/data/parquet/values.h"

namespace capstan::parquet {

// Cells of consecutive rows; for a column of lists, consecutive entries of the levels.
struct Cells {
  std::vector<uint32_t> present;  // For each row or entry 1, or 0 for a null or an empty list.
  std::vector<uint32_t> begins;   // Only for lists, one per entry: 1 where a row begins.
  // The values of the cells that are present: `values` or, if `dictionary` is set, the dictionary's
  // values at the indexes `places`.
  Values values;
  std::vector<uint32_t> places;
  const Values* dictionary = nullptr;

  size_t rows() const { return present.size(); }
};

// Holds one page at a time, and the dictionary. Thread-compatible.
class ColumnReader {
 public:
  static constexpr size_t kMostRows = 1024;  // The most rows or entries that one call returns.

  // `column`, `chunk` and `file` must outlive this object. REQUIRES: `unreadable` is empty in
  // column and chunk.
  ColumnReader(const Column& column, const Chunk& chunk, RangedFile& file);

  // Skips `rows` rows. Pages that contain only such rows are not decoded.
  absl::Status Skip(uint64_t rows);

  // Returns the cells of the next rows: at least one, at most `most` and kMostRows. They are valid
  // until the next call, the dictionary as long as this object. DATA_LOSS: the column is damaged,
  // or has fewer rows; INVALID_ARGUMENT: its encoding is not supported. Both name file, column and
  // byte.
  absl::StatusOr<const Cells*> Next(uint64_t most);

  // ---- for lists: use these two instead of the two above ----

  // Skips whole pages as long as at most `rows` rows begin in them. Returns how many rows begin in
  // the skipped pages; the last of these rows may continue in the next page.
  absl::StatusOr<uint64_t> SkipPages(uint64_t rows);

  // Returns the next entries, at most kMostRows; none at the end of the column. Validity and errors
  // as for Next().
  absl::StatusOr<const Cells*> NextEntries();

 private:
  absl::Status NextPage();
  absl::StatusOr<PageHeader> ReadHeader();
  absl::Status LoadPage(const PageHeader& header);
  absl::Status LoadDictionary(const PageHeader& header);
  absl::Status LoadData(const PageHeader& header);
  absl::Status LoadDataV2(const PageHeader& header);
  absl::Status BeginValues(int64_t encoding, std::string_view bytes);
  absl::Status ReadBody(const PageHeader& header);
  absl::Status DecodeRows(size_t rows);
  absl::Status DecodeValues();
  // Decodes all levels of the present page of a list.
  absl::Status LoadLevels(std::string_view repetition, std::string_view definition, uint64_t count);
  absl::Status DecodePlaces(size_t count);
  absl::Status Damaged(absl::string_view what) const;
  absl::Status Unsupported(absl::string_view what) const;
  std::string Where() const;

  const Column& column_;
  const Chunk& chunk_;
  RangedFile& file_;
  uint64_t at_;             // Where the next page begins.
  uint64_t page_ = 0;       // Where the present page begins.
  uint64_t body_ = 0;       // Where the body of the page begins whose header was read last.
  uint64_t rows_left_;      // How many rows of the column are after the present page.
  uint64_t page_rows_ = 0;  // How many rows remain in the present page.
  uint64_t skip_ = 0;       // How many rows have yet to be skipped.
  std::vector<char> stored_;
  std::vector<char> bytes_;  // Bytes of the present page.
  std::vector<char> dictionary_bytes_;
  Values dictionary_;
  bool has_dictionary_ = false;
  HybridDecoder levels_;
  bool has_levels_ = false;
  std::vector<uint32_t> repetition_;  // Only for lists: the levels of the present page.
  std::vector<uint32_t> definition_;
  size_t entry_ = 0;  // The next entry of the levels.
  HybridDecoder places_;
  std::unique_ptr<ValueDecoder> values_;  // Null: the page contains indexes into the dictionary.
  Cells cells_;
};

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_COLUMN_READER_H_
