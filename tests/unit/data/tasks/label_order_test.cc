#include "capstan/data/tasks/label_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "capstan/base/hash.h"
#include "capstan/data/tasks/tasks.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The warning about a csv file with these labels.
std::string WarningOf(const std::string& path, v1::Loss loss, bool shuffle, uint32_t pieces) {
  v1::DataSpec data = CsvSpec(path, {1}, {});
  data.set_shuffle(shuffle);
  data.set_pieces(pieces);
  ReaderOptions options = *Derived(data);
  options.loss = loss;
  const auto source = NewLocalFiles();
  const auto ranges = PlanTasks(*source, options.data, {.batch_size = 4});
  const TaskMix mix(*ranges, options.data, /*seed=*/1);
  const auto orders = SampleLabelOrders(*source, options, mix);
  EXPECT_TRUE(orders.ok()) << orders.status();
  return LabelOrderWarning(options.data, *orders, mix);
}

// 4,000 rows, a quarter of them positive.
std::string Rows(bool sorted) {
  std::string text;
  for (uint64_t i = 0; i < 4000; ++i) {
    const bool positive = sorted ? i >= 3000 : Draw(1, 2, i) % 4 == 0;
    text += std::string(positive ? "1" : "0") + "," + std::to_string(i) + "\n";
  }
  return text;
}

TEST(LabelOrderTest, TellsHowOftenNeighboursHaveTheSameLabel) {
  const LabelOrder order = MeasureLabelOrder({{{0, 0, 0}, {0, 1, 1, 1}, {}}}, /*classes=*/true);
  EXPECT_EQ(order.pairs, 5u);
  EXPECT_DOUBLE_EQ(order.same, 4.0 / 5);
  EXPECT_DOUBLE_EQ(order.chance, (16.0 + 9.0) / 49);
  EXPECT_DOUBLE_EQ(order.likeness, (0.8 - 25.0 / 49) / (24.0 / 49));
}

TEST(LabelOrderTest, LabelsThatAreAllTheSameAreNoOrder) {
  EXPECT_EQ(MeasureLabelOrder({{{1, 1, 1, 1}}}, true).likeness, 0);
  EXPECT_EQ(MeasureLabelOrder({{{7, 7, 7, 7}}}, false).likeness, 0);
  EXPECT_EQ(MeasureLabelOrder({{{}}}, true).pairs, 0u);
}

TEST(LabelOrderTest, SortedDataAreTold) {
  TestFolder folder;
  const std::string path = folder.Write("a.csv", Rows(/*sorted=*/true));
  EXPECT_THAT(
      WarningOf(path, v1::LOSS_LOGISTIC, true, 16),
      AllOf(HasSubstr("100 % of neighbouring records have the same one, by chance it were "),
            HasSubstr("each task therefore mixes pieces from all over them")));
  EXPECT_THAT(WarningOf(path, v1::LOSS_LOGISTIC, false, 16), HasSubstr("set data.shuffle: true"));
  EXPECT_THAT(WarningOf(path, v1::LOSS_LOGISTIC, true, 1), HasSubstr("data.pieces: 16"));
  const std::string packed = folder.Write("a.csv.gz", Gzip(Rows(/*sorted=*/true)));
  EXPECT_THAT(WarningOf(packed, v1::LOSS_LOGISTIC, true, 16), HasSubstr("100 % of neighbouring"));
}

TEST(LabelOrderTest, ShuffledDataAreNot) {
  TestFolder folder;
  const std::string path = folder.Write("a.csv", Rows(/*sorted=*/false));
  EXPECT_EQ(WarningOf(path, v1::LOSS_LOGISTIC, true, 16), "");
  EXPECT_EQ(WarningOf(path, v1::LOSS_LOGISTIC, false, 16), "");
}

TEST(LabelOrderTest, NumbersAreInOrderWhereNeighboursCorrelate) {
  TestFolder folder;
  std::string rising;
  std::string random;
  for (uint64_t i = 0; i < 4000; ++i) {
    rising += std::to_string(i) + "," + std::to_string(i) + "\n";
    random += std::to_string(Draw(1, 2, i) % 4000) + "," + std::to_string(i) + "\n";
  }
  EXPECT_THAT(WarningOf(folder.Write("a.csv", rising), v1::LOSS_SQUARED, true, 16),
              HasSubstr("those of neighbouring records correlate by 1.00"));
  EXPECT_EQ(WarningOf(folder.Write("b.csv", random), v1::LOSS_SQUARED, true, 16), "");
}

TEST(LabelOrderTest, OfSeveralLabelsTheOneInWhoseOrderTheDataLieIsNamed) {
  v1::DataSpec data;
  for (const char* name : {"click", "buy", "rare"}) data.add_labels()->set_name(name);
  const TaskMix mix(TaskRanges(), data, /*seed=*/1);
  const LabelOrder random{.pairs = 1000, .likeness = 0.01};
  const LabelOrder sorted{.pairs = 1000, .likeness = 0.9};
  const LabelOrder few{.pairs = 100, .likeness = 1};
  EXPECT_THAT(LabelOrderWarning(data, {{random, sorted, few}}, mix),
              HasSubstr("in the order of their label buy: "));
  EXPECT_EQ(LabelOrderWarning(data, {{random, random, few}}, mix), "") << "rare says too little";
}

}  // namespace
}  // namespace capstan
