#include "capstan/data/parquet/parquet_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/unit/data/files.h"
#include "tests/unit/data/parquet/thrift_struct.h"

namespace capstan::parquet {
namespace {

using testing::HasSubstr;

absl::Status OpenedAs(const std::string& file) {
  return OpenParquetFile(*NewTextSource(file), "file").status();
}

// The footer of a file without rows, of one column; `note` is a text of it that nobody reads.
std::string FooterWithNote(const std::string& note) {
  return ThriftStruct()
      .List(2, {BranchNode("schema", 1), LeafNode("x", 1)})
      .Int(3, 0)
      .List(4, {})
      .Text(6, note)
      .bytes();
}

std::string LengthAndEnd(size_t length) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(length >> (8 * i)));
  return bytes + "PAR1";
}

TEST(OpenParquetFileTest, AFooterIsFoundAlsoIfItIsLongerThanWhatIsReadAtOnce) {
  for (const size_t size : {0, 100, 65000, 70000, 200000}) {
    const std::string footer = FooterWithNote(std::string(size, 'n'));
    const std::string file = "PAR1" + footer + LengthAndEnd(footer.size());
    const auto parquet = OpenParquetFile(*NewTextSource(file), "file");
    ASSERT_TRUE(parquet.ok()) << parquet.status();
    EXPECT_EQ(parquet->footer_bytes, footer.size());
    EXPECT_EQ(parquet->metadata.columns[0].name, "x");
    EXPECT_EQ(parquet->metadata.rows, 0u);
  }
}

TEST(OpenParquetFileTest, AFooterThatDoesNotFitIsDamage) {
  const std::string footer = FooterWithNote("");
  const size_t size = footer.size();
  EXPECT_EQ(OpenedAs("PAR1" + footer + LengthAndEnd(size + 1)),
            absl::DataLossError(absl::StrCat("file: its footer of ", size + 1,
                                             " bytes does not fit into the file of ", size + 12)));
  EXPECT_EQ(OpenedAs("PAR1" + footer + LengthAndEnd(0xFFFFFFFF)).code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(OpenedAs("PAR1" + footer + LengthAndEnd(0)),
            absl::DataLossError("file: the footer is malformed"));
}

TEST(OpenParquetFileTest, WhatIsNoParquetFileSaysWhatItMayBe) {
  EXPECT_EQ(OpenedAs(""), absl::InvalidArgumentError("file: is empty; expected a Parquet file"));
  EXPECT_EQ(OpenedAs("PAR1PAR1").code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(OpenedAs("short"), absl::InvalidArgumentError("file: is no Parquet file"));
  EXPECT_THAT(std::string(OpenedAs("1,2,3\n4,5,6\n").message()),
              HasSubstr("file: is no Parquet file; it looks like cells with commas"));
  EXPECT_THAT(std::string(OpenedAs("PARE" + std::string(20, 'x') + "PARE").message()),
              HasSubstr("file: is encrypted"));
  EXPECT_THAT(std::string(OpenedAs("PAR1" + std::string(20, 'x')).message()),
              HasSubstr("begins as a Parquet file and does not end as one; is it truncated?"));
}

}  // namespace
}  // namespace capstan::parquet
