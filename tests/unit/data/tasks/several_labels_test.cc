// Records that have several labels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/data/formats/record_parser.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;

void AddLabel(v1::DataSpec& data, const std::string& name) {
  v1::LabelSpec& label = *data.add_labels();
  label.set_name(name);
  label.set_column_name(name);
  label.set_weight(1);
}

// The file has them in another order, and the item between them.
v1::DataSpec Visits(const std::string& path) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_CSV);
  data.set_header(true);
  data.add_train(path);
  AddLabel(data, "click");
  AddLabel(data, "buy");
  data.add_categorical()->set_name("item");
  data.add_numeric()->set_name("price");
  return data;
}

constexpr char kVisitNames[] = "buy,item,click,price\n";

class SeveralLabelsTest : public testing::Test {
 protected:
  absl::StatusOr<Batch> Read(const ReaderOptions& options) {
    v1::Task task;
    task.set_file(options.data.train(0));
    task.set_end(kToTheEnd);
    TaskReader reader(options, *files_);
    const auto read = reader.Read({.task = task, .evaluation = true});
    if (!read.ok()) return read.status();
    bad_records_ = (*read)->bad_records().count();
    first_labels_ = (*read)->LabelsAt(0);
    Batch batch;
    EXPECT_TRUE((*read)->ReadBatch(0, batch).ok());
    return batch;
  }

  TestFolder folder_;
  const std::unique_ptr<const Source> files_ = NewLocalFiles();
  uint64_t bad_records_ = 0;
  std::vector<float> first_labels_;
};

ReaderOptions OptionsOf(const v1::DataSpec& data) {
  ReaderOptions options = *Derived(data);
  options.batch_size = 100;
  return options;
}

TEST_F(SeveralLabelsTest, AreInTheOrderOfTheJobWhateverThatOfTheFile) {
  const auto batch = Read(OptionsOf(
      Visits(folder_.Write("a.csv", absl::StrCat(kVisitNames, "0,a,1,5\n1,b,1,6\n0,c,0,7\n")))));
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->label_count, 2u);
  EXPECT_EQ(batch->examples(), 3u);
  EXPECT_THAT(batch->labels, ElementsAre(1, 0, 1, 1, 0, 0));
  EXPECT_THAT(batch->LabelsOf(1), ElementsAre(1, 1));
  EXPECT_THAT(batch->dense, ElementsAre(5, 6, 7));
  EXPECT_THAT(first_labels_, ElementsAre(1, 1, 0)) << "click's";
}

TEST_F(SeveralLabelsTest, ANumberBesideALabelOfTwoClassesIsTakenAsItIs) {
  v1::DataSpec data =
      Visits(folder_.Write("a.csv", absl::StrCat(kVisitNames, "0.5,a,yes,5\n-7,b,no,6\n")));
  data.add_positive_labels("yes");
  data.mutable_labels(1)->set_loss(v1::LOSS_SQUARED);
  const auto batch = Read(OptionsOf(data));
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_THAT(batch->labels, ElementsAre(1, 0.5f, 0, -7));
}

TEST_F(SeveralLabelsTest, ARecordThatLacksOneIsBadAndLeavesNothingOfItself) {
  v1::DataSpec data = Visits(
      folder_.Write("a.csv", absl::StrCat(kVisitNames, "0,a,1,5\n,b,1,6\n1,c,,7\n1,d,0,8\n")));
  EXPECT_THAT(std::string(Read(OptionsOf(data)).status().message()),
              HasSubstr(":3: column 0 (buy): "));
  data.set_max_bad_records(2);
  const auto batch = Read(OptionsOf(data));
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(bad_records_, 2u);
  EXPECT_THAT(batch->labels, ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(batch->dense, ElementsAre(5, 8));
}

TEST_F(SeveralLabelsTest, OneThatMayBeMissingIsMissingAndARecordWithoutAnyIsBad) {
  v1::DataSpec data = Visits(
      folder_.Write("a.csv", absl::StrCat(kVisitNames, ",a,1,5\n 1,b,,6\n ,c, ,7\n1,d,0,8\n")));
  for (v1::LabelSpec& label : *data.mutable_labels()) label.set_may_be_missing(true);
  EXPECT_THAT(std::string(Read(OptionsOf(data)).status().message()),
              HasSubstr(":4: none of the labels is there"));
  data.set_max_bad_records(1);
  const auto batch = Read(OptionsOf(data));
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(bad_records_, 1u);
  EXPECT_THAT(batch->labels, ElementsAre(1, IsNan(), IsNan(), 1, 0, 1));
  EXPECT_THAT(first_labels_, ElementsAre(1, 0)) << "click's, of those that have it";
  EXPECT_THAT(batch->dense, ElementsAre(5, 6, 8));
}

TEST_F(SeveralLabelsTest, AllOfThemMayBeMissingWhereRecordsAreOnlyScored) {
  ReaderOptions options =
      OptionsOf(Visits(folder_.Write("a.csv", absl::StrCat(kVisitNames, "0,a,1,5\n"))));
  options.labels = Labels::kIgnored;
  options.data.set_train(0, folder_.Write("scored.csv", "item,price\na,5\nb,6\n"));
  auto batch = Read(options);
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->examples(), 2u);
  EXPECT_THAT(batch->dense, ElementsAre(5, 6));
  options.data.set_train(0, folder_.Write("one.csv", "buy,item,price\n0,a,5\n"));
  EXPECT_THAT(std::string(Read(options).status().message()),
              HasSubstr("column 2 is named \"price\", expected \"click\""));
}

TEST_F(SeveralLabelsTest, AColumnThatIsNotThereIsRefusedByTheLabelsName) {
  v1::DataSpec data = Visits(folder_.Write("a.csv", absl::StrCat(kVisitNames, "0,a,1,5\n")));
  data.mutable_labels(1)->set_column_name("bought");
  EXPECT_THAT(std::string(DeriveDataSpec(*files_, data).message()),
              HasSubstr("no column is named \"bought\", as data.schema.labels.buy says"));
  data.mutable_labels(1)->set_column_name("item");
  EXPECT_THAT(std::string(DeriveDataSpec(*files_, data).message()),
              HasSubstr("column 1 is both label and categorical"));
}

}  // namespace
}  // namespace capstan
