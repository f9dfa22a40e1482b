// What is read of a file, and what other files of the same job may look like.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "capstan/base/hash.h"
#include "capstan/base/status.h"
#include "capstan/data/tasks/check_first_records.h"
#include "capstan/data/tasks/one_label.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"
#include "tests/unit/data/parquet/table.h"

namespace capstan::parquet {
namespace {

using testing::HasSubstr;

TEST(PlanTest, TasksEndWithRowGroupsWhereTheseAreSmall) {
  v1::DataSpec data = TableSpec("plain-none-v1.parquet");
  data.set_task_records(140);
  const auto tasks = PlanTasks(*NewLocalFiles(), data, {});
  ASSERT_TRUE(tasks.ok()) << tasks.status();
  ASSERT_EQ(tasks->size(), 3u);
  EXPECT_EQ((*tasks)[0].end, 130u);
  EXPECT_EQ((*tasks)[1].begin, 130u);
  EXPECT_EQ((*tasks)[1].end, 260u);
  EXPECT_EQ((*tasks)[2].end, 300u);
  data.set_task_records(100);
  const auto smaller = PlanTasks(*NewLocalFiles(), data, {});
  ASSERT_TRUE(smaller.ok()) << smaller.status();
  ASSERT_EQ(smaller->size(), 5u);
  EXPECT_EQ((*smaller)[1].begin, 100u);
  EXPECT_EQ((*smaller)[1].end, 130u);
  EXPECT_TRUE((*smaller)[1].by_records());
  EXPECT_EQ(smaller->expected_records(), kTableRows);
  data.set_task_records(270);
  const auto larger = PlanTasks(*NewLocalFiles(), data, {});
  ASSERT_TRUE(larger.ok()) << larger.status();
  ASSERT_EQ(larger->size(), 2u);
  EXPECT_EQ((*larger)[0].end, 260u);
}

// What it matches as a pattern is another file, or none.
TEST(ReadingTest, AFileWithBracketsInItsNameIsReadAndNotTheOneThatItMatches) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_PARQUET);
  data.set_label_name("label");
  data.set_shuffle(false);
  data.add_categorical()->set_name("small");
  data.add_train(GoldenPath("plain-none-v1.parquet"));
  const absl::StatusOr<ReaderOptions> golden = Derived(data);
  ASSERT_TRUE(golden.ok()) << golden.status();
  const absl::StatusOr<Batch> expected = ReadEverything(*golden);
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(expected->examples(), kTableRows);
  const TestFolder folder;
  std::filesystem::copy_file(GoldenPath("plain-none-v1.parquet"), folder.Path("p[1].parquet"));
  for (const bool sibling : {false, true}) {
    if (sibling) folder.Write("p1.parquet", "no Parquet file, and not read");
    for (const char* name : {"p[1].parquet", "p?1?.parquet"}) {
      data.set_train(0, folder.Path(name));
      const absl::StatusOr<ReaderOptions> options = Derived(data);
      ASSERT_TRUE(options.ok()) << options.status();
      const absl::StatusOr<Batch> read = ReadEverything(*options);
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_TRUE(*read == *expected) << name;
    }
  }
}

TEST(ReadingTest, OtherColumnsAreNotRead) {
  v1::DataSpec one;
  one.set_format(v1::DATA_FORMAT_PARQUET);
  one.add_train(GoldenPath("plain-none-v1.parquet"));
  one.set_label_name("label");
  one.add_categorical()->set_name("small");
  const MeteredFiles files;
  ASSERT_TRUE(DeriveDataSpec(files, one).ok());
  const uint64_t footer = files.bytes();
  TaskReader reader({.data = one, .batch_size = 4}, files);
  v1::Task task;
  task.set_file(one.train(0));
  task.set_by_records(true);
  task.set_end(10);
  ASSERT_TRUE(reader.Read({.task = task}).ok());
  const uint64_t front = files.bytes() - 2 * footer;
  EXPECT_LT(front, 6000u);  // Of 22845.
  ASSERT_TRUE(reader.Read({.task = task}).ok());
  EXPECT_LE(files.bytes() - 2 * footer, 2 * front);  // The footer is known by now.
}

TEST(ReadingTest, NamedColumnsAreFoundWhereverAFileHasThem) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_PARQUET);
  data.add_train(GoldenPath("plain-none-v1.parquet"));
  data.add_train(GoldenPath("brotli.parquet"));
  data.set_label_name("label");
  data.add_numeric()->set_name("double");
  ASSERT_TRUE(DeriveDataSpec(*NewLocalFiles(), data).ok());
  v1::JobSpec job;
  *job.mutable_data() = data;
  job.mutable_model()->set_loss(v1::LOSS_LOGISTIC);
  job.mutable_train()->set_batch_size(4);
  // It has column "double" at another place, and is refused for its codec alone.
  EXPECT_THAT(std::string(CheckFirstRecords(*NewLocalFiles(), job).message()),
              HasSubstr("brotli.parquet: column \"label\" is compressed with BROTLI"));
  job.mutable_data()->mutable_numeric(0)->set_name("float");
  EXPECT_THAT(std::string(CheckFirstRecords(*NewLocalFiles(), job).message()),
              HasSubstr("brotli.parquet: has no column \"float\""));
}

