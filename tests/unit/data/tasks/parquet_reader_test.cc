#include "capstan/data/tasks/parquet_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"
#include "tests/unit/data/parquet/table.h"

namespace capstan {
namespace {

using testing::HasSubstr;

v1::Task RowsOf(const std::string& file, uint64_t begin, uint64_t end) {
  v1::Task task;
  task.set_file(file);
  task.set_by_records(true);
  task.set_begin(begin);
  task.set_end(end);
  return task;
}

class ParquetReaderTest : public testing::Test {
 protected:
  const std::string path_ = parquet::GoldenPath("plain-none-v1.parquet");
  const ReaderOptions options_ = *Derived(parquet::TableSpec("plain-none-v1.parquet"));
  MeteredFiles files_;
  BadRecords bad_{/*limit=*/0};
  ParquetReader reader_{options_, files_, bad_};
};

TEST_F(ParquetReaderTest, TasksOfAFileAreItsRowsAndItsFooterIsReadOnce) {
  Batch whole;
  whole.offsets = {0};
  ASSERT_EQ(reader_.Read(RowsOf(path_, 0, parquet::kTableRows), whole), absl::OkStatus());
  Batch parts;
  parts.offsets = {0};
  const uint64_t before = files_.bytes();
  ASSERT_EQ(reader_.Read(RowsOf(path_, 0, 1), parts), absl::OkStatus());
  const uint64_t first = files_.bytes() - before;
  ASSERT_EQ(reader_.Read(RowsOf(path_, 1, parquet::kTableRows), parts), absl::OkStatus());
  EXPECT_TRUE(parts == whole);
  ParquetReader fresh(options_, files_, bad_);
  Batch one;
  one.offsets = {0};
  const uint64_t before_fresh = files_.bytes();
  ASSERT_EQ(fresh.Read(RowsOf(path_, 0, 1), one), absl::OkStatus());
  EXPECT_GT(files_.bytes() - before_fresh, first) << "it does not know the footer yet";
}

TEST_F(ParquetReaderTest, AFileThatIsGoneOrIsNoneIsNamed) {
  const TestFolder folder;
  Batch records;
  records.offsets = {0};
  EXPECT_TRUE(absl::IsNotFound(reader_.Read(RowsOf(folder.Path("gone"), 0, 1), records)));
  const std::string text = folder.Write("text.parquet", "label,x\n1,2\n");
  const absl::Status none = reader_.Read(RowsOf(text, 0, 1), records);
  EXPECT_TRUE(absl::IsInvalidArgument(none)) << none;
  EXPECT_THAT(std::string(none.message()), HasSubstr("text.parquet"));
  EXPECT_EQ(records.examples(), 0u);
}

TEST_F(ParquetReaderTest, AFileOfOtherColumnsIsRefusedByTheOneThatItLacks) {
  Batch records;
  records.offsets = {0};
  const absl::Status other =
      reader_.Read(RowsOf(parquet::GoldenPath("lists-plain-v1.parquet"), 0, 1), records);
  EXPECT_TRUE(absl::IsInvalidArgument(other)) << other;
  EXPECT_THAT(std::string(other.message()), HasSubstr("lists-plain-v1.parquet: has no column \""));
}

}  // namespace
}  // namespace capstan
