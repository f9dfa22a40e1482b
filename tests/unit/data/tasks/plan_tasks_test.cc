#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/object_files.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"
#include "tests/lib/source_folder.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"
#include "tests/unit/data/sample_files.h"

namespace capstan {
namespace {

using testing::HasSubstr;

std::string NumberedRows(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(i % 2) + "," + std::to_string(i) + "\n";
  return text;
}

std::vector<v1::Task> Plan(const ReaderOptions& options) {
  auto tasks = PlanTasks(*NewLocalFiles(), options.data, {.batch_size = options.batch_size});
  EXPECT_TRUE(tasks.ok()) << tasks.status();
  return tasks->Tasks();
}

// The row numbers that the tasks hold, in order.
std::vector<float> RowNumbers(const ReaderOptions& options, const std::vector<v1::Task>& tasks) {
  auto batches = ReadTasks(options, tasks);
  EXPECT_TRUE(batches.ok()) << batches.status();
  return Join(*batches).dense;
}

std::vector<float> UpTo(int count) {
  std::vector<float> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(static_cast<float>(i));
  return numbers;
}

TEST(PlanTasksTest, EveryByteRangeTogetherHoldsEachRecordOnce) {
  TestFolder folder;
  const std::string path = folder.Write("a.csv", NumberedRows(57));
  for (uint64_t bytes = 1; bytes < 40; ++bytes) {
    v1::DataSpec data = CsvSpec(path, {1}, {});
    data.set_task_bytes(bytes);
    const ReaderOptions options = *Derived(data);
    ASSERT_EQ(RowNumbers(options, Plan(options)), UpTo(57)) << bytes;
  }
}

TEST(PlanTasksTest, ByteRangesLeaveTheHeaderOut) {
  TestFolder folder;
  const std::string path = folder.Write("a.csv", "a rather long label,row\r\n" + NumberedRows(20));
  for (uint64_t bytes = 1; bytes < 40; ++bytes) {
    v1::DataSpec data = CsvSpec(path, {1}, {});
    data.set_header(true);
    data.set_task_bytes(bytes);
    const ReaderOptions options = *Derived(data);
    ASSERT_EQ(RowNumbers(options, Plan(options)), UpTo(20)) << bytes;
  }
}

TEST(PlanTasksTest, RecordRangesOfACompressedFileTogetherHoldEachRecordOnce) {
  TestFolder folder;
  const std::string text = "label,row\n" + NumberedRows(57);
  for (const std::string& path :
       {folder.Write("a.csv.gz", Gzip(text)), folder.Write("a.csv.zst", Zstd(text))}) {
    for (uint64_t records : {1, 7, 56, 57, 58}) {
      v1::DataSpec data = CsvSpec(path, {1}, {});
      data.set_header(true);
      data.set_task_records(records);
      const ReaderOptions options = *Derived(data);
      const std::vector<v1::Task> tasks = Plan(options);
      EXPECT_EQ(tasks.size(), (57 + records - 1) / records);
      EXPECT_EQ(TaskRanges(tasks).expected_records(), 57u);
      EXPECT_EQ(RowNumbers(options, tasks), UpTo(57));
    }
  }
}

TEST(PlanTasksTest, SmallDataMakesAtLeastEightTasksOfWholeBatches) {
  TestFolder folder;
  const ReaderOptions plain = *Derived(CsvSpec(folder.Write("a.csv", NumberedRows(1000)), {1}, {}));
  EXPECT_GE(Plan(plain).size(), 8u);
  const ReaderOptions gzip =
      *Derived(CsvSpec(folder.Write("a.csv.gz", Gzip(NumberedRows(1000))), {1}, {}));
  const std::vector<v1::Task> tasks = Plan(gzip);
  EXPECT_GE(tasks.size(), 8u);
  for (size_t i = 0; i + 1 < tasks.size(); ++i) {
    EXPECT_EQ((tasks[i].end() - tasks[i].begin()) % gzip.batch_size, 0u);
    EXPECT_EQ(tasks[i].index(), i);
  }
}

TEST(PlanTasksTest, ATaskHoldsAtLeastABatch) {
  TestFolder folder;
  ReaderOptions options =
      *Derived(CsvSpec(folder.Write("a.csv.gz", Gzip(NumberedRows(1000))), {1}, {}));
  options.batch_size = 300;
  EXPECT_EQ(Plan(options).size(), 4u);
}

TEST(PlanTasksTest, ExpectsAboutAsManyRecordsAsAPlainFileHolds) {
  TestFolder folder;
  const ReaderOptions options =
      *Derived(CsvSpec(folder.Write("a.csv", NumberedRows(5000)), {1}, {}));
  EXPECT_NEAR(static_cast<double>(TaskRanges(Plan(options)).expected_records()), 5000, 50);
}

TEST(PlanTasksTest, LaysTasksBeyondTheEstimateOfACompressedFileTooLargeToCount) {
  TestFolder folder;
  v1::DataSpec data = CsvSpec(folder.Write("a.csv.gz", Gzip(NumberedRows(5000))), {1}, {});
  data.set_task_records(1000);
  const ReaderOptions options = *Derived(data);
  const auto tasks = PlanTasks(*NewLocalFiles(), options.data, {.counted_bytes = 100});
  ASSERT_TRUE(tasks.ok()) << tasks.status();
  EXPECT_GT(tasks->size(), 5u);
  EXPECT_EQ((*tasks)[tasks->size() - 1].end, kToTheEnd);
  EXPECT_EQ((*tasks)[tasks->size() - 1].expected_records, 0u);
  EXPECT_EQ(RowNumbers(options, tasks->Tasks()), UpTo(5000));
}

// Two thousand files on a store whose every answer takes its time.
class SlowStore {
 public:
  explicit SlowStore(absl::Duration latency) {
    for (int i = 0; i < 2000; ++i) {
      EXPECT_TRUE(memory_->Put(absl::StrCat("part-", 10000 + i), NumberedRows(i % 7 + 1)).ok());
    }
    files_ = NewObjectFiles([this, latency](const std::string&) {
      auto store = std::make_unique<FaultyObjectStore>(*memory_);
      store->SetPlan([this, latency](const StoreCall& call) {
        ++(call.kind == StoreCall::Kind::kRead ? reads_ : others_);
        return StoreFault{.pause = [latency] { absl::SleepFor(latency); }};
      });
      return absl::StatusOr<std::unique_ptr<ObjectStore>>(std::move(store));
    });
  }

