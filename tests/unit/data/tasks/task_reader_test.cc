#include "capstan/data/tasks/task_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "capstan/base/hash.h"
#include "capstan/base/permutation.h"
#include "capstan/data/synthetic/click_log.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using testing::ElementsAre;

std::string Rows(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(i % 2) + "," + std::to_string(i) + ",x\n";
  return text;
}

v1::Task Whole(const std::string& file) {
  v1::Task task;
  task.set_file(file);
  task.set_end(kToTheEnd);
  return task;
}

class TaskReaderTest : public testing::Test {
 protected:
  absl::StatusOr<std::shared_ptr<const LoadedTask>> Read(const ReaderOptions& options,
                                                         TaskReader::Load load) {
    TaskReader reader(options, *files_);
    return reader.Read(load);
  }

  // The dense column of all batches.
  std::vector<float> Order(const ReaderOptions& options, TaskReader::Load load) {
    auto task = Read(options, load);
    EXPECT_TRUE(task.ok()) << task.status();
    std::vector<float> order;
    Batch batch;
    for (uint64_t k = 0; k < (*task)->batch_count(); ++k) {
      EXPECT_EQ((*task)->ReadBatch(k, batch), absl::OkStatus());
      EXPECT_EQ(batch.first_record, k * options.batch_size);
      order.insert(order.end(), batch.dense.begin(), batch.dense.end());
    }
    return order;
  }

  TestFolder folder_;
  const std::unique_ptr<const Source> files_ = NewLocalFiles();
};

TEST_F(TaskReaderTest, CutsBatchesOfWhichTheLastMayBeShort) {
  const ReaderOptions options = *Derived(CsvSpec(folder_.Write("a.csv", Rows(10)), {1}, {2}));
  auto task = *Read(options, {.task = Whole(folder_.Path("a.csv"))});
  ASSERT_EQ(task->batch_count(), 3u);
  EXPECT_EQ(task->examples(), 10u);
  Batch batch;
  ASSERT_EQ(task->ReadBatch(2, batch), absl::OkStatus());
  EXPECT_THAT(batch.dense, ElementsAre(8, 9));
  EXPECT_THAT(batch.labels, ElementsAre(0, 1));
  EXPECT_THAT(batch.offsets, ElementsAre(0, 1, 2));
  EXPECT_EQ(batch.first_record, 8u);
}

TEST_F(TaskReaderTest, TheLastTwoBatchesShareTheirRecordsWhereEachIsAppliedAsAWholeOne) {
  v1::JobSpec job;
  EXPECT_TRUE(ReaderOptionsOf(job).shares_end);
  for (v1::UpdatePolicy* part : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
    part->set_kind(v1::POLICY_KIND_SYNC);
    EXPECT_FALSE(ReaderOptionsOf(job).shares_end) << "the bits of towers in rounds stay";
    part->set_kind(v1::POLICY_KIND_ASYNC);
  }
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_SYNC);
  job.mutable_model()->set_user("model.py");
  EXPECT_TRUE(ReaderOptionsOf(job).shares_end) << "a program may normalize over the batch";

  ReaderOptions options = *Derived(CsvSpec(folder_.Write("a.csv", Rows(9)), {1}, {2}));
  options.shares_end = true;
  auto task = *Read(options, {.task = Whole(folder_.Path("a.csv"))});
  ASSERT_EQ(task->batch_count(), 3u);
  Batch batch;
  ASSERT_EQ(task->ReadBatch(1, batch), absl::OkStatus());
  EXPECT_THAT(batch.dense, ElementsAre(4, 5, 6));
  ASSERT_EQ(task->ReadBatch(2, batch), absl::OkStatus());
  EXPECT_THAT(batch.dense, ElementsAre(7, 8));
  EXPECT_EQ(batch.first_record, 7u);
}

TEST_F(TaskReaderTest, ShufflesByJobSeedEpochAndTask) {
  ReaderOptions options = *Derived(CsvSpec(folder_.Write("a.csv", Rows(100)), {1}, {2}));
  options.data.set_shuffle(true);
  const v1::Task task = Whole(folder_.Path("a.csv"));
  const std::vector<float> order = Order(options, {.task = task, .data_epoch = 1});
  EXPECT_EQ(Order(options, {.task = task, .data_epoch = 1}), order);
  EXPECT_NE(Order(options, {.task = task, .data_epoch = 2}), order);
  v1::Task other = task;
  other.set_index(1);
  EXPECT_NE(Order(options, {.task = other, .data_epoch = 1}), order);
  ++options.seed;
  EXPECT_NE(Order(options, {.task = task, .data_epoch = 1}), order);

  std::vector<float> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_NE(sorted, order);
  EXPECT_EQ(Order(options, {.task = task, .evaluation = true}), sorted);
}

