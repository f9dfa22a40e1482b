// Orders to save: begun once, however often they come, and what has failed stays so.
#include "ps/transfer/saver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "capstan/base/background.h"
#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/metrics/registry.h"
#include "ps/partition/partition_content.h"
#include "ps/partition/shard_metrics.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"
#include "tests/unit/ps/shard/one_column.h"

namespace capstan::ps {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr uint64_t kSaved = 3;  // The timeline.

// A shard of a synchronous job that serves both of its partitions, and a store in memory.
class SaverTest : public testing::Test {
 protected:
  SaverTest() {
    v1::JobSpec job;
    job.set_job("saved");
    job.set_partition_count(2);
    for (v1::UpdatePolicy* policy : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
      policy->set_kind(v1::POLICY_KIND_SYNC);
      policy->set_lanes(1);
    }
    AddOneColumn(job);
    auto shard = Shard::Create(job, {ShardIndex{0}, Incarnation{7}}, metrics_, clock_);
    CAPSTAN_CHECK(shard.ok());
    shard_ = *std::move(shard);
    CAPSTAN_CHECK(shard_->contents().BeginLoad(kSaved).ok());
    for (int index : {0, 1}) Load(index, kSaved);
    CAPSTAN_CHECK(shard_->contents().Serve(kSaved, {}).ok());
    saver_.emplace(*shard_, Outside{.open_store = [this](const std::string&) { return Open(); },
                                    .background = threads_});
  }
  // Whoever waits for the store waits no longer.
  ~SaverTest() override {
    if (!goes_on_.HasBeenNotified()) goes_on_.Notify();
  }

  void Load(int index, uint64_t timeline) {
    const auto partition = static_cast<PartitionIndex>(index);
    auto content =
        InitialContent(shard_->catalog(), partition, Timeline{timeline}, shard_->slabs());
    CAPSTAN_CHECK(content.ok());
    shard_->contents().Load(partition, *std::move(content));
  }
  absl::StatusOr<std::unique_ptr<ObjectStore>> Open() {
    auto store = std::make_unique<FaultyObjectStore>(*memory_);
    store->SetPlan(plan_);
    return store;
  }
  // The store completes no object until goes_on_.
  void HoldCommits() {
    plan_ = [this](const StoreCall& call) -> StoreFault {
      if (call.kind != StoreCall::Kind::kCommit) return {};
      return {.pause = [this] {
        if (!all_taken_.HasBeenNotified()) all_taken_.Notify();
        goes_on_.WaitForNotification();
      }};
    };
  }

