#include "capstan/data/tasks/check_first_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kGood[] = "0,1\n1,2\n0,3\n";

// A job on csv files: a label and one number.
v1::JobSpec JobOn(const std::string& train, const std::string& eval) {
  v1::JobSpec job;
  *job.mutable_data() = CsvSpec(train, {1}, {});
  if (!eval.empty()) job.mutable_data()->add_eval(eval);
  job.mutable_model()->set_loss(v1::LOSS_LOGISTIC);
  job.mutable_model()->set_outputs(1);
  EXPECT_EQ(DeriveDataSpec(*NewLocalFiles(), *job.mutable_data()), absl::OkStatus());
  return job;
}

absl::Status Check(const v1::JobSpec& job, size_t most_files = kMostCheckedFiles) {
  return CheckFirstRecords(*NewLocalFiles(), job, most_files);
}

TEST(CheckFirstRecordsTest, SaysOfWhatFormatAFileIsThatIsNotAsItIsSaidToBe) {
  TestFolder folder;
  const std::string train = folder.Write("train.csv", kGood);
  for (const auto& [text, looks] :
       {std::pair("0;1\n1;2\n", "';'"), {"PAR1\x15\x04\n", "Parquet"}}) {
    const std::string eval = folder.Write("eval.csv", text);
    EXPECT_THAT(std::string(Check(JobOn(train, eval)).message()),
                AllOf(StartsWith(eval + ": has one column; it looks like "), HasSubstr(looks)));
  }
}

TEST(CheckFirstRecordsTest, RefusesATextForALabelWithFileAndLine) {
  TestFolder folder;
  const std::string path = folder.Write("a.csv", "0,1\n1,2\n>50K,3\n0,4\n");
  EXPECT_THAT(std::string(Check(JobOn(path, "")).message()),
              StartsWith(path + ":3: column 0: label \">50K\" is no"));
}

TEST(CheckFirstRecordsTest, SuggestsThatAFirstLineOfNamesIsAHeader) {
  TestFolder folder;
  const std::string path = folder.Write("a.csv", "label,price\n0,1\n");
  EXPECT_THAT(std::string(Check(JobOn(path, "")).message()), HasSubstr("data.header: true"));
}

TEST(CheckFirstRecordsTest, RefusesARaggedRowOfTheEvaluationData) {
  TestFolder folder;
  const std::string test = folder.Write("test.csv", "0,1\n1,2\n0,3,4\n");
  EXPECT_EQ(Check(JobOn(folder.Write("train.csv", kGood), test)),
            absl::InvalidArgumentError(test + ":3: 3 columns, expected 2"));
}

TEST(CheckFirstRecordsTest, RefusesACompressedFileThatIsDamagedAtItsFront) {
  TestFolder folder;
  std::string damaged = Gzip(kGood);
  damaged[12] ^= 0x55;
  const std::string test = folder.Write("test.csv.gz", damaged);
  const absl::Status refused = Check(JobOn(folder.Write("train.csv", kGood), test));
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(refused.message()), HasSubstr(test));
}

TEST(CheckFirstRecordsTest, RefusesVowpalWabbitInPlaceOfLibsvm) {
  TestFolder folder;
  const std::string path = folder.Write("a.vw", "1 |f age:3 job:1\n0 |f age:4 job:2\n");
  v1::JobSpec job;
  job.mutable_data()->set_format(v1::DATA_FORMAT_LIBSVM);
  job.mutable_data()->add_train(path);
  EXPECT_EQ(Check(job), absl::InvalidArgumentError(path + ":1: \"|f\" is not index:value"));
}

TEST(CheckFirstRecordsTest, NamesTheFirstOfManyFilesThatDoNotFit) {
  TestFolder folder;
  for (int i = 100; i < 200; ++i) folder.Write(absl::StrCat("part-", i), i < 142 ? kGood : "x,1\n");
  EXPECT_THAT(std::string(Check(JobOn(folder.Path("part-*"), "")).message()),
              StartsWith(folder.Path("part-142") + ":1: "));
}

TEST(CheckFirstRecordsTest, OfTooManyFilesLooksAtSomeEvenlyFromTheFirstToTheLast) {
  TestFolder folder;
  for (int i = 100; i <= 110; ++i) folder.Write(absl::StrCat("part-", i), kGood);
  const v1::JobSpec job = JobOn(folder.Path("part-*"), "");
  folder.Write("part-101", "x,1\n");
  EXPECT_EQ(Check(job, /*most_files=*/3), absl::OkStatus()) << "100, 105 and 110";
  folder.Write("part-105", "x,1\n");
  EXPECT_THAT(std::string(Check(job, 3).message()), HasSubstr("part-105"));
  folder.Write("part-105", kGood);
  folder.Write("part-110", "x,1\n");
  EXPECT_THAT(std::string(Check(job, 3).message()), HasSubstr("part-110"));
}

TEST(CheckFirstRecordsTest, LetsSomeBadRecordsPassButNoFileOfThemAlone) {
  TestFolder folder;
  v1::JobSpec job = JobOn(folder.Write("a.csv", std::string(kGood) + "x,1\ny,1\n"), "");
  job.mutable_data()->set_max_bad_records(2);
  EXPECT_EQ(Check(job), absl::OkStatus());
  const std::string texts = folder.Write("b.csv", "x,1\ny,1\n");
  job.mutable_data()->add_train(texts);
  EXPECT_EQ(Check(job).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Check(job).message()), HasSubstr("none of the first 2 records"));
}

TEST(CheckFirstRecordsTest, AFileWithoutRecordsIsNoMistake) {
  TestFolder folder;
  folder.Write("part-1", kGood);
  folder.Write("part-2", "");
  EXPECT_EQ(Check(JobOn(folder.Path("part-*"), "")), absl::OkStatus());
}

}  // namespace
}  // namespace capstan
