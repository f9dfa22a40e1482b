#include "capstan/data/feed/feed.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace capstan {
namespace {

// A task whose batches have one record each.
std::shared_ptr<const LoadedTask> TaskOfRecords(size_t count) {
  Batch records = {.labels = std::vector<float>(count),
                   .offsets = std::vector<uint32_t>(count + 1)};
  return std::make_shared<const LoadedTask>(std::move(records), BadRecords(0),
                                            std::vector<uint32_t>(), BatchCut{.size = 1});
}

TEST(FeedTest, CutsNoFurtherAheadThanAllowed) {
  Feed feed(/*first=*/0, /*batches_ahead=*/2);
  feed.Append({});
  ASSERT_TRUE(feed.NextWork()->load.has_value());
  EXPECT_FALSE(feed.NextWork().has_value());  // One thing at a time.
  feed.Loaded(TaskOfRecords(10));
  for (uint64_t number = 0; number < 3; ++number) {
    EXPECT_EQ(feed.NextWork()->batch_in_task, number);
    feed.Cut(std::make_shared<const Batch>());
  }
  EXPECT_FALSE(feed.NextWork().has_value());
  EXPECT_TRUE(feed.Ask(1).has_value());
  EXPECT_EQ(feed.NextWork()->batch_in_task, 3u);
  feed.Cut(std::make_shared<const Batch>());
  EXPECT_FALSE(feed.NextWork().has_value());
}

TEST(FeedTest, LoadsTheNextTaskOnceTheOneBeforeItIsCutAndCutsNothingOfItYet) {
  Feed feed(/*first=*/0, /*batches_ahead=*/0);
  feed.Append({});
  feed.Append({});
  feed.Append({});
  ASSERT_TRUE(feed.NextWork()->load.has_value());
  feed.Loaded(TaskOfRecords(2));
  EXPECT_EQ(feed.NextWork()->batch_in_task, 0u);
  feed.Cut(std::make_shared<const Batch>());
  EXPECT_FALSE(feed.NextWork().has_value()) << "the first task is held still";
  EXPECT_FALSE(feed.Ask(1).has_value());
  EXPECT_EQ(feed.NextWork()->batch_in_task, 1u);
  feed.Cut(std::make_shared<const Batch>());
  ASSERT_TRUE(feed.NextWork()->load.has_value());
  feed.Loaded(TaskOfRecords(2));
  EXPECT_FALSE(feed.NextWork().has_value());
  EXPECT_EQ((*feed.Ask(1))->task, 0u);
  EXPECT_FALSE(feed.Ask(2).has_value());
  EXPECT_EQ(feed.NextWork()->batch_in_task, 0u);
}

TEST(FeedTest, TellsTheBytesOfWhatIsCutAndNotAskedFor) {
  Feed feed(/*first=*/0, /*batches_ahead=*/2);
  feed.Append({});
  ASSERT_TRUE(feed.NextWork().has_value());
  feed.Loaded(TaskOfRecords(10));
  const auto cut = std::make_shared<const Batch>(
      Batch{.labels = {1}, .offsets = {0, 1}, .keys = {7}, .dense = std::vector<float>(25)});
  const uint64_t bytes = 4 + 2 * 4 + 8 + 25 * 4;
  for (uint64_t number = 0; number < 3; ++number) {
    ASSERT_TRUE(feed.NextWork().has_value());
    feed.Cut(cut);
    EXPECT_EQ(feed.bytes_ahead(), number * bytes) << "the first one is what the reader begins with";
  }
  EXPECT_TRUE(feed.Ask(1).has_value());
  EXPECT_EQ(feed.bytes_ahead(), bytes);
  EXPECT_TRUE(feed.Ask(2).has_value());
  EXPECT_EQ(feed.bytes_ahead(), 0u);
}

TEST(FeedTest, KeepsNothingOfTasksThatAreReadAndForgotten) {
  constexpr uint64_t kTasks = 100'000;
  constexpr uint64_t kOpen = 3;  // Named ahead, as the chief does.
  Feed feed(/*first=*/0, /*batches_ahead=*/0);
  for (uint64_t place = 0; place < kTasks; ++place) {
    if (place == 0) {
      for (uint64_t i = 0; i < kOpen; ++i) feed.Append({});
    } else if (place + kOpen <= kTasks) {
      feed.Append({});
    }
    if (place + kOpen == kTasks) feed.Finish();
    ASSERT_FALSE(feed.Ask(place).has_value());
    ASSERT_TRUE(feed.NextWork()->load.has_value());
    feed.Loaded(TaskOfRecords(1));
    ASSERT_EQ(feed.NextWork()->batch_in_task, 0u);
    feed.Cut(std::make_shared<const Batch>());
    ASSERT_EQ((*feed.Ask(place))->task, place);
    ASSERT_TRUE(feed.TaskAt(place).loaded);
    feed.Forget(place);
    ASSERT_LE(feed.tasks_kept(), kOpen + 1);
  }
  feed.Ask(kTasks);
  EXPECT_FALSE(feed.NextWork().has_value());
  EXPECT_EQ((*feed.Ask(kTasks))->number, kTasks);
}

TEST(FeedTest, BeginsInTheMiddleOfATaskBehindWholeOnes) {
  Feed feed(/*first=*/5, /*batches_ahead=*/0);
  feed.Append({});
  feed.Append({});
  ASSERT_TRUE(feed.NextWork()->load.has_value());
  feed.Loaded(TaskOfRecords(2));
  ASSERT_TRUE(feed.NextWork()->load.has_value()) << "of the first task nobody wants a batch";
  feed.Loaded(TaskOfRecords(4));
  EXPECT_EQ(feed.NextWork()->batch_in_task, 3u);
  feed.Cut(std::make_shared<const Batch>());
  const auto fed = feed.Ask(5);
  ASSERT_TRUE(fed.has_value() && fed->ok());
  EXPECT_EQ((*fed)->number, 5u);
  EXPECT_EQ((*fed)->task, 1u);
  EXPECT_TRUE((*fed)->last_of_task);
}

TEST(FeedTest, AnErrorComesBehindTheBatchesThatWereCutBeforeIt) {
  Feed feed(/*first=*/0, /*batches_ahead=*/5);
  feed.Append({});
  feed.Append({});
  ASSERT_TRUE(feed.NextWork()->load.has_value());
  feed.Loaded(TaskOfRecords(1));
  ASSERT_EQ(feed.NextWork()->batch_in_task, 0u);
  feed.Cut(std::make_shared<const Batch>());
  ASSERT_TRUE(feed.NextWork()->load.has_value());
  feed.Loaded(absl::DataLossError("damaged"));
  EXPECT_FALSE(feed.NextWork().has_value());
  EXPECT_TRUE(feed.Ask(0)->ok());
  EXPECT_EQ(feed.Ask(1)->status(), absl::DataLossError("damaged"));
}

TEST(FeedTest, WithoutTasksItEndsWhereItIsFinishedAndNotBefore) {
  Feed feed(/*first=*/0, /*batches_ahead=*/5);
  EXPECT_FALSE(feed.Ask(0).has_value());
  feed.Finish();
  const auto end = feed.Ask(0);
  ASSERT_TRUE(end.has_value() && end->ok());
  EXPECT_EQ((*end)->batch, nullptr);
  EXPECT_EQ((*end)->number, 0u);
}

}  // namespace
}  // namespace capstan