TEST(ReadingTest, BadCellsAreCountedAndNamed) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_PARQUET);
  data.add_train(GoldenPath("dictionary-snappy-v1.parquet"));
  data.set_label_name("label");
  data.add_numeric()->set_name("code");
  data.add_numeric()->set_name("text");
  data.set_max_bad_records(kTableRows);
  auto options = Derived(data);
  ASSERT_TRUE(options.ok()) << options.status();
  const auto parquet = ReadEverything(*options);
  ASSERT_TRUE(parquet.ok()) << parquet.status();
  v1::DataSpec csv = data;
  csv.set_format(v1::DATA_FORMAT_CSV);
  csv.set_header(true);
  csv.set_train(0, GoldenPath("table.csv"));
  auto csv_options = Derived(csv);
  ASSERT_TRUE(csv_options.ok()) << csv_options.status();
  const auto same = ReadEverything(*csv_options);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_GT(parquet->examples(), 50u);
  EXPECT_LT(parquet->examples(), 150u);
  EXPECT_TRUE(*parquet == *same);
  options->data.set_max_bad_records(0);
  EXPECT_THAT(std::string(ReadEverything(*options).status().message()),
              HasSubstr("dictionary-snappy-v1.parquet: row 0: column 9 (text): \"no\" is not a "
                        "number"));
}

// The good records of the table in a file, with these columns.
absl::StatusOr<Batch> ReadColumns(v1::DataSpec columns, const std::string& file, Split split) {
  const bool csv = file.ends_with(".csv");
  columns.set_format(csv ? v1::DATA_FORMAT_CSV : v1::DATA_FORMAT_PARQUET);
  columns.set_header(csv);
  columns.add_train(GoldenPath(file));
  columns.add_eval(GoldenPath(file));
  columns.set_label_name("label");
  columns.set_max_bad_records(kTableRows);
  CAPSTAN_ASSIGN_OR_RETURN(const ReaderOptions options, Derived(columns));
  return ReadEverything(options, split);
}

// Those of the csv; the Parquet files must have the same.
Batch SameInAllFiles(const v1::DataSpec& columns, Split split) {
  const absl::StatusOr<Batch> csv = ReadColumns(columns, "table.csv", split);
  EXPECT_TRUE(csv.ok()) << csv.status();
  for (const char* file : {"plain-none-v1.parquet", "dictionary-snappy-v1.parquet"}) {
    const absl::StatusOr<Batch> parquet = ReadColumns(columns, file, split);
    EXPECT_TRUE(parquet.ok()) << parquet.status();
    EXPECT_TRUE(parquet.ok() && csv.ok() && *parquet == *csv) << file;
  }
  return csv.value_or(Batch());
}

TEST(ReadingTest, WeightsAreThoseOfTheCsvAndRowsWithoutOneAreBad) {
  v1::DataSpec columns;
  columns.add_categorical()->set_name("flag");
  columns.mutable_weight()->set_name("float");  // Some are missing, and some negative.
  const Batch records = SameInAllFiles(columns, Split::kTrain);
  EXPECT_GT(records.examples(), 50u);
  EXPECT_LT(records.examples(), 200u);
  ASSERT_EQ(records.weights.size(), records.examples());
  EXPECT_EQ(records.weights.front(), 12.226447f);
}

TEST(ReadingTest, GroupsAreThoseOfTheCsvAlsoOfAColumnThatIsAFeatureToo) {
  v1::DataSpec columns;
  columns.add_categorical()->set_name("text");
  columns.mutable_group()->set_name("text");  // Some are missing.
  columns.add_numeric()->set_name("float");
  const Batch records = SameInAllFiles(columns, Split::kEval);
  ASSERT_EQ(records.groups.size(), records.examples());
  EXPECT_THAT(records.groups, testing::Contains(HashText("")));
  EXPECT_THAT(records.groups, testing::Contains(testing::Ne(records.groups.front())));
  EXPECT_TRUE(SameInAllFiles(columns, Split::kTrain).groups.empty()) << "nobody would look at them";
}

TEST(ReadingTest, ALabelMayBeMissingWhereLabelsAreIgnored) {
  v1::DataSpec data = TableSpec("plain-none-v1.parquet");
  auto options = Derived(data);
  ASSERT_TRUE(options.ok()) << options.status();
  options->data.set_label_name("no such column");
  EXPECT_FALSE(ReadEverything(*options).ok());
  options->labels = Labels::kIgnored;
  const auto read = ReadEverything(*options);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->examples(), kTableRows);
}

TEST(ReadingTest, LabelsThatOccurAreNamedWhereNoneIsPositive) {
  v1::DataSpec data = TableSpec("dictionary-gzip-v2.parquet");
  data.set_label_name("flag");
  data.clear_categorical();
  data.add_positive_labels("True");
  ASSERT_TRUE(DeriveDataSpec(*NewLocalFiles(), data).ok());
  const auto tasks = PlanTasks(*NewLocalFiles(), data, {});
  ASSERT_TRUE(tasks.ok()) << tasks.status();
  const TaskMix mix(*tasks, data, /*seed=*/1);
  const LabelOrder found[] = {{.records = kTableRows, .only = 0.0F}};
  const auto warning = OneLabelWarning(*NewLocalFiles(), data, found, mix);
  ASSERT_TRUE(warning.ok()) << warning.status();
  EXPECT_THAT(*warning, HasSubstr("begins with the labels \"true\", \"false\""));
}

}  // namespace
}  // namespace capstan::parquet