TEST_F(TaskReaderTest, NamesFileAndLineOfABadRecordWhereverItsTaskBegins) {
  std::string text = Rows(20000);
  const size_t place = text.find("0,12344,x");
  text.replace(place, 9, "0,12344");
  v1::DataSpec data = CsvSpec(folder_.Write("a.csv", text), {1}, {2});
  const std::string message = ":12345: 2 columns, expected 3";
  EXPECT_EQ(ReadEverything(*Derived(data)).status(),
            absl::InvalidArgumentError(folder_.Path("a.csv") + message));
  *data.mutable_train(0) = folder_.Write("a.csv.gz", Gzip(text));
  EXPECT_EQ(ReadEverything(*Derived(data)).status(),
            absl::InvalidArgumentError(folder_.Path("a.csv.gz") + message));
}

TEST_F(TaskReaderTest, CountsTheHeaderAndBlankLinesAsLinesButNotAsRecords) {
  v1::DataSpec data =
      CsvSpec(folder_.Write("a.csv", "l,n,c\n1,1,x\n\n  \n0,2,x\nno,3,x\n"), {1}, {2});
  data.set_header(true);
  EXPECT_EQ(ReadEverything(*Derived(data)).status(),
            absl::InvalidArgumentError(folder_.Path("a.csv") +
                                       ":6: column 0: label \"no\" is not a number; where labels "
                                       "are texts, set data.schema.positive to those that count "
                                       "as 1, such as \"no\""));
}

TEST_F(TaskReaderTest, SuspectsAHeader) {
  const v1::DataSpec data = CsvSpec(folder_.Write("a.csv", "label,n,c\n1,1,x\n"), {1}, {2});
  EXPECT_EQ(ReadEverything(*Derived(data)).status().message(),
            folder_.Path("a.csv") +
                ":1: column 0: label \"label\" is not a number; where labels are texts, set "
                "data.schema.positive to those that count as 1, such as \"label\" (if this is a "
                "line of names: data.header: true)");
}

