#include "worker/shell/batch_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "tests/lib/test_folder.h"

namespace capstan::worker {
namespace {

// Two files of one key a record: 5 records, and 3.
class BatchFeedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write("a.csv", 5);
    Write("b.csv", 3);
    options_.data.set_format(v1::DATA_FORMAT_CSV);
    options_.data.set_columns(2);
    options_.data.set_fields(1);
    options_.data.add_categorical()->set_column(1);
    options_.batch_size = 2;
  }

  void Write(const std::string& name, int records) {
    std::ofstream out(folder_ + "/" + name);
    for (int i = 0; i < records; ++i) out << "1," << name << i << "\n";
  }

  v1::Task FileTask(uint32_t index, const std::string& name) {
    v1::Task task;
    task.set_index(index);
    task.set_file(folder_ + "/" + name);
    task.set_end(std::filesystem::file_size(task.file()));
    return task;
  }

  // A lane of both files whose first task begins at cursor 10.
  v1::Lease Lane(bool complete) {
    v1::Lease lease;
    lease.set_kind(v1::LEASE_KIND_LANE);
    lease.set_lane_tasks_complete(complete);
    Add(lease, 4, FileTask(0, "a.csv"));
    if (complete) Add(lease, 5, FileTask(1, "b.csv"));
    lease.mutable_lane_tasks(0)->set_first_cursor(10);
    return lease;
  }
  static void Add(v1::Lease& lease, uint64_t ordinal, const v1::Task& task) {
    v1::LaneTask& entry = *lease.add_lane_tasks();
    entry.set_ordinal(ordinal);
    *entry.mutable_task() = task;
    entry.set_data_epoch(3);
  }

  absl::StatusOr<LeaseBatch> Read(BatchFeed& feed, uint64_t number) {
    std::optional<absl::StatusOr<LeaseBatch>> result;
    feed.Read(number, [&](absl::StatusOr<LeaseBatch> read) { result = std::move(read); });
    while (!result) loop_.Poll(absl::Seconds(5));
    return *std::move(result);
  }

  const TestFolder temporary_;
  const std::string folder_ = temporary_.path();
  ReaderOptions options_;
  EventLoop loop_;
  std::shared_ptr<const Source> source_ = NewLocalFiles();
};

TEST_F(BatchFeedTest, ATasksBatchesAreNamedByTheirPlaceInTheTask) {
  BatchPrefetcher prefetcher(options_, {}, source_);
  v1::Lease lease;
  lease.set_kind(v1::LEASE_KIND_TASK);
  *lease.mutable_task() = FileTask(9, "a.csv");
  lease.set_data_epoch(2);
  BatchFeed feed(prefetcher, loop_, lease);
  absl::StatusOr<LeaseBatch> batch = Read(feed, 1);
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->batch->examples(), 2u);
  EXPECT_EQ(batch->stream, StreamId::Task(2, 9));
  EXPECT_EQ(batch->seq, 1u);
  EXPECT_EQ(Read(feed, 2)->batch->examples(), 1u);
  absl::StatusOr<LeaseBatch> end = Read(feed, 3);
  EXPECT_EQ(end->batch, nullptr);
  EXPECT_EQ(end->end, 3u);
}

TEST_F(BatchFeedTest, ALanesBatchesAreNumberedByItsCursorAcrossTasks) {
  BatchPrefetcher prefetcher(options_, {}, source_);
  BatchFeed feed(prefetcher, loop_, Lane(/*complete=*/true));
  EXPECT_EQ(Read(feed, 12)->batch->examples(), 1u);  // The last of a.csv.
  absl::StatusOr<LeaseBatch> first_of_b = Read(feed, 13);
  EXPECT_EQ(first_of_b->stream, StreamId::Task(3, 1));
  EXPECT_EQ(first_of_b->seq, 0u);
  EXPECT_EQ(Read(feed, 15)->end, 15u);
}

TEST_F(BatchFeedTest, ALanesTasksAreDoneWhenTheCursorHasPassedThem) {
  BatchPrefetcher prefetcher(options_, {}, source_);
  BatchFeed feed(prefetcher, loop_, Lane(/*complete=*/true));
  ASSERT_TRUE(Read(feed, 13).ok());
  EXPECT_FALSE(feed.HasDone(12));
  EXPECT_TRUE(feed.TakeDone(12).empty());
  EXPECT_TRUE(feed.HasDone(13));
  std::vector<v1::LaneTaskDone> done = feed.TakeDone(13);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].ordinal(), 4u);
  EXPECT_EQ(done[0].batches(), 3u);
  EXPECT_EQ(done[0].examples(), 5u);
  EXPECT_FALSE(feed.HasDone(13));
  EXPECT_TRUE(feed.TakeDone(13).empty());
}

