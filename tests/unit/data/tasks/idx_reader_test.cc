#include "capstan/data/tasks/idx_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "tests/lib/test_folder.h"
#include "tests/unit/data/bytes_of.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class IdxReaderTest : public testing::Test {
 protected:
  IdxReaderTest() {
    // Three images of 1 x 2 pixels, and their labels.
    folder_.Write("images", BytesOf({0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2}) +
                                BytesOf({10, 11, 20, 21, 255, 0}));
    folder_.Write("labels", BytesOf({0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9}));
    options_.data.set_format(v1::DATA_FORMAT_IDX);
    options_.data.set_dense_width(2);
    options_.data.set_numeric_scale(0.5F);
    options_.loss = v1::LOSS_SOFTMAX;
    options_.classes = 10;
  }

  v1::Task Range(uint64_t begin, uint64_t end) const {
    v1::Task task;
    task.set_file(folder_.Path("images"));
    task.set_labels_file(folder_.Path("labels"));
    task.set_by_records(true);
    task.set_begin(begin);
    task.set_end(end);
    return task;
  }
  std::string Error(const v1::Task& task) {
    IdxReader reader(options_, *files_, bad_records_);
    Batch records;
    const absl::Status status = reader.Read(task, records);
    EXPECT_FALSE(status.ok());
    return std::string(status.message());
  }

  const TestFolder folder_;
  const std::unique_ptr<const Source> files_ = NewLocalFiles();
  ReaderOptions options_;
  BadRecords bad_records_{1};
};

TEST_F(IdxReaderTest, RangesAreReadInAnyOrder) {
  IdxReader reader(options_, *files_, bad_records_);
  Batch records;
  for (const auto& [begin, end] : {std::pair(1, 2), std::pair(2, 3), std::pair(0, 1)}) {
    const absl::Status status = reader.Read(Range(begin, end), records);
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_THAT(records.labels, ElementsAre(8, 9, 7));
  EXPECT_THAT(records.dense, ElementsAre(10, 10.5F, 127.5F, 0, 5, 5.5F));
  EXPECT_EQ(records.offsets.size(), 3u);
}

TEST_F(IdxReaderTest, ARangeEndsWithTheFile) {
  IdxReader reader(options_, *files_, bad_records_);
  Batch records;
  ASSERT_TRUE(reader.Read(Range(1, 1000), records).ok());
  EXPECT_THAT(records.labels, ElementsAre(8, 9));
  ASSERT_TRUE(reader.Read(Range(3, 1000), records).ok());
  ASSERT_TRUE(reader.Read(Range(2000, 1000), records).ok());
  EXPECT_EQ(records.labels.size(), 2u);
}

TEST_F(IdxReaderTest, ALabelThatIsNoClassLeavesItsImageOut) {
  options_.classes = 9;
  IdxReader reader(options_, *files_, bad_records_);
  Batch records;
  ASSERT_TRUE(reader.Read(Range(0, 3), records).ok());
  EXPECT_THAT(records.labels, ElementsAre(7, 8));
  EXPECT_EQ(records.dense.size(), 4u);
  EXPECT_THAT(
      bad_records_.examples(),
      ElementsAre(folder_.Path("labels") + ": item 2: label is 9, expected a class, 0 to 8"));
}

TEST_F(IdxReaderTest, WhatIsScoredNeedsNoFileOfLabels) {
  options_.labels = Labels::kIgnored;
  v1::Task task = Range(0, 3);
  task.set_labels_file(folder_.Path("none"));
  IdxReader reader(options_, *files_, bad_records_);
  Batch records;
  ASSERT_TRUE(reader.Read(task, records).ok());
  EXPECT_THAT(records.labels, ElementsAre(0, 0, 0));
}

TEST_F(IdxReaderTest, FilesThatAreNotWhatTheJobWasPlannedOnAreRefused) {
  v1::Task task = Range(0, 3);
  task.set_labels_file(folder_.Path("images"));
  EXPECT_EQ(Error(task), folder_.Path("images") + ": holds no labels");
  task = Range(0, 3);
  task.set_file(folder_.Path("labels"));
  EXPECT_EQ(Error(task), folder_.Path("labels") + ": items of 1 bytes, expected 2");
  options_.data.set_dense_width(4);
  EXPECT_EQ(Error(Range(0, 3)), folder_.Path("images") + ": items of 2 bytes, expected 4");
}

TEST_F(IdxReaderTest, AFileThatEndsEarlyIsOpenedAgainForTheNextRange) {
  folder_.Write("images", BytesOf({0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 10, 11, 20}));
  IdxReader reader(options_, *files_, bad_records_);
  Batch records;
  const absl::Status status = reader.Read(Range(0, 3), records);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("images: byte 19: the file ends early"));
  Batch again;
  ASSERT_TRUE(reader.Read(Range(0, 1), again).ok());
  EXPECT_THAT(again.labels, ElementsAre(7));
}

}  // namespace
}  // namespace capstan
