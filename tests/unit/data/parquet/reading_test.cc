// What is read of a file, and what other files of the same job may look like.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "capstan/data/tasks/check_first_records.h"
#include "capstan/data/tasks/one_label.h"
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

TEST(ReadingTest, WeightsAreThoseOfTheCsvAndRowsWithoutOneAreBad) {
  const auto read = [](v1::DataFormat format, const char* file) {
    v1::DataSpec data;
    data.set_format(format);
    data.set_header(format == v1::DATA_FORMAT_CSV);
    data.add_train(GoldenPath(file));
    data.set_label_name("label");
    data.add_categorical()->set_name("flag");
    data.mutable_weight()->set_name("float");  // Some are missing, and some negative.
    data.set_max_bad_records(kTableRows);
    const auto options = Derived(data);
    EXPECT_TRUE(options.ok()) << options.status();
    return ReadEverything(*options);
  };
  const auto csv = read(v1::DATA_FORMAT_CSV, "table.csv");
  ASSERT_TRUE(csv.ok()) << csv.status();
  EXPECT_GT(csv->examples(), 50u);
  EXPECT_LT(csv->examples(), 200u);
  EXPECT_EQ(csv->weights.size(), csv->examples());
  EXPECT_EQ(csv->weights.front(), 12.226447f);
  for (const char* file : {"plain-none-v1.parquet", "dictionary-snappy-v1.parquet"}) {
    const auto parquet = read(v1::DATA_FORMAT_PARQUET, file);
    ASSERT_TRUE(parquet.ok()) << parquet.status();
    EXPECT_EQ(parquet->weights, csv->weights) << file;
    EXPECT_TRUE(*parquet == *csv) << file;
  }
}

TEST(ReadingTest, GroupsAreThoseOfTheCsvAlsoOfAColumnThatIsAFeatureToo) {
  const auto read = [](v1::DataFormat format, const char* file) {
    v1::DataSpec data;
    data.set_format(format);
    data.set_header(format == v1::DATA_FORMAT_CSV);
    data.add_train(GoldenPath(file));
    data.set_label_name("label");
    data.add_categorical()->set_name("text");
    data.mutable_group()->set_name("text");  // Some are missing.
    data.add_numeric()->set_name("float");
    data.set_max_bad_records(kTableRows);
    const auto options = Derived(data);
    EXPECT_TRUE(options.ok()) << options.status();
    return ReadEverything(*options);
  };
  const auto csv = read(v1::DATA_FORMAT_CSV, "table.csv");
  ASSERT_TRUE(csv.ok()) << csv.status();
  ASSERT_EQ(csv->groups.size(), csv->examples());
  EXPECT_THAT(csv->groups, testing::Contains(HashText("")));
  EXPECT_THAT(csv->groups, testing::Contains(testing::Ne(csv->groups.front())));
  for (const char* file : {"plain-none-v1.parquet", "dictionary-snappy-v1.parquet"}) {
    const auto parquet = read(v1::DATA_FORMAT_PARQUET, file);
    ASSERT_TRUE(parquet.ok()) << parquet.status();
    EXPECT_EQ(parquet->groups, csv->groups) << file;
    EXPECT_TRUE(*parquet == *csv) << file;
  }
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
  const auto warning =
      OneLabelWarning(*NewLocalFiles(), data, {.records = kTableRows, .only = 0.0F}, mix);
  ASSERT_TRUE(warning.ok()) << warning.status();
  EXPECT_THAT(*warning, HasSubstr("begins with the labels \"true\", \"false\""));
}

}  // namespace
}  // namespace capstan::parquet
