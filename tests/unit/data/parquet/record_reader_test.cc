#include "capstan/data/parquet/record_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capstan/data/formats/labels.h"
#include "tests/unit/data/files.h"
#include "tests/unit/data/parquet/table.h"

namespace capstan::parquet {
namespace {

using testing::HasSubstr;

// Reads rows of one of the golden files.
class RowsOfAFile {
 public:
  explicit RowsOfAFile(v1::DataSpec data) : data_(std::move(data)) {
    EXPECT_TRUE(DeriveDataSpec(*source_, data_).ok());
    auto file = OpenParquetFile(*source_, data_.train(0));
    EXPECT_TRUE(file.ok()) << file.status();
    file_ = *std::move(file);
    wanted_ = WantedColumns(data_, LabelRule(data_, v1::LOSS_LOGISTIC, /*classes=*/0));
    places_ = *FindColumns(wanted_, data_, /*labels_ignored=*/false, file_);
  }

  absl::Status Read(uint64_t begin, uint64_t end, Batch& records) {
    RecordReader reader(*source_, file_, wanted_, places_);
    return reader.Read(begin, end, records, bad_);
  }
  static Batch Empty() {
    Batch records;
    records.offsets = {0};
    return records;
  }

  ParquetFile& file() { return file_; }
  const BadRecords& bad() const { return bad_; }

 private:
  const std::unique_ptr<const Source> source_ = NewLocalFiles();
  v1::DataSpec data_;
  ParquetFile file_;
  std::vector<WantedColumn> wanted_;
  std::vector<uint32_t> places_;
  BadRecords bad_{/*limit=*/kTableRows};
};

TEST(RecordReaderTest, RowsAreAppendedSoThatAnyCutGivesTheWhole) {
  for (const char* name : {"plain-none-v1.parquet", "dictionary-gzip-v2.parquet"}) {
    RowsOfAFile rows(TableSpec(name));
    Batch whole = RowsOfAFile::Empty();
    ASSERT_EQ(rows.Read(0, kTableRows, whole), absl::OkStatus()) << name;
    ASSERT_EQ(whole.examples(), kTableRows);
    for (const uint64_t cut : {1, 99, 150, 299}) {
      Batch parts = RowsOfAFile::Empty();
      ASSERT_EQ(rows.Read(0, cut, parts), absl::OkStatus());
      EXPECT_EQ(parts.examples(), cut);
      ASSERT_EQ(rows.Read(cut, kTableRows, parts), absl::OkStatus());
      EXPECT_TRUE(parts == whole) << name << " " << cut;
    }
  }
}

TEST(RecordReaderTest, OfRowsBeyondTheEndThoseThatThereAreAreRead) {
  RowsOfAFile rows(TableSpec("plain-none-v1.parquet"));
  Batch records = RowsOfAFile::Empty();
  ASSERT_EQ(rows.Read(kTableRows - 3, UINT64_MAX, records), absl::OkStatus());
  EXPECT_EQ(records.examples(), 3u);
  ASSERT_EQ(rows.Read(kTableRows, kTableRows + 5, records), absl::OkStatus());
  ASSERT_EQ(rows.Read(7, 7, records), absl::OkStatus());
  EXPECT_EQ(records.examples(), 3u);
}

TEST(RecordReaderTest, ABadRowIsNamedByItsPlaceInTheFileAndLeavesNothing) {
  v1::DataSpec data = TableSpec("plain-none-v1.parquet");
  data.clear_numeric();
  data.clear_categorical();
  data.add_categorical()->set_name("flag");
  data.add_numeric()->set_name("text");  // In row 1 it is a long word.
  RowsOfAFile rows(data);
  Batch records = RowsOfAFile::Empty();
  ASSERT_EQ(rows.Read(1, 2, records), absl::OkStatus());
  EXPECT_EQ(records.examples(), 0u);
  EXPECT_EQ(records.offsets.size(), 1u);
  EXPECT_TRUE(records.keys.empty());
  EXPECT_TRUE(records.dense.empty());
  ASSERT_EQ(rows.bad().count(), 1u);
  EXPECT_THAT(rows.bad().examples()[0],
              HasSubstr("plain-none-v1.parquet: row 1: column 9 (text): "));
}

TEST(RecordReaderTest, WhatTheFooterSaysOfARowGroupIsChecked) {
  RowsOfAFile rows(TableSpec("plain-none-v1.parquet"));
  RowGroup& group = rows.file().metadata.row_groups[0];
  const RowGroup as_it_is = group;
  Batch records = RowsOfAFile::Empty();
  group.chunks[0].values += 1;
  const absl::Status values = rows.Read(0, 1, records);
  EXPECT_TRUE(absl::IsDataLoss(values)) << values;
  EXPECT_THAT(std::string(values.message()), HasSubstr("column \"label\": has "));
  group = as_it_is;
  group.chunks[0].codec = 4;
  const absl::Status codec = rows.Read(0, 1, records);
  EXPECT_TRUE(absl::IsInvalidArgument(codec)) << codec;
  EXPECT_THAT(std::string(codec.message()),
              HasSubstr("column \"label\" is compressed with BROTLI"));
  group = as_it_is;
  group.chunks[0].unreadable = "is encrypted";
  EXPECT_THAT(std::string(rows.Read(0, 1, records).message()),
              HasSubstr("column \"label\" is encrypted"));
  EXPECT_EQ(records.examples(), 0u);
}

TEST(RecordReaderTest, MoreRowsThanMemoryHasAreRefusedBeforeThereIsRoomForThem) {
  RowsOfAFile rows(TableSpec("plain-none-v1.parquet"));
  RowGroup& group = rows.file().metadata.row_groups[0];
  group.rows = uint64_t{1} << 50;
  for (Chunk& chunk : group.chunks) chunk.values = group.rows;
  Batch records = RowsOfAFile::Empty();
  const absl::Status status = rows.Read(0, uint64_t{1} << 50, records);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("make tasks smaller"));
}

}  // namespace
}  // namespace capstan::parquet
