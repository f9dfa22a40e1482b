#include "capstan/data/feed/batch_prefetcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/synchronization/notification.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

constexpr absl::Duration kLong = absl::Seconds(60);

// Three tasks of 10, 0 and 6 records in batches of 4: feed numbers 0, 1, 2 | | 3, 4.
class BatchPrefetcherTest : public testing::Test {
 protected:
  BatchPrefetcherTest() {
    std::string text;
    for (int i = 0; i < 16; ++i) text += std::to_string(i % 2) + "," + std::to_string(i) + "\n";
    path_ = folder_.Write("a.csv.gz", Gzip(text));
    options_ = *Derived(CsvSpec(path_, {1}, {}));
  }

  TaskReader::Load Task(uint64_t begin, uint64_t end) const {
    TaskReader::Load load;
    load.task.set_file(path_);
    load.task.set_by_records(true);
    load.task.set_begin(begin);
    load.task.set_end(end);
    return load;
  }

  FeedId OpenThree(BatchPrefetcher& prefetcher, uint64_t first) {
    const FeedId feed = prefetcher.Open(first);
    prefetcher.Append(feed, Task(0, 10));
    prefetcher.Append(feed, Task(100, 110));
    prefetcher.Append(feed, Task(10, 16));
    prefetcher.Finish(feed);
    return feed;
  }

  static absl::StatusOr<FedBatch> Read(BatchPrefetcher& prefetcher, FeedId feed, uint64_t number) {
    return prefetcher.Read(feed, number, absl::Now() + kLong);
  }

  TestFolder folder_;
  std::string path_;
  ReaderOptions options_;
  const std::shared_ptr<const Source> files_ = NewLocalFiles();
};

TEST_F(BatchPrefetcherTest, NumbersTheBatchesOfAllTasksThrough) {
  BatchPrefetcher prefetcher(options_, {}, files_);
  const FeedId feed = OpenThree(prefetcher, 0);
  const float first[] = {0, 4, 8, 10, 14};
  const uint64_t task[] = {0, 0, 0, 2, 2};
  const uint64_t in_task[] = {0, 1, 2, 0, 1};
  for (uint64_t number = 0; number < 5; ++number) {
    absl::StatusOr<FedBatch> fed = Read(prefetcher, feed, number);
    ASSERT_TRUE(fed.ok() && fed->batch != nullptr) << fed.status();
    EXPECT_EQ(fed->number, number);
    EXPECT_EQ(fed->batch->dense[0], first[number]);
    EXPECT_EQ(fed->task, task[number]);
    EXPECT_EQ(fed->batch_in_task, in_task[number]);
    EXPECT_EQ(fed->last_of_task, number == 2 || number == 4);
  }
  absl::StatusOr<FedBatch> end = Read(prefetcher, feed, 5);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->batch, nullptr);
  EXPECT_EQ(end->number, 5u);
  EXPECT_EQ(prefetcher.TaskAt(feed, 0).examples, 10u);
  EXPECT_TRUE(prefetcher.TaskAt(feed, 1).loaded);
  EXPECT_EQ(prefetcher.TaskAt(feed, 1).batches, 0u);
  EXPECT_EQ(prefetcher.TaskAt(feed, 2).batches, 2u);
  EXPECT_FALSE(prefetcher.TaskAt(feed, 3).loaded);
  prefetcher.Forget(feed, 2);
  EXPECT_FALSE(prefetcher.TaskAt(feed, 1).loaded);
  EXPECT_EQ(prefetcher.TaskAt(feed, 2).batches, 2u);
}

TEST_F(BatchPrefetcherTest, GivesTheSameBatchAgain) {
  BatchPrefetcher prefetcher(options_, {}, files_);
  const FeedId feed = OpenThree(prefetcher, 0);
  const auto once = Read(prefetcher, feed, 1)->batch;
  EXPECT_EQ(Read(prefetcher, feed, 1)->batch, once);
}

TEST_F(BatchPrefetcherTest, BeginsInTheMiddleEvenBehindWholeTasks) {
  BatchPrefetcher prefetcher(options_, {}, files_);
  for (uint64_t first = 0; first < 5; ++first) {
    const FeedId feed = OpenThree(prefetcher, first);
    const FeedId whole = OpenThree(prefetcher, 0);
    EXPECT_TRUE(*Read(prefetcher, feed, first)->batch == *Read(prefetcher, whole, first)->batch);
    prefetcher.Close(feed);
    prefetcher.Close(whole);
  }
}

TEST_F(BatchPrefetcherTest, SaysHowManyBatchesThereWereWhenAskedForMore) {
  BatchPrefetcher prefetcher(options_, {}, files_);
  absl::StatusOr<FedBatch> end = Read(prefetcher, OpenThree(prefetcher, 9), 9);
  EXPECT_EQ(end->batch, nullptr);
  EXPECT_EQ(end->number, 5u);
}

TEST_F(BatchPrefetcherTest, ReadsForThoseWhoWaitAloneWhereNothingMoreMayBeHeld) {
  BatchPrefetcher prefetcher(options_, {.batches_ahead = 2, .bytes_ahead = 0}, files_);
  const FeedId read = OpenThree(prefetcher, 0);
  const FeedId other = OpenThree(prefetcher, 0);
  for (uint64_t number = 0; number < 6; ++number) {
    const absl::StatusOr<FedBatch> fed = Read(prefetcher, read, number);
    ASSERT_TRUE(fed.ok()) << fed.status();
    EXPECT_EQ(fed->batch == nullptr, number == 5);
  }
  EXPECT_FALSE(prefetcher.TaskAt(other, 0).loaded) << "nobody has asked for it";
  EXPECT_TRUE(*Read(prefetcher, other, 4)->batch ==
              *Read(prefetcher, OpenThree(prefetcher, 0), 4)->batch);
}

