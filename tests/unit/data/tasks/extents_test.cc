#include "capstan/data/tasks/extents.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

// A hundred lines of ten bytes.
std::string HundredLines() {
  std::string text;
  for (int i = 100; i < 200; ++i) text += "1,abc," + std::to_string(i) + "\n";
  return text;
}

class ExtentsTest : public testing::Test {
 protected:
  std::vector<Extent> Found(const v1::DataSpec& data, const PlanOptions& options = {}) const {
    const auto extents = FindExtents(*NewLocalFiles(), data, options);
    EXPECT_TRUE(extents.ok()) << extents.status();
    return extents.ok() ? extents->all : std::vector<Extent>();
  }

  const TestFolder folder_;
};

TEST_F(ExtentsTest, APlainTextIsCutByBytesAndACompressedOneByItsLines) {
  v1::DataSpec data = CsvSpec(folder_.Write("plain.csv", HundredLines()), {}, {1});
  data.add_train(folder_.Write("packed.csv.gz", Gzip(HundredLines())));
  const std::vector<Extent> extents = Found(data);
  ASSERT_EQ(extents.size(), 2u);
  EXPECT_EQ(extents[0].file, folder_.Path("plain.csv"));
  EXPECT_FALSE(extents[0].by_records);
  EXPECT_EQ(extents[0].length, 1000u);
  EXPECT_EQ(extents[0].record_bytes, 10);
  EXPECT_EQ(extents[0].records(), 100);
  EXPECT_TRUE(extents[1].by_records);
  EXPECT_FALSE(extents[1].estimated);
  EXPECT_EQ(extents[1].length, 100u);
}

TEST_F(ExtentsTest, BeyondTheBytesThatAreCountedRecordsAreEstimated) {
  const std::string packed = Gzip(HundredLines());
  v1::DataSpec data = CsvSpec(folder_.Write("a.csv.gz", packed), {}, {1});
  data.add_train(folder_.Write("b.csv.gz", packed));
  const std::vector<Extent> extents = Found(data, {.counted_bytes = packed.size()});
  ASSERT_EQ(extents.size(), 2u);
  EXPECT_FALSE(extents[0].estimated);
  EXPECT_EQ(extents[0].length, 100u);
  EXPECT_TRUE(extents[1].estimated);
  EXPECT_NEAR(extents[1].records(), 100, 1);
}

TEST_F(ExtentsTest, AnEmptyFileHasNoRecords) {
  const v1::DataSpec data = CsvSpec(folder_.Write("empty.csv", ""), {}, {1});
  const std::vector<Extent> extents = Found(data);
  ASSERT_EQ(extents.size(), 1u);
  EXPECT_EQ(extents[0].length, 0u);
  EXPECT_EQ(extents[0].records(), 0);
}

TEST_F(ExtentsTest, AFolderOfImagesIsAnExtentForEachClass) {
  for (const char* name : {"root/cat", "root/dog"}) {
    std::filesystem::create_directories(folder_.Path(name));
  }
  folder_.Write("root/cat/1.jpg", "a");
  folder_.Write("root/cat/2.jpg", "b");
  folder_.Write("root/dog/1.jpg", "c");
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_FOLDER);
  data.add_train(folder_.Path("root"));
  const std::vector<Extent> extents = Found(data);
  ASSERT_EQ(extents.size(), 2u);
  EXPECT_EQ(extents[0].file, folder_.Path("root/cat"));
  EXPECT_EQ(extents[0].length, 2u);
  EXPECT_EQ(extents[0].file_records, 2u);
  EXPECT_EQ(extents[1].length, 1u);
}

TEST_F(ExtentsTest, SyntheticDataHaveTheRowsThatTheJobSays) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_SYNTHETIC);
  data.mutable_synthetic()->set_train_rows(uint64_t{1} << 40);
  data.mutable_synthetic()->set_eval_rows(7);
  EXPECT_EQ(Found(data)[0].length, uint64_t{1} << 40);
  EXPECT_EQ(Found(data)[0].file, kSyntheticTrain);
  EXPECT_EQ(Found(data, {.split = Split::kEval})[0].length, 7u);
  EXPECT_EQ(Found(data, {.split = Split::kEval})[0].file, kSyntheticEval);
}

TEST_F(ExtentsTest, ProgressIsToldAtTheLastFile) {
  v1::DataSpec data = CsvSpec(folder_.Write("a.csv", "1,x\n"), {}, {1});
  data.add_train(folder_.Write("b.csv", "1,x\n"));
  std::atomic<int> told = 0;
  const auto progress = [&told](size_t done, size_t files) {
    EXPECT_EQ(done, 2u);
    EXPECT_EQ(files, 2u);
    ++told;
  };
  Found(data, {.progress = progress});
  EXPECT_EQ(told.load(), 1);
}

TEST_F(ExtentsTest, DataWithoutAFormatAreRefused) {
  EXPECT_EQ(FindExtents(*NewLocalFiles(), v1::DataSpec(), {}).status(),
            absl::InvalidArgumentError("data: no format"));
}

TEST(ListingOfTest, NamesSizesAndTheirOrderAllCount) {
  const std::set<uint64_t> listings = {
      ListingOf({}),
      ListingOf({{"a", 1}}),
      ListingOf({{"a", 2}}),
      ListingOf({{"b", 1}}),
      ListingOf({{"a", 1}, {"b", 1}}),
      ListingOf({{"b", 1}, {"a", 1}}),
      ListingOf({{"a", 1}, {"a", 1}}),
  };
  EXPECT_EQ(listings.size(), 7u);
  EXPECT_FALSE(listings.contains(0));
  EXPECT_EQ(ListingOf({{"a", 1}}), ListingOf({{"a", 1}}));
}

}  // namespace
}  // namespace capstan
