// Rows of a Parquet file as records.
#ifndef CAPSTAN_DATA_PARQUET_RECORD_READER_H_
#define CAPSTAN_DATA_PARQUET_RECORD_READER_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "capstan/data/formats/bad_records.h"
#include "capstan/data/formats/batch.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/parquet/column_reader.h"
#include "capstan/data/parquet/parquet_file.h"
#include "capstan/data/parquet/ranged_file.h"
#include "capstan/data/parquet/record_columns.h"
#include "capstan/data/parquet/weight_rows.h"

namespace capstan::parquet {

// One file's. Reads the columns that are wanted, one after the other as they lie in the file, and
// of each a page at a time. Thread-compatible.
class RecordReader {
 public:
  // `places`: where the file has the columns, as of FindColumns. All must outlive this object.
  RecordReader(const Source& source, const ParquetFile& file,
               const std::vector<WantedColumn>& wanted, const std::vector<uint32_t>& places);

  // Appends the rows [begin, end), or as many of them as there are, to `records`; those that are no
  // records are reported to `bad_records` instead. RESOURCE_EXHAUSTED: they are too many at once.
  absl::Status Read(uint64_t begin, uint64_t end, Batch& records, BadRecords& bad_records);

 private:
  struct BadRow {
    size_t column = 0;  // Its place among the columns that are wanted.
    std::string error;
  };
  // Rows of one row group on their way into `records`.
  struct Rows {
    const RowGroup& group;
    uint64_t begin = 0;  // In the row group.
    uint64_t end = 0;
    size_t first;      // Where the first of them is among the records,
    size_t first_key;  // and what it has among the keys and the numbers.
    size_t first_number;
    Batch& records;
    std::map<uint64_t, BadRow> bad = {};        // By their place among these rows.
    std::map<size_t, WeightRows> weights = {};  // By the place of the feature.
  };

  absl::Status ReadGroup(const RowGroup& group, uint64_t begin, uint64_t end, Batch& records,
                         BadRecords& bad_records);
  absl::Status CheckSize(uint64_t rows, const Batch& records) const;
  absl::Status CheckChunks(const RowGroup& group) const;
  std::vector<size_t> ByOffset(const RowGroup& group) const;
  void Expect(const std::vector<size_t>& order, size_t at, const Rows& rows);
  absl::Status ReadColumn(size_t wanted, Rows& rows);
  absl::Status ReadLists(size_t wanted, Rows& rows);
  // What the values of these cells become. A dictionary is converted once a column.
  const Converted& ConvertCells(size_t wanted, const Cells& cells);
  void NoteBad(size_t wanted, uint64_t row, std::string error, Rows& rows);
  // Rows that may lack each of several labels are bad where they lack all of them.
  void NoteUnlabelled(Rows& rows);
  // Rows that have not a weight for each value of a feature.
  void NoteMiscounted(Rows& rows);
  void Put(size_t wanted, uint64_t row, const Cells& cells, Rows& rows);
  void PutCell(size_t wanted, uint64_t row, const Converted& converted, size_t value, Rows& rows);
  // Adds the value at this place to the present row's bag, as the next one of its list.
  void PutValue(size_t wanted, const Converted& converted, size_t value, Rows& rows);
  // Ends the present row, whose cell has so many values, also beyond those that count.
  void EndBag(size_t wanted, uint32_t count, Rows& rows);
  static void DropBad(const Rows& rows, Bags& bags);
  absl::Status Finish(Rows& rows, BadRecords& bad_records);
  const Column& ColumnOf(size_t wanted) const;
  const Chunk& ChunkOf(size_t wanted, const RowGroup& group) const;

  const ParquetFile& file_;
  const std::vector<WantedColumn>& wanted_;
  const std::vector<uint32_t>& places_;
  RangedFile ranged_;
  size_t keys_ = 0;  // How many keys a record has.
  size_t numbers_ = 0;
  size_t features_ = 0;
  bool grouped_ = false;
  bool weighted_ = false;
  Converted values_;
  Converted dictionary_;
  Converted missing_;
  bool dictionary_converted_ = false;
};

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_RECORD_READER_H_
