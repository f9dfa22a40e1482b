#include "capstan/data/tasks/sample_reader.h"

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
#include "tests/unit/data/sample_files.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ReaderOptions TarOptions() {
  ReaderOptions options{.loss = v1::LOSS_SOFTMAX, .classes = 10};
  options.data.set_format(v1::DATA_FORMAT_TAR);
  options.data.mutable_image()->set_width(4);
  options.data.mutable_image()->set_height(4);
  options.data.mutable_image()->set_channels(1);
  return options;
}

class SampleReaderTest : public testing::Test {
 protected:
  SampleReaderTest() {
    for (int i = 0; i < 5; ++i) {
      samples_.push_back(TarSample(absl::StrCat(i), absl::StrCat("image ", i), absl::StrCat(i)));
      tar_ += samples_.back();
    }
    tar_ += TarEnd();
    path_ = folder_.Write("a.tar", tar_);
  }
  v1::Task Range(uint64_t begin, uint64_t end, bool by_records) const {
    v1::Task range;
    range.set_file(path_);
    range.set_begin(begin);
    range.set_end(end);
    range.set_by_records(by_records);
    return range;
  }
  // The labels of a range's records.
  absl::StatusOr<std::vector<float>> Read(const v1::Task& range) {
    OpenAhead streams(*files_, {range});
    Batch records;
    records.offsets = {0};
    TaskImages images{v1::DataSpec(), ImageDraws()};
    const absl::Status status = reader_.Read(range, streams, records, images);
    if (!status.ok()) return status;
    EXPECT_EQ(images.size(), records.labels.size());
    return records.labels;
  }

  const TestFolder folder_;
  const std::unique_ptr<const Source> files_ = NewLocalFiles();
  std::vector<std::string> samples_;
  std::string tar_;
  std::string path_;
  const ReaderOptions options_ = TarOptions();
  BadRecords bad_{/*limit=*/0};
  ImageIntake intake_{options_, bad_};
  SampleReader reader_{options_, *files_, intake_};
};

TEST_F(SampleReaderTest, EachSampleIsInOneOfTwoRangesOfBytes) {
  for (uint64_t cut = 256; cut <= tar_.size(); cut += 256) {
    auto both = Read(Range(0, cut, false));
    const auto rest = Read(Range(cut, kToTheEnd, false));
    ASSERT_TRUE(both.ok() && rest.ok()) << cut << both.status() << rest.status();
    both->insert(both->end(), rest->begin(), rest->end());
    EXPECT_THAT(*both, ElementsAre(0, 1, 2, 3, 4)) << cut;
  }
}

TEST_F(SampleReaderTest, NumberedSamplesAreFoundForwardsBackwardsAndBeyondTheEnd) {
  EXPECT_THAT(*Read(Range(1, 3, true)), ElementsAre(1, 2));
  EXPECT_THAT(*Read(Range(3, 4, true)), ElementsAre(3));
  EXPECT_THAT(*Read(Range(0, 2, true)), ElementsAre(0, 1));
  EXPECT_THAT(*Read(Range(4, 99, true)), ElementsAre(4));
  EXPECT_THAT(*Read(Range(5, 99, true)), IsEmpty());
  EXPECT_THAT(*Read(Range(4, 99, true)), ElementsAre(4)) << "after the end";
}

TEST_F(SampleReaderTest, AnotherFileIsNotTakenForTheOneThatIsOpen) {
  ASSERT_THAT(*Read(Range(0, 2, true)), ElementsAre(0, 1));
  path_ = folder_.Write("b.tar", TarSample("x", "X", "7") + TarSample("y", "Y", "8") + TarEnd());
  EXPECT_THAT(*Read(Range(1, 2, true)), ElementsAre(8));
}

TEST_F(SampleReaderTest, AFileThatHasBecomeShorterIsDamage) {
  const absl::Status shorter = Read(Range(0, tar_.size() + 1, false)).status();
  EXPECT_TRUE(absl::IsDataLoss(shorter)) << shorter;
  EXPECT_THAT(std::string(shorter.message()), HasSubstr("it has become shorter"));
}

TEST_F(SampleReaderTest, AFileThatIsGoneIsNotFound) {
  path_ = folder_.Path("gone.tar");
  EXPECT_TRUE(absl::IsNotFound(Read(Range(0, 1, true)).status()));
  EXPECT_TRUE(absl::IsNotFound(Read(Range(0, kToTheEnd, false)).status()));
}

}  // namespace
}  // namespace capstan