  const Source& files() const { return *files_; }
  int reads() const { return reads_; }
  int others() const { return others_; }

 private:
  const std::unique_ptr<ObjectStore> memory_ = MakeMemoryObjectStore();
  std::atomic<int> reads_ = 0;
  std::atomic<int> others_ = 0;
  std::unique_ptr<const Source> files_;
};

TEST(PlanTasksTest, ThousandsOfObjectsAreLookedAtTogether) {
  const SlowStore store(absl::Milliseconds(20));
  std::atomic<size_t> most = 0;
  const absl::Time begun = absl::Now();
  const auto tasks = PlanTasks(store.files(), CsvSpec("s3://b/part-*", {1}, {}),
                               {.progress = [&](size_t done, size_t files) {
                                 EXPECT_EQ(files, 2000u);
                                 for (size_t seen = most; seen < done;) {
                                   if (most.compare_exchange_weak(seen, done)) break;
                                 }
                               }});
  const absl::Duration took = absl::Now() - begun;
  ASSERT_TRUE(tasks.ok()) << tasks.status();
  EXPECT_EQ(most, 2000u);
  EXPECT_NEAR(static_cast<double>(tasks->expected_records()), 2000 * 4.0, 500);
  EXPECT_LE(store.reads(), 2 * 2000 + 3 * 1024);
  EXPECT_EQ(store.others(), 1) << "one listing says how long each is";
  EXPECT_LT(took, absl::Seconds(20)) << "one after another it would be a minute and more";
}

TEST(StillFitTest, OpensNoFileAndSeesWhatIsLonger) {
  const SlowStore store(absl::ZeroDuration());
  const v1::DataSpec data = CsvSpec("s3://b/part-*", {1}, {});
  std::vector<v1::Task> tasks = PlanTasks(store.files(), data, {})->Tasks();
  const int reads = store.reads();
  EXPECT_TRUE(*StillFit(store.files(), data, Split::kTrain, tasks));
  EXPECT_EQ(store.reads(), reads);
  tasks.back().set_end(tasks.back().end() - 1);
  EXPECT_FALSE(*StillFit(store.files(), data, Split::kTrain, tasks)) << "a file is longer";
  tasks.pop_back();
  EXPECT_FALSE(*StillFit(store.files(), data, Split::kTrain, tasks)) << "there is a file more";
}

// A bucket whose reads are counted, of files of 3 records of each format.
class CountedBucket {
 public:
  CountedBucket() {
    files_ = NewObjectFiles([this](const std::string&) {
      auto store = std::make_unique<FaultyObjectStore>(*memory_);
      store->SetPlan([this](const StoreCall& call) {
        if (call.kind == StoreCall::Kind::kRead) ++reads_;
        return StoreFault{};
      });
      return absl::StatusOr<std::unique_ptr<ObjectStore>>(std::move(store));
    });
    Put("text-1.gz", Gzip(NumberedRows(3)));
    Put("text-2.zst", Zstd(NumberedRows(3)));
    std::string records;
    for (int i = 0; i < 3; ++i) records += TfRecord(TfExample("image", 1));
    Put("records-1", records);
    Put("records-2.gz", Gzip(records));
    Put("tar-1", TarSample("one", "image", "1") + TarSample("two", "image", "0") + TarEnd());
    Put("idx-images", std::string("\0\0\x08\x02\0\0\0\x03\0\0\0\x01"
                                  "abc",
                                  15));
    Put("idx-labels", std::string("\0\0\x08\x01\0\0\0\x03\0\x01\0", 11));
    Put("table-1.parquet",
        ReadFile(SourceFolder() + "/tests/golden/parquet/plain-zstd-v2.parquet"));
  }