TEST_F(BatchFeedTest, NothingIsKeptOfALanesTasksThatAreDoneAndTold) {
  BatchPrefetcher prefetcher(options_, {}, source_);
  BatchFeed feed(prefetcher, loop_, Lane(/*complete=*/false));
  uint64_t cursor = 10;
  for (uint64_t ordinal = 5; ordinal < 200; ++ordinal) {
    v1::Lease extended;
    extended.set_kind(v1::LEASE_KIND_LANE);
    Add(extended, ordinal, FileTask(static_cast<uint32_t>(ordinal), "b.csv"));
    feed.Extend(extended);
    cursor += ordinal == 5 ? 3 : 2;
    const absl::StatusOr<LeaseBatch> read = Read(feed, cursor);
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(read->stream, StreamId::Task(3, static_cast<uint32_t>(ordinal)));
    const std::vector<v1::LaneTaskDone> done = feed.TakeDone(cursor);
    ASSERT_EQ(done.size(), 1u);
    ASSERT_EQ(done[0].ordinal(), ordinal - 1);
    ASSERT_LE(feed.tasks_kept(), 1u);
  }
}

TEST_F(BatchFeedTest, ATaskThatIsToldDoneIsKeptWhileItIsRead) {
  BatchPrefetcher prefetcher(options_, {}, source_);
  BatchFeed feed(prefetcher, loop_, Lane(/*complete=*/true));
  ASSERT_TRUE(Read(feed, 11).ok());
  ASSERT_EQ(feed.TakeDone(13).size(), 1u);  // Others have closed rounds without this worker.
  const absl::StatusOr<LeaseBatch> last = Read(feed, 12);
  EXPECT_EQ(last->stream, StreamId::Task(3, 0));
  EXPECT_EQ(last->seq, 2u);
  EXPECT_EQ(Read(feed, 13)->stream, StreamId::Task(3, 1));
  EXPECT_EQ(feed.tasks_kept(), 1u);
}

TEST_F(BatchFeedTest, TheEndOfALaneIsHeldBackUntilTheChiefHasNamedItsLastTask) {
  BatchPrefetcher prefetcher(options_, {}, source_);
  BatchFeed feed(prefetcher, loop_, Lane(/*complete=*/false));
  std::optional<LeaseBatch> answer;
  ASSERT_TRUE(Read(feed, 12).ok());
  feed.Read(13, [&](absl::StatusOr<LeaseBatch> read) { answer = *std::move(read); });
  loop_.Poll(absl::Milliseconds(50));
  EXPECT_FALSE(answer.has_value());
  feed.Extend(Lane(/*complete=*/true));
  while (!answer) loop_.Poll(absl::Seconds(5));
  EXPECT_EQ(answer->stream, StreamId::Task(3, 1));
  EXPECT_EQ(feed.tasks_known(), 6u);
}

TEST_F(BatchFeedTest, ALaneWithoutTasksEndsAtItsCursor) {
  BatchPrefetcher prefetcher(options_, {}, source_);
  v1::Lease lease;
  lease.set_kind(v1::LEASE_KIND_LANE);
  lease.set_lane_tasks_complete(true);
  BatchFeed feed(prefetcher, loop_, lease);
  absl::StatusOr<LeaseBatch> end = Read(feed, 17);
  EXPECT_EQ(end->batch, nullptr);
  EXPECT_EQ(end->end, 17u);
}

TEST_F(BatchFeedTest, AFileThatCannotBeReadIsAnErrorThatNamesIt) {
  BatchPrefetcher prefetcher(options_, {}, source_);
  v1::Lease lease;
  lease.set_kind(v1::LEASE_KIND_TASK);
  *lease.mutable_task() = FileTask(0, "a.csv");
  lease.mutable_task()->set_file(folder_ + "/missing.csv");
  BatchFeed feed(prefetcher, loop_, lease);
  absl::StatusOr<LeaseBatch> read = Read(feed, 0);
  EXPECT_TRUE(absl::IsNotFound(read.status())) << read.status();
  EXPECT_THAT(std::string(read.status().message()), ::testing::HasSubstr("missing.csv"));
}

TEST_F(BatchFeedTest, ReadsThatAreOpenWhenTheFeedEndsAreNeverAnswered) {
  BatchPrefetcher prefetcher(options_, {}, source_);
  bool answered = false;
  {
    BatchFeed feed(prefetcher, loop_, Lane(/*complete=*/false));
    feed.Read(13, [&](absl::StatusOr<LeaseBatch>) { answered = true; });
  }
  loop_.Poll(absl::Milliseconds(50));
  EXPECT_FALSE(answered);
}

}  // namespace
}  // namespace capstan::worker