  absl::StatusOr<v1::SavePartitionsReply> Order(const std::string& id,
                                                const std::string& uri = "/models/a") {
    v1::SavePartitionsRequest order;
    order.mutable_header()->set_timeline(kSaved);
    order.set_id(id);
    order.set_uri(uri);
    return saver_->Order(order);
  }
  // The answer to the order once it has begun and ended.
  absl::StatusOr<v1::SavePartitionsReply> OrderUntilOver(const std::string& id) {
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    for (;;) {
      const auto answer = Order(id);
      const bool under_way = answer.ok() ? !answer->done() : absl::IsUnavailable(answer.status());
      if (!under_way || absl::Now() > deadline) return answer;
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
  // Until the save that is under way leaves the turn to copy to others.
  void AwaitItsEnd() {
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (!shard_->copies().Take(CopyTurn::Holder::kMoves)) {
      ASSERT_LT(absl::Now(), deadline);
      absl::SleepFor(absl::Milliseconds(1));
    }
    shard_->copies().Release(CopyTurn::Holder::kMoves);
  }

  FakeClock clock_;
  Threads threads_;
  absl::Notification all_taken_;  // The store has all bytes of an object that is not complete.
  absl::Notification goes_on_;
  const std::unique_ptr<ObjectStore> memory_ = MakeMemoryObjectStore();
  StoreFaultPlan plan_;
  metrics::Registry registry_;
  ShardMetrics metrics_{registry_};
  std::unique_ptr<Shard> shard_;
  std::optional<Saver> saver_;
};

TEST_F(SaverTest, AnOrderThatComesAgainTellsHowItStandsAndSavesNothingTwice) {
  const auto first = Order("c1");
  ASSERT_TRUE(first.ok()) << first.status();
  const auto done = OrderUntilOver("c1");
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->partitions_saved(), 2u);
  EXPECT_THAT(done->files(), SizeIs(2));
  EXPECT_EQ(Order("c1")->SerializeAsString(), done->SerializeAsString());
  saver_.reset();  // What has ended is counted by then.
  EXPECT_THAT(registry_.Text(), HasSubstr("capstan_checkpoint_saves_total{result=\"ok\"} 1\n"));
}

TEST_F(SaverTest, AnOrderWithoutAnIdOrIntoAnotherFolderIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(Order("").status()));
  ASSERT_TRUE(OrderUntilOver("c1").ok());
  const absl::Status elsewhere = Order("c1", "/models/b").status();
  EXPECT_TRUE(absl::IsInvalidArgument(elsewhere)) << elsewhere;
  EXPECT_THAT(std::string(elsewhere.message()), HasSubstr("/models/a, not /models/b"));
  EXPECT_TRUE(Order("c1")->done());
}

TEST_F(SaverTest, WhilePartitionsAreOnTheirWayNothingBegins) {
  ASSERT_TRUE(shard_->copies().Take(CopyTurn::Holder::kMoves));
  EXPECT_TRUE(absl::IsUnavailable(Order("c1").status()));
  shard_->copies().Release(CopyTurn::Holder::kMoves);
  EXPECT_THAT(memory_->List("").value(), testing::IsEmpty());
  ASSERT_TRUE(OrderUntilOver("c1").ok());
}

TEST_F(SaverTest, AnotherOrderEndsTheSaveBeforeWhichIsOvertakenFromThenOn) {
  HoldCommits();
  ASSERT_TRUE(Order("c1").ok());
  EXPECT_TRUE(absl::IsUnavailable(Order("c2").status())) << "c1 has not ended yet";
  goes_on_.Notify();
  ASSERT_TRUE(OrderUntilOver("c2").ok());
  const absl::Status late = Order("c1").status();
  EXPECT_TRUE(absl::IsAborted(late)) << late;
  EXPECT_THAT(std::string(late.message()), HasSubstr("overtaken"));
  EXPECT_TRUE(Order("c2")->done());
}

TEST_F(SaverTest, WhatTheStoreRefusesIsToldAndTheSaveIsNotTriedAgain) {
  plan_ = [](const StoreCall&) { return StoreFault{.status = absl::PermissionDeniedError("no")}; };
  const absl::Status failed = OrderUntilOver("c1").status();
  EXPECT_TRUE(absl::IsAborted(failed)) << failed;
  EXPECT_EQ(failed.message(), "no");
  plan_ = nullptr;
  EXPECT_EQ(Order("c1").status(), failed);
  saver_.reset();
  EXPECT_THAT(registry_.Text(), HasSubstr("capstan_checkpoint_saves_total{result=\"failed\"} 1\n"));
}

// The store may come back, and take what it was given: the chief has been told that there is no
// such checkpoint.
TEST_F(SaverTest, ASaveThatIsGivenUpForAStillStoreStaysSoWhateverTheStoreDoesThen) {
  HoldCommits();
  ASSERT_TRUE(Order("c1").ok());
  all_taken_.WaitForNotification();
  clock_.Advance(2 * Saver::kStill);
  ASSERT_TRUE(Order("c1").ok()) << "it has taken something since it was asked last";
  clock_.Advance(Saver::kStill);
  ASSERT_TRUE(Order("c1").ok()) << "nothing, but not for longer than that";
  clock_.Advance(absl::Seconds(1));
  const absl::Status given_up = Order("c1").status();
  EXPECT_TRUE(absl::IsAborted(given_up)) << given_up;
  EXPECT_THAT(std::string(given_up.message()), HasSubstr("the store has taken nothing for 10m"));
  goes_on_.Notify();
  AwaitItsEnd();
  EXPECT_EQ(Order("c1").status(), given_up);
  EXPECT_TRUE(OrderUntilOver("c2").ok());
}

TEST_F(SaverTest, WhereAPartitionIsOfAnotherTimelineTheOrderSaysSoAndTheOthersCopiesEnd) {
  Load(1, kSaved + 1);
  const absl::Status failed = OrderUntilOver("c1").status();
  EXPECT_TRUE(absl::IsAborted(failed)) << failed;
  EXPECT_THAT(std::string(failed.message()),
              HasSubstr("partition 1 is not served here in timeline 3"));
  EXPECT_THAT(memory_->List("").value(), testing::IsEmpty());
  Load(1, kSaved);
  EXPECT_TRUE(OrderUntilOver("c2").ok());
}

}  // namespace
}  // namespace capstan::ps