  void Put(const std::string& name, const std::string& text) {
    EXPECT_TRUE(memory_->Put(name, text).ok());
  }
  const Source& files() const { return *files_; }
  int reads() const { return reads_; }

 private:
  const std::unique_ptr<ObjectStore> memory_ = MakeMemoryObjectStore();
  std::atomic<int> reads_ = 0;
  std::unique_ptr<const Source> files_;
};

TEST(PlanTasksTest, AFileWhoseNameNoTaskCouldTellIsRefused) {
  TestFolder folder;
  folder.Write("caf\xE9.csv", NumberedRows(4));
  const auto refused = PlanTasks(*NewDataFiles(), CsvSpec(folder.Path("*.csv"), {1}, {}), {});
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("caf\\xe9.csv: the name is not UTF-8"));
}

TEST(StillFitTest, AStoredPlanOfAnyFilesIsCheckedByTheirListingAlone) {
  CountedBucket bucket;
  for (const auto& [format, name] :
       {std::pair(v1::DATA_FORMAT_CSV, "text-*"), std::pair(v1::DATA_FORMAT_TFRECORD, "records-*"),
        std::pair(v1::DATA_FORMAT_TAR, "tar-*"), std::pair(v1::DATA_FORMAT_IDX, "idx-*"),
        std::pair(v1::DATA_FORMAT_PARQUET, "table-*")}) {
    v1::DataSpec data = CsvSpec(absl::StrCat("s3://b/", name), {1}, {});
    data.set_format(format);
    const absl::StatusOr<TaskRanges> planned = PlanTasks(bucket.files(), data, {});
    ASSERT_TRUE(planned.ok()) << planned.status();
    EXPECT_GT(bucket.reads(), 0);
    const int reads = bucket.reads();
    EXPECT_TRUE(*StillFit(bucket.files(), data, Split::kTrain, *planned)) << name;
    const TaskRanges unknown(planned->Tasks());
    EXPECT_FALSE(*StillFit(bucket.files(), data, Split::kTrain, unknown)) << name;
    bucket.Put(absl::StrCat(std::string(name, strlen(name) - 1), "9"), "one more");
    EXPECT_FALSE(*StillFit(bucket.files(), data, Split::kTrain, *planned)) << name;
    EXPECT_EQ(bucket.reads(), reads) << name;
  }
}

TEST(StillFitTest, AFileOfAnotherLengthIsSeen) {
  CountedBucket bucket;
  const v1::DataSpec data = CsvSpec("s3://b/text-*", {1}, {});
  const TaskRanges planned = *PlanTasks(bucket.files(), data, {});
  bucket.Put("text-1.gz", Gzip(NumberedRows(4)));
  EXPECT_FALSE(*StillFit(bucket.files(), data, Split::kTrain, planned));
  bucket.Put("text-1.gz", Gzip(NumberedRows(3)));
  EXPECT_TRUE(*StillFit(bucket.files(), data, Split::kTrain, planned));
}

TEST(PlanTasksTest, TakesAllFilesOfAGlobInOrder) {
  TestFolder folder;
  folder.Write("part-1.csv", "0,0\n1,1\n");
  folder.Write("part-2.csv.gz", Gzip("0,2\n1,3"));
  folder.Write("part-3.csv", "");
  const ReaderOptions options = *Derived(CsvSpec(folder.Path("part-*"), {1}, {}));
  EXPECT_EQ(RowNumbers(options, Plan(options)), UpTo(4));
}

TEST(PlanTasksTest, RefusesNoData) {
  TestFolder folder;
  const v1::DataSpec missing = CsvSpec(folder.Path("none.csv"), {1}, {});
  EXPECT_EQ(PlanTasks(*NewLocalFiles(), missing, {}).status().code(), absl::StatusCode::kNotFound);
  const std::string empty = folder.Write("empty.csv", "");
  EXPECT_EQ(PlanTasks(*NewLocalFiles(), CsvSpec(empty, {1}, {}), {}).status(),
            absl::InvalidArgumentError(empty + ": there are no records"));
  v1::DataSpec header_only = CsvSpec(folder.Write("header.csv", "label,row\n"), {1}, {});
  header_only.set_header(true);
  EXPECT_FALSE(PlanTasks(*NewLocalFiles(), header_only, {}).ok());
}

TEST(PlanTasksTest, RefusesMoreTasksThanAnybodyCanWant) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_SYNTHETIC);
  data.mutable_synthetic()->set_train_rows(uint64_t{1} << 40);
  data.set_task_records(1);
  EXPECT_EQ(PlanTasks(*NewLocalFiles(), data, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(PlanTasksTest, ASplitThatIsNotNamedHasNoTasks) {
  TestFolder folder;
  const v1::DataSpec data = CsvSpec(folder.Write("a.csv", NumberedRows(10)), {1}, {});
  EXPECT_EQ(PlanTasks(*NewLocalFiles(), data, {.split = Split::kEval})->size(), 0u);
}

}  // namespace
}  // namespace capstan
