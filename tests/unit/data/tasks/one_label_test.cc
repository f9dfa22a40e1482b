#include "capstan/data/tasks/one_label.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "capstan/data/tasks/tasks.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string WarningOf(v1::DataSpec data, const std::vector<std::string>& positive,
                      std::optional<float> threshold = {}) {
  data.set_shuffle(true);
  data.set_pieces(16);
  data.mutable_positive_labels()->Assign(positive.begin(), positive.end());
  data.set_binarize_label(threshold.has_value());
  data.set_label_threshold(threshold.value_or(0));
  const ReaderOptions options = *Derived(data);
  const auto source = NewLocalFiles();
  const TaskMix mix(*PlanTasks(*source, options.data, {.batch_size = 4}), options.data, /*seed=*/1);
  const auto labels = SampleLabelOrders(*source, options, mix);
  EXPECT_TRUE(labels.ok()) << labels.status();
  const auto warning = OneLabelWarning(*source, options.data, *labels, mix);
  EXPECT_TRUE(warning.ok()) << warning.status();
  return *warning;
}

std::string WarningOf(const std::string& path, const std::vector<std::string>& positive,
                      std::optional<float> threshold = {}) {
  return WarningOf(CsvSpec(path, {1}, {}), positive, threshold);
}

void AddLabel(v1::DataSpec& data, const std::string& name, uint32_t column) {
  v1::LabelSpec& label = *data.add_labels();
  label.set_name(name);
  label.set_column(column);
  label.set_weight(1);
}

// 4,000 rows; those from `first` on have the second label.
std::string Rows(const std::string& one, const std::string& other, int first) {
  std::string text;
  for (int i = 0; i < 4000; ++i) text += (i < first ? one : other) + "," + std::to_string(i) + "\n";
  return text;
}

TEST(OneLabelTest, APositiveLabelThatIsMisspeltIsToldWithThoseThatOccur) {
  TestFolder folder;
  const std::string path = folder.Write("a.csv", Rows("<=50K", " >50K", 2));
  EXPECT_THAT(WarningOf(path, {">50k"}),
              AllOf(HasSubstr("training records looked at have a label of data.schema.positive "
                              "(\">50k\"), so they all count as 0"),
                    HasSubstr("a.csv begins with the labels \"<=50K\", \">50K\""),
                    HasSubstr("did you mean \">50K\"?")));
}

TEST(OneLabelTest, APositiveLabelThatOccursOnlyAtTheEndOfASortedFileIsFound) {
  TestFolder folder;
  const std::string path = folder.Write("a.csv", Rows("no", "yes", 3000));
  EXPECT_EQ(WarningOf(path, {"yes"}), "");
}

TEST(OneLabelTest, ATextIsToldHoweverFewRecordsThereAre) {
  TestFolder folder;
  const std::string path = folder.Write("a.csv", "no,1\nyes,2\nno,3\n");
  EXPECT_THAT(WarningOf(path, {"YES", "Y"}), HasSubstr("begins with the labels \"no\", \"yes\""));
  EXPECT_EQ(WarningOf(folder.Write("b.csv", "0,1\n0,2\n0,3\n"), {}), "") << "few may be the same";
}

TEST(OneLabelTest, AThresholdBelowOrAboveAllLabelsIsTold) {
  TestFolder folder;
  const std::string path = folder.Write("a.csv", Rows("1", "5", 2000));
  EXPECT_THAT(WarningOf(path, {}, 7),
              AllOf(HasSubstr("have the label 0, with data.label_threshold: 7"),
                    Not(HasSubstr("compressed"))));
  EXPECT_THAT(WarningOf(path, {}, 0.5F), HasSubstr("have the label 1, with"));
  EXPECT_EQ(WarningOf(path, {}, 3), "");
}

TEST(OneLabelTest, OfSeveralLabelsEachOneWithoutAPositiveTextIsNamedWithItsOwnTexts) {
  TestFolder folder;
  std::string text;
  for (int i = 0; i < 4000; ++i) text += i % 2 == 0 ? "yes,Yes,1,No\n" : "no,No,1,No\n";
  v1::DataSpec data = CsvSpec(folder.Write("a.csv", text), {2}, {});
  AddLabel(data, "click", 0);
  AddLabel(data, "buy", 1);
  EXPECT_THAT(
      WarningOf(data, {"yes"}),
      AllOf(HasSubstr("training records looked at have a label buy that is one of "
                      "data.schema.positive (\"yes\"), so they all count as 0; "),
            HasSubstr("a.csv begins with the labels \"Yes\", \"No\"; did you mean \"Yes\"?"),
            Not(HasSubstr("click"))));
  EXPECT_EQ(WarningOf(data, {"yes", "Yes"}), "");
  AddLabel(data, "order", 3);
  EXPECT_THAT(WarningOf(data, {"yes"}),
              AllOf(HasSubstr("a label buy that"), HasSubstr("a label order that is one of")));
}

TEST(OneLabelTest, OfSeveralLabelsASquaredOneIsNoText) {
  TestFolder folder;
  std::string text;
  for (int i = 0; i < 4000; ++i) text += i % 2 == 0 ? "yes,0,1\n" : "no,0,1\n";
  v1::DataSpec data = CsvSpec(folder.Write("a.csv", text), {2}, {});
  AddLabel(data, "click", 0);
  AddLabel(data, "amount", 1);
  data.mutable_labels(1)->set_loss(v1::LOSS_SQUARED);
  EXPECT_EQ(WarningOf(data, {"yes"}), "");
}

TEST(OneLabelTest, OfSeveralLabelsOneThatIsTheSameInAllRecordsIsNamed) {
  TestFolder folder;
  std::string text;
  for (int i = 0; i < 4000; ++i) text += i % 2 == 0 ? "1,0,1\n" : "0,0,1\n";
  v1::DataSpec data = CsvSpec(folder.Write("a.csv", text), {2}, {});
  AddLabel(data, "click", 0);
  AddLabel(data, "buy", 1);
  EXPECT_THAT(WarningOf(data, {}), HasSubstr("training records looked at have the label buy 0"));
}

TEST(OneLabelTest, TheFrontOfASortedFileThatIsNotMixedIsTold) {
  TestFolder folder;
  std::string text;
  for (int i = 0; i < 200000; ++i) text += i < 100000 ? "0,1\n" : "1,1\n";
  const std::string path = folder.Write("a.csv.gz", Gzip(text));
  v1::DataSpec data = CsvSpec(path, {1}, {});
  data.set_shuffle(true);
  data.set_pieces(16);
  data.set_task_records(1000);  // So many tasks that each would be read from the front.
  const ReaderOptions options = *Derived(data);
  const auto source = NewLocalFiles();
  const TaskMix mix(*PlanTasks(*source, options.data, {.batch_size = 4}), options.data, /*seed=*/1);
  ASSERT_EQ(mix.mixed_records(), 0u);
  const auto labels = SampleLabelOrders(*source, options, mix);
  ASSERT_TRUE(labels.ok()) << labels.status();
  EXPECT_THAT(*OneLabelWarning(*source, options.data, *labels, mix),
              AllOf(HasSubstr("training records looked at have the label 0"),
                    HasSubstr("if they lie in the order of their labels, decompress them")));
}

}  // namespace
}  // namespace capstan