TEST_F(TaskReaderTest, LeavesOutToleratedBadRecords) {
  const std::string path = folder_.Write("a.csv", "1,0,x\n?,1,x\n0,2,x\n1,3\n1,4,x\n");
  ReaderOptions options = *Derived(CsvSpec(path, {1}, {2}));
  options.data.set_max_bad_records(2);
  TaskReader reader(options, *files_);
  for (int epoch = 0; epoch < 3; ++epoch) {
    auto task = reader.Read({.task = Whole(path)});
    ASSERT_TRUE(task.ok()) << task.status();
    Batch batch;
    ASSERT_EQ((*task)->ReadBatch(0, batch), absl::OkStatus());
    EXPECT_THAT(batch.dense, ElementsAre(0, 2, 4));
    EXPECT_EQ((*task)->bad_records().count(), 2u);
    EXPECT_THAT(
        (*task)->bad_records().examples(),
        ElementsAre(path + ":2: column 0: label \"?\" is not a number; where labels are texts, set "
                           "data.schema.positive to those that count as 1, such as \"?\"",
                    path + ":4: 2 columns, expected 3"));
  }
  options.data.set_max_bad_records(1);
  EXPECT_EQ(Read(options, {.task = Whole(path)}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(TaskReaderTest, NamesThousandsOfBadRecordsAtThePriceOfReadingTheirFileOnceMore) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) absl::StrAppend(&text, i % 80 == 0 ? "?" : "1", ",", i, ",x\n");
  const std::string path = folder_.Write("a.csv", text);
  ReaderOptions options = *Derived(CsvSpec(path, {1}, {2}));
  options.data.set_max_bad_records(2500);
  MeteredFiles files;
  TaskReader reader(options, files);
  uint64_t count = 0;
  constexpr uint64_t kTasks = 10;
  for (uint64_t i = 0; i < kTasks; ++i) {
    v1::Task task = Whole(path);  // In no order.
    task.set_begin(text.size() / kTasks * (i * 7 % kTasks));
    task.set_end(task.begin() + text.size() / kTasks);
    auto loaded = reader.Read({.task = task});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    count += (*loaded)->bad_records().count();
    for (const std::string& example : (*loaded)->bad_records().examples()) {
      int line = 0;
      ASSERT_EQ(sscanf(example.c_str() + path.size(), ":%d:", &line), 1) << example;
      EXPECT_EQ(line % 80, 1) << example;
    }
  }
  EXPECT_EQ(count, 2500u);
  // Once for the records, once for the lines and for what lies behind a mark.
  EXPECT_LT(files.bytes(), text.size() * 8);
}

TEST_F(TaskReaderTest, ReadsTasksOfACompressedFileInAnyOrder) {
  const std::string path = folder_.Write("a.csv.gz", Gzip(Rows(40)));
  const ReaderOptions options = *Derived(CsvSpec(path, {1}, {2}));
  TaskReader reader(options, *files_);
  for (uint64_t begin : {20, 30, 0, 10, 10, 39, 100, 0}) {
    v1::Task task = Whole(path);
    task.set_by_records(true);
    task.set_begin(begin);
    task.set_end(begin + 10);
    auto loaded = reader.Read({.task = task});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    ASSERT_EQ((*loaded)->examples(), std::min<uint64_t>(10, 40 - std::min<uint64_t>(40, begin)));
    if ((*loaded)->examples() == 0) continue;
    Batch batch;
    ASSERT_EQ((*loaded)->ReadBatch(0, batch), absl::OkStatus());
    EXPECT_EQ(batch.dense[0], static_cast<float>(begin));
  }
}

// 20 MB, of which gzip leaves about a half.
std::string ManyRows(int rows) {
  std::string text;
  for (int i = 0; i < rows; ++i) {
    absl::StrAppend(&text, i % 2, ",", i);
    for (uint64_t word = 0; word < 3; ++word)
      absl::StrAppend(&text, ",", Draw(/*seed=*/7, i, word));
    text += "\n";
  }
  return text;
}

TEST_F(TaskReaderTest, ReadsTheTasksOfALargeCompressedFileInAnyOrderAtAboutTheCostOfOnePass) {
  constexpr int kRows = 300'000;
  constexpr uint64_t kTasks = 40;
  const std::string text = ManyRows(kRows);
  const size_t half = text.find('\n', text.size() / 2) + 1;
  const std::string two_members = Gzip(text.substr(0, half)) + Gzip(text.substr(half));
  for (const std::string& file : {Gzip(text), two_members}) {
    const std::string path = folder_.Write("a.csv.gz", file);
    const ReaderOptions options = *Derived(CsvSpec(path, {1}, {2, 3, 4}));
    const MeteredFiles files;
    TaskReader reader(options, files);
    std::vector<bool> read(kRows);
    const Permutation order(kTasks, /*seed=*/5, /*stream=*/0);
    for (uint32_t i = 0; i < kTasks; ++i) {
      v1::Task task = Whole(path);
      task.set_by_records(true);
      task.set_begin(order(i) * (kRows / kTasks));
      task.set_end(task.begin() + kRows / kTasks);
      const auto loaded = reader.Read({.task = task});
      ASSERT_TRUE(loaded.ok()) << loaded.status();
      ASSERT_EQ((*loaded)->examples(), kRows / kTasks);
      Batch batch;
      for (uint64_t k = 0; k < (*loaded)->batch_count(); ++k) {
        ASSERT_EQ((*loaded)->ReadBatch(k, batch), absl::OkStatus());
        for (size_t row = 0; row < batch.dense.size(); ++row) {
          ASSERT_GE(batch.dense[row], static_cast<float>(task.begin()));
          ASSERT_LT(batch.dense[row], static_cast<float>(task.end()));
          read[static_cast<size_t>(batch.dense[row])] = true;
        }
      }
    }
    EXPECT_EQ(std::count(read.begin(), read.end(), false), 0);
    // Once in the first pass and once in the tasks, and about half of the distance between two
    // places more for each jump. Were each task that does not follow on the last one read from the
    // front, it would be 13 times.
    EXPECT_LT(files.bytes(), 4 * file.size());
  }
}

TEST_F(TaskReaderTest, SyntheticRecordsAreThoseOfTheCsvForm) {
  ASSERT_TRUE(WriteClickLog(ClickLog({}), 0, 500, folder_.Path("a.csv")).ok());
  std::vector<uint32_t> columns;
  for (uint32_t c = 1; c <= 39; ++c) columns.push_back(c);
  v1::DataSpec synthetic;
  synthetic.set_format(v1::DATA_FORMAT_SYNTHETIC);
  synthetic.mutable_synthetic()->set_train_rows(500);
  const absl::StatusOr<Batch> direct = ReadEverything(*Derived(synthetic));
  const absl::StatusOr<Batch> read =
      ReadEverything(*Derived(CsvSpec(folder_.Path("a.csv"), {}, columns)));
  ASSERT_TRUE(direct.ok() && read.ok());
  EXPECT_TRUE(*direct == *read);
}

TEST_F(TaskReaderTest, RefusesAFileThatHasBecomeShorterSinceTheJobWasPlanned) {
  const ReaderOptions options = *Derived(CsvSpec(folder_.Write("a.csv", Rows(100)), {1}, {2}));
  v1::Task task = Whole(folder_.Path("a.csv"));
  task.set_end(Rows(100).size());
  EXPECT_EQ((*Read(options, {.task = task}))->examples(), 100u);
  folder_.Write("a.csv", Rows(60));
  EXPECT_EQ(Read(options, {.task = task}).status(),
            absl::DataLossError(absl::StrCat(
                task.file(), ": there is nothing at byte ", Rows(60).size(), ", and byte ",
                task.end(), " was there when the job was planned: it has become shorter")));
  task.set_begin(Rows(80).size());
  EXPECT_TRUE(absl::IsDataLoss(Read(options, {.task = task}).status()));
}

TEST_F(TaskReaderTest, RefusesATaskThatEndsBeforeItBegins) {
  const ReaderOptions options = *Derived(CsvSpec(folder_.Write("a.csv", Rows(4)), {1}, {2}));
  v1::Task task = Whole(folder_.Path("a.csv"));
  task.set_begin(10);
  task.set_end(5);
  EXPECT_EQ(Read(options, {.task = task}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace capstan