TEST_F(BatchPrefetcherTest, ReadsNoBatchBeyondTheOneThatIsWaitedForWhereNothingMoreMayBeHeld) {
  BatchPrefetcher prefetcher(options_, {.batches_ahead = 2, .bytes_ahead = 0}, files_);
  const FeedId read = OpenThree(prefetcher, 0);
  const FeedId other = OpenThree(prefetcher, 0);
  ASSERT_TRUE(Read(prefetcher, read, 0).ok());
  ASSERT_TRUE(Read(prefetcher, other, 0).ok());  // Whatever was begun for `read` is done by now.
  EXPECT_FALSE(prefetcher.TryRead(read, 1, [] {}).has_value());
}

TEST_F(BatchPrefetcherTest, WaitsForTasksUntilTheFeedIsFinished) {
  BatchPrefetcher prefetcher(options_, {}, files_);
  const FeedId feed = prefetcher.Open(0);
  EXPECT_EQ(prefetcher.Read(feed, 0, absl::Now() + absl::Milliseconds(20)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  absl::Notification asked_again;
  EXPECT_FALSE(prefetcher.TryRead(feed, 0, [&] { asked_again.Notify(); }).has_value());
  prefetcher.Append(feed, Task(0, 4));
  ASSERT_TRUE(asked_again.WaitForNotificationWithTimeout(kLong));
  EXPECT_EQ(Read(prefetcher, feed, 0)->batch->examples(), 4u);
  prefetcher.Finish(feed);
  EXPECT_EQ(Read(prefetcher, feed, 1)->batch, nullptr);
}

TEST_F(BatchPrefetcherTest, ABadTaskBreaksItsFeedOnlyAndOnlyFromThereOn) {
  BatchPrefetcher prefetcher(options_, {}, files_);
  const FeedId feed = prefetcher.Open(0);
  TaskReader::Load missing = Task(0, 10);
  missing.task.set_file("/nonexistent");
  prefetcher.Append(feed, Task(0, 4));
  prefetcher.Append(feed, missing);
  EXPECT_TRUE(Read(prefetcher, feed, 0).ok());
  EXPECT_EQ(Read(prefetcher, feed, 1).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Read(prefetcher, feed, 1).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(Read(prefetcher, OpenThree(prefetcher, 0), 4).ok());
}

// A file server that answers nothing until it is told to.
class HungFiles : public Source {
 public:
  absl::StatusOr<std::vector<FileInfo>> List(const std::string& pattern) const override {
    return files_->List(pattern);
  }
  absl::StatusOr<FileInfo> Find(const std::string& path) const override {
    return files_->Find(path);
  }
  absl::StatusOr<std::unique_ptr<ByteStream>> Open(const std::string& path, uint64_t offset,
                                                   uint64_t end) const override {
    if (!asked.HasBeenNotified()) asked.Notify();
    answers.WaitForNotification();
    return files_->Open(path, offset, end);
  }
  mutable absl::Notification asked;
  mutable absl::Notification answers;

 private:
  const std::unique_ptr<const Source> files_ = NewLocalFiles();
};

TEST_F(BatchPrefetcherTest, SaysWhichFileItWaitsFor) {
  BatchPrefetcher idle(options_, {}, files_);
  EXPECT_EQ(idle.read_under_way(), std::nullopt);

  const auto hung = std::make_shared<HungFiles>();
  BatchPrefetcher prefetcher(options_, {}, hung);
  const FeedId feed = prefetcher.Open(0);
  prefetcher.Append(feed, Task(0, 4));
  hung->asked.WaitForNotification();
  ASSERT_TRUE(prefetcher.read_under_way().has_value());
  EXPECT_EQ(prefetcher.read_under_way()->file, path_);
  hung->answers.Notify();
}

TEST_F(BatchPrefetcherTest, LeavesAThreadBehindThatIsInAReadWithoutEnd) {
  const auto hung = std::make_shared<HungFiles>();
  absl::Notification notified;
  {
    BatchPrefetcher prefetcher(options_, {.parting = absl::Milliseconds(10)}, hung);
    const FeedId feed = prefetcher.Open(0);
    prefetcher.Append(feed, Task(0, 4));
    EXPECT_FALSE(prefetcher.TryRead(feed, 0, [&] { notified.Notify(); }).has_value());
    hung->asked.WaitForNotification();
  }
  EXPECT_TRUE(notified.HasBeenNotified());
  hung->answers.Notify();  // What it reads now nobody wants.
}

TEST_F(BatchPrefetcherTest, NotifiesTheReaderOfAClosedFeed) {
  BatchPrefetcher prefetcher(options_, {}, files_);
  const FeedId feed = prefetcher.Open(0);
  absl::Notification closed;
  EXPECT_FALSE(prefetcher.TryRead(feed, 0, [&] { closed.Notify(); }).has_value());
  prefetcher.Close(feed);
  ASSERT_TRUE(closed.WaitForNotificationWithTimeout(kLong));
  EXPECT_EQ(Read(prefetcher, feed, 0).status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace capstan
