#include "chief/shell/view_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/lib/many_trainers.h"
#include "tests/unit/chief/shell/watched_feed.h"

namespace capstan::chief {
namespace {

using testing::ElementsAre;
using testing::Gt;
using testing::Lt;

TEST_F(ViewFeedTest, AWatcherGetsThePresentViewAtOnceAndThenEveryNewerOne) {
  feed_.Publish(ViewOf(1));
  feed_.Publish(ViewOf(2));
  const auto watcher = Watch();
  UntilSeen(*watcher, 2);
  feed_.Publish(ViewOf(3));
  UntilSeen(*watcher, 3);
  EXPECT_THAT(watcher->seen, ElementsAre(2, 3));
}

TEST_F(ViewFeedTest, AWatcherBeforeTheFirstViewWaitsForIt) {
  const auto watcher = Watch();
  const absl::Time later = absl::Now() + absl::Milliseconds(50);
  while (absl::Now() < later) loop_.Poll(later - absl::Now());
  EXPECT_TRUE(watcher->seen.empty());
  EXPECT_FALSE(watcher->end.has_value());
  feed_.Publish(ViewOf(1));
  UntilSeen(*watcher, 1);
}

TEST_F(ViewFeedTest, AnOlderViewIsNotSentBehindANewerOne) {
  const auto watcher = Watch();
  feed_.Publish(ViewOf(5));
  UntilSeen(*watcher, 5);
  feed_.Publish(ViewOf(4));
  const auto later = Watch();
  UntilSeen(*later, 5);
  feed_.Publish(ViewOf(6));
  UntilSeen(*watcher, 6);
  EXPECT_THAT(watcher->seen, ElementsAre(5, 6));
}

TEST_F(ViewFeedTest, ASlowWatcherIsSentTheNewestViewAndNotEveryOneInBetween) {
  feed_.Publish(ViewOf(1));
  const auto watcher = Watch();
  UntilSeen(*watcher, 1);
  // More than the transport holds; nobody reads meanwhile.
  constexpr uint64_t kViews = 64;
  for (uint64_t n = 2; n <= kViews; ++n) feed_.Publish(ViewOf(n, /*bytes=*/1 << 20));
  UntilSeen(*watcher, kViews);
  EXPECT_LT(watcher->seen.size(), kViews);
}

// The n-th view, of a job with so many trainers.
v1::View ViewOfJoiners(uint64_t n, uint32_t trainers) {
  v1::View view;
  view.mutable_epoch()->set_term(1);
  view.mutable_epoch()->set_n(n);
  AddTrainers(trainers, view);
  return view;
}

TEST_F(ViewFeedTest, AJoinerCostsAShardThatReadsDifferencesFewBytesAndOthersAWholeView) {
  feed_.Publish(ViewOfJoiners(1, 1000));
  const auto reads = Watch(/*incarnation=*/7, /*differences=*/true);
  const auto does_not = Watch(/*incarnation=*/8, /*differences=*/false);
  UntilSeen(*reads, 1);
  UntilSeen(*does_not, 1);
  for (const uint64_t n : {2, 3}) {
    const v1::View view = ViewOfJoiners(n, 999 + static_cast<uint32_t>(n));
    feed_.Publish(view);
    for (Watcher* const watcher : {reads.get(), does_not.get()}) {
      UntilSeen(*watcher, n);
      EXPECT_EQ(watcher->last.SerializeAsString(), view.SerializeAsString());
    }
  }
  EXPECT_THAT(reads->whole, ElementsAre(true, false, false)) << "the first is whole";
  EXPECT_THAT(reads->bytes, ElementsAre(Gt(20'000u), Lt(200u), Lt(200u)));
  EXPECT_THAT(does_not->whole, ElementsAre(true, true, true))
      << "a process of an earlier release does not read differences";
}

TEST_F(ViewFeedTest, ASlowWatcherIsSentTheDifferenceToTheViewThatItHas) {
  // Of each view 1 MiB is new, and the trainers stay.
  const auto view_of = [](uint64_t n) {
    v1::View view = ViewOfJoiners(n, /*trainers=*/100);
    *view.mutable_shards() = ViewOf(n, /*bytes=*/1 << 20).shards();
    return view;
  };
  feed_.Publish(view_of(1));
  const auto watcher = Watch(/*incarnation=*/7, /*differences=*/true);
  UntilSeen(*watcher, 1);
  // More than the transport holds; nobody reads meanwhile.
  constexpr uint64_t kViews = 64;
  for (uint64_t n = 2; n <= kViews; ++n) feed_.Publish(view_of(n));
  UntilSeen(*watcher, kViews);
  EXPECT_LT(watcher->seen.size(), kViews);
  EXPECT_EQ(watcher->last.SerializeAsString(), view_of(kViews).SerializeAsString());
  EXPECT_EQ(std::count(watcher->whole.begin(), watcher->whole.end(), true), 1) << "the first";
}

TEST_F(ViewFeedTest, AViewThatHasAllNewIsSentWhole) {
  feed_.Publish(ViewOf(1, /*bytes=*/100));
  const auto watcher = Watch(/*incarnation=*/7, /*differences=*/true);
  UntilSeen(*watcher, 1);
  feed_.Publish(ViewOf(2, /*bytes=*/100));
  UntilSeen(*watcher, 2);
  EXPECT_THAT(watcher->whole, ElementsAre(true, true));
}

// All of them have the same view but for its epoch.
TEST_F(ViewFeedTest, WorkersThatHaveBegunToWatchAtOtherEpochsReadTheNextDifference) {
  v1::View view = ViewOf(1);
  for (uint32_t i = 0; i < 100; ++i) view.add_owners(i);
  feed_.Publish(view);
  const auto early = Watch(/*incarnation=*/0, /*differences=*/true);
  UntilSeen(*early, 1);
  view.mutable_epoch()->set_n(2);
  view.add_trainers()->set_worker("joins");
  feed_.Publish(view);
  const auto late = Watch(/*incarnation=*/0, /*differences=*/true);
  UntilSeen(*late, 2);
  view.mutable_epoch()->set_n(3);
  view.set_owners(5, 6);
  feed_.Publish(view);
  view.clear_trainers();
  for (Watcher* const watcher : {early.get(), late.get()}) {
    UntilSeen(*watcher, 3);
    EXPECT_THAT(watcher->whole, ElementsAre(true, false));
    EXPECT_EQ(watcher->last.SerializeAsString(), view.SerializeAsString());
  }
}

TEST_F(ViewFeedTest, OnlyShardsAreToldWhoTrains) {
  v1::View view = ViewOf(1);
  feed_.Publish(view);
  const auto shard = Watch(/*incarnation=*/7), worker = Watch();
  UntilSeen(*shard, 1);
  UntilSeen(*worker, 1);
  view.mutable_epoch()->set_n(2);
  view.add_trainers()->set_worker("joins");
  feed_.Publish(view);
  UntilSeen(*shard, 2);
  EXPECT_EQ(shard->last.trainers_size(), 1);

  v1::View other = ViewOf(3);  // With something that the worker has to know.
  *other.mutable_trainers() = view.trainers();
  feed_.Publish(other);
  UntilSeen(*shard, 3);
  UntilSeen(*worker, 3);
  EXPECT_THAT(worker->seen, ElementsAre(1, 3))
      << "the one that named another trainer is passed over";
  EXPECT_EQ(shard->last.trainers_size(), 1);
  EXPECT_EQ(worker->last.trainers_size(), 0);
}

TEST_F(ViewFeedTest, WhoBeginsToWatchAfterwardsGetsTheNewestViewThatDiffersInTrainersAlone) {
  v1::View view = ViewOf(1);
  feed_.Publish(view);
  view.mutable_epoch()->set_n(2);
  view.add_trainers()->set_worker("joins");
  feed_.Publish(view);
  const auto worker = Watch();
  UntilSeen(*worker, 2);
  EXPECT_EQ(worker->last.trainers_size(), 0);
}

TEST_F(ViewFeedTest, OneWatcherTooManyIsTurnedAwayAndTheOthersGoOn) {
  feed_.Publish(ViewOf(1));
  const auto first = Watch(), second = Watch();
  UntilSeen(*first, 1);
  UntilSeen(*second, 1);
  const auto third = Watch();
  UntilEnded(*third);
  EXPECT_EQ(third->end->code(), absl::StatusCode::kResourceExhausted);
  feed_.Publish(ViewOf(2));
  UntilSeen(*first, 2);
  UntilSeen(*second, 2);
}

TEST_F(ViewFeedTest, AWatcherThatHasGoneMakesRoom) {
  feed_.Publish(ViewOf(1));
  const auto first = Watch(), second = Watch();
  UntilSeen(*first, 1);
  UntilSeen(*second, 1);
  loop_.Cancel(first->call);
  UntilEnded(*first);
  std::unique_ptr<Watcher> third;
  Until([&] {  // The server hears of it a little later.
    if (third == nullptr || third->end) third = Watch();
    return !third->seen.empty();
  });
}

TEST_F(ViewFeedTest, TheEndOfTheWatchOfAShardIsTold) {
  feed_.Publish(ViewOf(1));
  const auto shard = Watch(/*incarnation=*/7);
  UntilSeen(*shard, 1);
  EXPECT_TRUE(feed_.IsWatching(7));
  EXPECT_TRUE(feed_.TakeEnded().empty());
  loop_.Cancel(shard->call);
  Until([&] { return !feed_.IsWatching(7); });
  const std::vector<ViewFeed::ShardProcess> ended = feed_.TakeEnded();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0], (ViewFeed::ShardProcess{.shard = 1, .incarnation = 7}));
  EXPECT_TRUE(feed_.TakeEnded().empty()) << "once";
}

TEST_F(ViewFeedTest, NothingIsToldOfAWatchThatAnotherHasReplacedNorOfWhoIsNoShard) {
  feed_.Publish(ViewOf(1));
  const auto before = Watch(/*incarnation=*/7);
  UntilSeen(*before, 1);
  const auto after = Watch(/*incarnation=*/7);
  UntilSeen(*after, 1);
  loop_.Cancel(before->call);
  UntilEnded(*before);
  std::unique_ptr<Watcher> other;
  Until([&] {  // It has made room.
    if (other == nullptr || other->end) other = Watch();
    return !other->seen.empty();
  });
  EXPECT_TRUE(feed_.IsWatching(7));
  EXPECT_TRUE(feed_.TakeEnded().empty());
}

TEST_F(ViewFeedTest, AShardThatIsRefusedHasNoWatchWhoseEndCouldBeTold) {
  feed_.Publish(ViewOf(1));
  const auto first = Watch(), second = Watch();
  UntilSeen(*first, 1);
  UntilSeen(*second, 1);
  const auto refused = Watch(/*incarnation=*/7);
  UntilEnded(*refused);
  EXPECT_EQ(refused->end->code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(feed_.IsWatching(7));
  loop_.Cancel(first->call);
  UntilEnded(*first);
  std::unique_ptr<Watcher> shard;
  Until([&] {  // The refused stream is gone, too, once there is room.
    if (shard == nullptr || shard->end) shard = Watch(/*incarnation=*/8);
    return !shard->seen.empty();
  });
  EXPECT_TRUE(feed_.TakeEnded().empty());
}

TEST_F(ViewFeedTest, CloseEndsEveryStreamAndEveryNewOne) {
  feed_.Publish(ViewOf(1));
  const auto before = Watch();
  UntilSeen(*before, 1);
  feed_.Close();
  UntilEnded(*before);
  EXPECT_EQ(before->end->code(), absl::StatusCode::kUnavailable);
  const auto after = Watch();
  UntilEnded(*after);
  EXPECT_EQ(after->end->code(), absl::StatusCode::kUnavailable);
}

TEST_F(ViewFeedTest, ManyPublishersAndWatchersComeToTheSameView) {
  const auto first = Watch(), second = Watch();
  std::vector<std::thread> publishers;
  for (uint64_t p = 0; p < 4; ++p) {
    publishers.emplace_back([this, p] {
      for (uint64_t i = 0; i < 50; ++i) feed_.Publish(ViewOf(1 + 4 * i + p));
    });
  }
  for (std::thread& publisher : publishers) publisher.join();
  UntilSeen(*first, 200);
  UntilSeen(*second, 200);
  for (const auto* watcher : {first.get(), second.get()}) {
    EXPECT_TRUE(std::is_sorted(watcher->seen.begin(), watcher->seen.end()));
  }
}

}  // namespace
}  // namespace capstan::chief
