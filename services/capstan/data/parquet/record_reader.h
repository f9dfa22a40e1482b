// Reads rows of a Parquet file as records.
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

// Reads the wanted columns of one file, one after the other in the order of their positions in the
// file, and one page of a column at a time. Thread-compatible.
class RecordReader {
 public:
  // `places` are the indexes of the columns in the file, as returned by FindColumns. All arguments
  // must outlive this object.
  RecordReader(const Source& source, const ParquetFile& file,
               const std::vector<WantedColumn>& wanted, const std::vector<uint32_t>& places);

  // Appends the rows [begin, end), or as many of them as the file has, to `records`. Rows that are
  // not records are reported to `bad_records` instead. RESOURCE_EXHAUSTED: the rows would take too
  // much memory.
  absl::Status Read(uint64_t begin, uint64_t end, Batch& records, BadRecords& bad_records);

 private:
  struct BadRow {
    size_t column = 0;  // The index of the column among the wanted ones.
    std::string error;
  };
  // Rows of one row group while they are being added to `records`.
  struct Rows {
    const RowGroup& group;
    uint64_t begin = 0;  // In the row group.
    uint64_t end = 0;
    size_t first;  // The index of the first of these rows among the records.
    // The indexes of that row's first key in records.keys and of its first number in records.dense.
    size_t first_key;
    size_t first_number;
    Batch& records;
    std::map<uint64_t, BadRow> bad = {};        // By the row's index among these rows.
    std::map<size_t, WeightRows> weights = {};  // By the index of the feature.
  };

  absl::Status ReadGroup(const RowGroup& group, uint64_t begin, uint64_t end, Batch& records,
                         BadRecords& bad_records);
  absl::Status CheckSize(uint64_t rows, const Batch& records) const;
  absl::Status CheckChunks(const RowGroup& group) const;
  std::vector<size_t> ByOffset(const RowGroup& group) const;
  void Expect(const std::vector<size_t>& order, size_t at, const Rows& rows);
  absl::Status ReadColumn(size_t wanted, Rows& rows);
  absl::Status ReadLists(size_t wanted, Rows& rows);
  // Converts the values of `cells`. A dictionary is converted once per column chunk.
  const Converted& ConvertCells(size_t wanted, const Cells& cells);
  void NoteBad(size_t wanted, uint64_t row, std::string error, Rows& rows);
  // Marks rows bad that lack all of their labels, if each label may be missing.
  void NoteUnlabelled(Rows& rows);
  // Marks rows bad that do not have one weight for each value of a feature.
  void NoteMiscounted(Rows& rows);
  void Put(size_t wanted, uint64_t row, const Cells& cells, Rows& rows);
  void PutCell(size_t wanted, uint64_t row, const Converted& converted, size_t value, Rows& rows);
  // Appends element `value` of `converted` to the present row's bag.
  void PutValue(size_t wanted, const Converted& converted, size_t value, Rows& rows);
  // Ends the present row, whose list has `count` values, including those beyond `most`.
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
