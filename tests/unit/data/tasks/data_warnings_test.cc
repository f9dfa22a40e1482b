#include "capstan/data/tasks/data_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "capstan/data/tasks/tasks.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The sentences about a TSV of a label and a text, in the order of DataWarnings.
std::vector<std::string> SentencesOn(const std::string& text) {
  const TestFolder folder;
  v1::DataSpec data = CsvSpec(folder.Write("a.tsv", text), {}, {1});
  data.set_format(v1::DATA_FORMAT_TSV);
  v1::JobSpec job;
  *job.mutable_data() = Derived(data)->data;
  job.mutable_train()->set_batch_size(8);
  job.mutable_model()->set_loss(v1::LOSS_LOGISTIC);
  const std::unique_ptr<const Source> files = NewLocalFiles();
  const absl::StatusOr<TaskRanges> tasks =
      PlanTasks(*files, job.data(), {.split = Split::kTrain, .batch_size = 8});
  EXPECT_TRUE(tasks.ok()) << tasks.status();
  const absl::StatusOr<std::vector<DataWarning>> warnings =
      DataWarnings(*files, job, TaskMix(*tasks, job.data(), /*seed=*/1));
  EXPECT_TRUE(warnings.ok()) << warnings.status();
  std::vector<std::string> sentences;
  for (const DataWarning& warning : *warnings) sentences.push_back(warning.sentence);
  return sentences;
}

TEST(DataWarningsTest, AreAboutLabelsAndQuotes) {
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "1\t\"blue\"\n";
  EXPECT_THAT(SentencesOn(text),
              ElementsAre(IsEmpty(), HasSubstr("label"), HasSubstr("is in quotes")));
}

TEST(DataWarningsTest, AreEmptyWhereNothingIsOdd) {
  EXPECT_THAT(SentencesOn("1\tred\n0\tblue\n1\tred\n0\tred\n"),
              ElementsAre(IsEmpty(), IsEmpty(), IsEmpty()));
}

}  // namespace
}  // namespace capstan
