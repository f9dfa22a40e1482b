#include "capstan/data/tasks/text_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/data/tasks/tasks.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TextReaderTest : public testing::Test {
 protected:
  // A csv of a label and a number.
  void Write(const std::string& text, bool header = false) {
    path_ = folder_.Write("a.csv", text);
    v1::DataSpec data = CsvSpec(path_, {1}, {});
    data.set_header(header);
    const absl::StatusOr<ReaderOptions> options = Derived(data);
    ASSERT_TRUE(options.ok()) << options.status();
    options_ = *options;
    reader_ = std::make_unique<TextReader>(options_, *files_, bad_);
  }
  v1::Task Range(uint64_t begin, uint64_t end, bool by_records = false) const {
    v1::Task range;
    range.set_file(path_);
    range.set_begin(begin);
    range.set_end(end);
    range.set_by_records(by_records);
    return range;
  }
  // The numbers of a range's records.
  absl::StatusOr<std::vector<float>> Read(const v1::Task& range) {
    OpenAhead streams(*files_, {range});
    Batch records;
    records.offsets = {0};
    const absl::Status status = reader_->Read(range, streams, records);
    if (!status.ok()) return status;
    return records.dense;
  }

  const TestFolder folder_;
  const std::unique_ptr<const Source> files_ = NewLocalFiles();
  std::string path_;
  ReaderOptions options_;
  BadRecords bad_{/*limit=*/100};
  std::unique_ptr<TextReader> reader_;
};

TEST_F(TextReaderTest, EachRecordIsInOneOfTwoRangesWhereverTheyMeet) {
  const std::string text = "1,10\n0,20\r\n\n1,30\n0,40";
  Write(text);
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    auto both = Read(Range(0, cut));
    const auto rest = Read(Range(cut, kToTheEnd));
    ASSERT_TRUE(both.ok() && rest.ok()) << cut << both.status() << rest.status();
    both->insert(both->end(), rest->begin(), rest->end());
    EXPECT_THAT(*both, ElementsAre(10, 20, 30, 40)) << cut;
  }
}

TEST_F(TextReaderTest, ALineOfNamesIsNoRecordInWhicheverRange) {
  const std::string text = "label,x\n1,10\n0,20\n";
  Write(text, /*header=*/true);
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    auto both = Read(Range(0, cut));
    const auto rest = Read(Range(cut, kToTheEnd));
    ASSERT_TRUE(both.ok() && rest.ok()) << cut << both.status() << rest.status();
    both->insert(both->end(), rest->begin(), rest->end());
    EXPECT_THAT(*both, ElementsAre(10, 20)) << cut;
  }
  EXPECT_THAT(*Read(Range(1, 2, /*by_records=*/true)), ElementsAre(20));
}

TEST_F(TextReaderTest, NumberedRecordsAreFoundForwardsBackwardsAndBeyondTheEnd) {
  Write("1,10\n0,20\n1,30\n0,40\n");
  EXPECT_THAT(*Read(Range(1, 3, true)), ElementsAre(20, 30));
  EXPECT_THAT(*Read(Range(3, 4, true)), ElementsAre(40));
  EXPECT_THAT(*Read(Range(0, 1, true)), ElementsAre(10));
  EXPECT_THAT(*Read(Range(3, 9, true)), ElementsAre(40));
  EXPECT_THAT(*Read(Range(4, 9, true)), IsEmpty());
  EXPECT_THAT(*Read(Range(2, 2, true)), IsEmpty());
}

TEST_F(TextReaderTest, ABadLineHasItsNumberHoweverItIsReached) {
  Write("label,x\n1,10\n\n0,oops\n1,30\n", /*header=*/true);
  EXPECT_THAT(*Read(Range(0, kToTheEnd)), ElementsAre(10, 30));
  EXPECT_THAT(*Read(Range(10, kToTheEnd)), ElementsAre(30));
  EXPECT_THAT(*Read(Range(2, 4, true)), ElementsAre(30));
  ASSERT_EQ(bad_.count(), 3u);
  for (const std::string& message : bad_.examples()) {
    EXPECT_THAT(message, HasSubstr(absl::StrCat(path_, ":4: ")));
  }
}

TEST_F(TextReaderTest, AnotherLineOfNamesThanTheFirstFilesIsRefused) {
  Write("label,x\n1,10\n", /*header=*/true);
  options_.data.mutable_numeric(0)->set_name("x");
  reader_ = std::make_unique<TextReader>(options_, *files_, bad_);
  EXPECT_THAT(*Read(Range(0, kToTheEnd)), ElementsAre(10));
  folder_.Write("a.csv", "label,y\n1,10\n");
  for (const bool by_records : {false, true}) {
    const absl::Status status = Read(Range(0, 5, by_records)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(path_, ":1: ")));
  }
}

TEST_F(TextReaderTest, AFileThatHasBecomeShorterIsDamage) {
  Write("1,10\n0,20\n");
  EXPECT_TRUE(Read(Range(5, 10)).ok());
  const absl::Status shorter = Read(Range(5, 11)).status();
  EXPECT_TRUE(absl::IsDataLoss(shorter)) << shorter;
  EXPECT_THAT(std::string(shorter.message()), HasSubstr("it has become shorter"));
}

}  // namespace
}  // namespace capstan
