// Partitions with a backup on another real shard: what is acknowledged is on both, and where one
// dies the other one goes on with the same bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "tests/integration/shard/counting_client.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/integration/shard/runner.h"
#include "tests/integration/shard/test_moves.h"
#include "tests/integration/shard/trainer.h"

namespace capstan {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr uint32_t kColumns = 4;
constexpr uint32_t kRows = 64;

v1::JobSpec Replicated(v1::JobSpec job) {
  job.set_replicas(1);
  return job;
}

v1::JobSpec ReplicatedJob() { return Replicated(SmallJob(kColumns, kColumns)); }

std::vector<uint64_t> Keys(uint64_t first, uint64_t count) {
  std::vector<uint64_t> keys;
  for (uint64_t key = first; key < first + count; ++key) keys.push_back(key);
  return keys;
}

// Clients that push without a pause, each its own column, and look at the newest view when they are
// refused.
class Crowd {
 public:
  explicit Crowd(LocalShards& shards) : view_(shards.view()) {
    for (uint32_t column = 0; column < kColumns; ++column) {
      clients_.push_back(
          std::make_unique<CountingClient>(shards.job(), shards.view(), column, kRows));
      clients_.back()->SetRefresh([this] {
        absl::MutexLock lock(&mu_);
        return view_;
      });
    }
    for (auto& client : clients_) {
      threads_.emplace_back([this, &client = *client] {
        while (!stopping_) {
          const absl::Status pushed = client.Push();
          EXPECT_TRUE(pushed.ok()) << pushed;
          ++pushes_;
          if (!pushed.ok()) return;
        }
      });
    }
  }
  ~Crowd() { Stop(); }

  void Tell(const v1::View& view) {
    absl::MutexLock lock(&mu_);
    view_ = view;
  }
  void AwaitPushes(int more) {
    const int until = pushes_ + more;
    while (pushes_ < until && !testing::Test::HasFailure()) absl::SleepFor(absl::Milliseconds(1));
  }
  void Stop() {
    stopping_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  // Each client finds all of its pushes, once.
  void ExpectAllOnce() {
    Stop();
    for (uint32_t column = 0; column < kColumns; ++column) {
      const absl::StatusOr<std::vector<float>> cells = clients_[column]->Pull();
      ASSERT_TRUE(cells.ok()) << cells.status();
      for (size_t i = column; i < cells->size(); i += kColumns) {
        ASSERT_EQ((*cells)[i], static_cast<float>(clients_[column]->pushes())) << "cell " << i;
      }
    }
  }

 private:
  absl::Mutex mu_;
  v1::View view_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<CountingClient>> clients_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> pushes_{0};
  std::vector<std::thread> threads_;
};

TEST(ReplicasTest, WhatIsAcknowledgedIsNotLostWithItsOwner) {
  for (const int victim : {0, 1, 2}) {
    LocalShards shards(ReplicatedJob(), 3);
    Crowd crowd(shards);
    crowd.AwaitPushes(20);
    ASSERT_TRUE(PairAll(shards, {0, 1, 2}).ok());
    crowd.AwaitPushes(100);
    shards.Kill(victim);
    shards.Change([victim](v1::View& view) {
      DropBackup(view, victim);
      Promote(view, victim);
    });
    crowd.Tell(shards.view());
    crowd.AwaitPushes(100);
    crowd.ExpectAllOnce();
  }
}

TEST(ReplicasTest, TwoFailuresOneAfterTheOtherAreSurvived) {
  LocalShards shards(ReplicatedJob(), 3);
  Crowd crowd(shards);
  ASSERT_TRUE(PairAll(shards, {0, 1, 2}).ok());
  crowd.AwaitPushes(50);
  shards.Kill(0);
  shards.Change([](v1::View& view) {
    DropBackup(view, 0);
    Promote(view, 0);
    view.clear_pairs();
  });
  crowd.Tell(shards.view());
  crowd.AwaitPushes(50);
  ASSERT_TRUE(PairAll(shards, {1, 2}).ok());
  crowd.AwaitPushes(50);
  shards.Kill(1);
  shards.Change([](v1::View& view) {
    DropBackup(view, 1);
    Promote(view, 1);
  });
  crowd.Tell(shards.view());
  crowd.AwaitPushes(50);
  crowd.ExpectAllOnce();
}

// Rule 18: only a view drops a backup.
TEST(ReplicasTest, WithoutItsBackupAnOwnerAcknowledgesNothingUntilAViewSaysThatItIsAlone) {
  LocalShards shards(ReplicatedJob(), 2);
  ASSERT_TRUE(PairAll(shards, {0, 1}).ok());
  Trainer trainer(shards);
  trainer.Plan(Keys(0, 20));
  ASSERT_TRUE(trainer.Push(0, -1).status.ok());
  shards.Kill(1);
  shards.Change([](v1::View& view) { Promote(view, 1); });
  trainer.SetView(shards.view());
  PushOptions patient;
  patient.stream = StreamPush{StreamId::Session(1), 1, {1, 1}, 0};
  patient.timeout = absl::Milliseconds(300);
  const PushResult waits = trainer.Push(patient, -1);
  EXPECT_FALSE(waits.status.ok()) << "its backup is gone, which no view has said";
  shards.Change([](v1::View& view) { DropBackup(view, 1); });
  const PushResult again = trainer.Push(patient, -1);
  ASSERT_TRUE(again.status.ok()) << again.status;
  EXPECT_GT(again.count(v1::OUTCOME_SETTLED), 0u) << "the push before had been carried out";
  ASSERT_TRUE(trainer.Pull().status.ok());
  EXPECT_THAT(trainer.rows, Each(2));
}

// Rule 31.
TEST(ReplicasTest, AnOwnerThatWasGivenUpAcknowledgesNothingMore) {
  LocalShards shards(ReplicatedJob(), 2);
  ASSERT_TRUE(PairAll(shards, {0, 1}).ok());
  Trainer old(shards), present(shards);
  old.Plan(Keys(0, 20));
  present.Plan(Keys(0, 20));
  ASSERT_TRUE(old.Push(0, -1).status.ok());
  shards.ChangeFor({1}, [](v1::View& view) {
    DropBackup(view, 0);
    Promote(view, 0);
  });
  present.SetView(shards.view());
  PushOptions push;
  push.stream = StreamPush{StreamId::Session(1), 1, {1, 1}, 0};
  push.timeout = absl::Milliseconds(300);
  EXPECT_FALSE(old.Push(push, -1).status.ok()) << "its backup is the owner now";
  ASSERT_TRUE(present.Push(push, -1).status.ok());
  shards.Change([](v1::View&) {});  // The old owner hears of it, too.
  ASSERT_TRUE(present.Pull().status.ok());
  EXPECT_THAT(present.rows, Each(2)) << "once each";
  EXPECT_FALSE(old.Pull().status.ok()) << "it has nothing any more";
}

TEST(ReplicasTest, WithoutALeaseNoPullIsAnswered) {
  v1::JobSpec job = ReplicatedJob();
  LocalShards shards(job, 1);
  Trainer trainer(shards);
  trainer.Plan(Keys(0, 5));
  EXPECT_TRUE(trainer.Pull().status.ok());
  LocalShard alone(job, 0, {.listen = "127.0.0.1:0"});  // Nobody has given it one.
  v1::View view = shards.view();
  *view.mutable_shards(0) = LocalShards::InfoOf(0, alone.port());
  view.mutable_epoch()->set_n(view.epoch().n() + 1);
  ASSERT_TRUE(alone.shard().BeginLoad(1).ok());
  Threads threads;
  ASSERT_TRUE(ps::LoadJob(alone.shard(), shards.LoadOrder(0), {.background = threads}).Run().ok());
  alone.SetView(view);
  trainer.SetView(view);
  const absl::Status refused = trainer.Pull().status;
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("has not heard from the chief for its lease"));
  alone.shard().SetLease(alone.shard().clock().Now() + absl::Minutes(1));
  EXPECT_TRUE(trainer.Pull().status.ok());
}

TEST(ReplicasTest, AShardThatLacksWhatAViewGivesToItSaysSo) {
  LocalShards shards(ReplicatedJob(), 2);
  v1::View view = shards.view();
  view.mutable_epoch()->set_n(view.epoch().n() + 1);
  view.set_owners(0, 1);
  v1::PartitionCopy& copy = *view.add_copies();
  copy.set_partition(0);
  copy.mutable_move()->set_term(1);
  copy.mutable_move()->set_n(77);
  ASSERT_TRUE(shards.at(1).shard().SetView(view).ok());
  const absl::Status lacking = shards.at(1).shard().CheckOwned();
  EXPECT_TRUE(absl::IsDataLoss(lacking)) << lacking;
}

// ---- every policy: bits ----

struct Policy {
  const char* name;
  std::function<void(v1::JobSpec&)> set;
};

void Aggregate(v1::JobSpec& job) {
  for (v1::UpdatePolicy* policy : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
    policy->set_aggregate(3);
  }
}

void DropStale(v1::JobSpec& job) {
  for (v1::UpdatePolicy* policy : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
    policy->set_stale_gradients(v1::STALE_GRADIENTS_DROP);
    policy->set_drop_above(1);
  }
}

void Adam(v1::JobSpec& job) {
  for (v1::OptimizerSpec* optimizer :
       {job.mutable_tables(0)->mutable_optimizer(), job.mutable_tensors(0)->mutable_optimizer()}) {
    optimizer->set_kind(v1::OPTIMIZER_KIND_ADAM);
    optimizer->set_learning_rate(.01f);
    optimizer->set_beta1(.9f);
    optimizer->set_beta2(.999f);
    optimizer->set_epsilon(1e-8f);
  }
}

class ReplicaPolicies : public testing::TestWithParam<Policy> {};

TEST_P(ReplicaPolicies, ABackupGoesOnWithTheSameBits) {
  v1::JobSpec job = ReplicatedJob();
  GetParam().set(job);
  LocalShards shards(job, 3), others(job, 3);
  Trainer replicated(shards), undisturbed(others);
  const auto train = [&](uint64_t first, uint64_t last) {
    for (uint64_t step = first; step < last; ++step) {
      for (Trainer* trainer : {&replicated, &undisturbed}) {
        trainer->Plan(Keys(step % 7, 20 + step % 5));
        if (step % 3 == 0) {
          ASSERT_TRUE(trainer->Pull().status.ok());
        }
        const PushResult pushed = trainer->Push(step, .5f + static_cast<float>(step % 3));
        ASSERT_TRUE(pushed.status.ok()) << pushed.status;
      }
    }
  };
  // A copy is taken of what queues have been applied to.
  const auto flush_others = [&others] {
    ps::ReplicaWait nobody;
    for (int shard = 0; shard < others.size(); ++shard)
      (void)others.at(shard).shard().Flush(nobody);
  };
  train(0, 10);
  ASSERT_TRUE(PairAll(shards, {0, 1, 2}).ok());
  flush_others();
  train(10, 30);
  for (const int victim : {0, 1}) {
    shards.Kill(victim);
    shards.Change([victim](v1::View& view) {
      DropBackup(view, victim);
      Promote(view, victim);
      view.clear_pairs();
    });
    replicated.SetView(shards.view());
    train(30 + 20 * static_cast<uint64_t>(victim), 50 + 20 * static_cast<uint64_t>(victim));
    if (victim == 0) {
      ASSERT_TRUE(PairAll(shards, {1, 2}).ok());
      flush_others();
    }
  }
  for (LocalShards* all : {&shards, &others}) {
    for (int shard = 0; shard < all->size(); ++shard) {
      ps::ReplicaWait nobody;
      if (all->lives(shard)) (void)all->at(shard).shard().Flush(nobody);
    }
  }
  for (Trainer* trainer : {&replicated, &undisturbed}) {
    trainer->Plan(Keys(0, 40));
    ASSERT_TRUE(trainer->Pull().status.ok());
  }
  EXPECT_EQ(replicated.rows, undisturbed.rows) << "bit by bit";
  EXPECT_EQ(replicated.dense, undisturbed.dense);
  EXPECT_EQ(replicated.versions, undisturbed.versions);
}

INSTANTIATE_TEST_SUITE_P(All, ReplicaPolicies,
                         testing::Values(Policy{"Async", Adam}, Policy{"Aggregate", Aggregate},
                                         Policy{"DropStale", DropStale}),
                         [](const auto& info) { return std::string(info.param.name); });

// ---- rounds ----

constexpr int kLanes = 2;

class Lanes {
 public:
  explicit Lanes(LocalShards& shards) : shards_(shards) {
    for (int lane = 0; lane < kLanes; ++lane) runners_.emplace_back(shards, lane);
  }
  Runner& operator[](size_t lane) { return runners_[lane]; }
  void Train(int rounds) {
    for (int i = 0; i < rounds; ++i, ++trained_) {
      const auto step = static_cast<float>(trained_);
      runners_[0].Train(.3f + step, /*examples=*/1);
      runners_[1].Train(-.7f * step, /*examples=*/1);
    }
  }
  void SetView() {
    for (Runner& runner : runners_) runner.SetView(shards_.view());
  }
  std::vector<float> Everything() {
    EXPECT_EQ(runners_[0].Open(absl::Seconds(5)).answer(), v1::OpenRoundReply::ANSWER_OPEN);
    const PullResult pulled = runners_[0].Pull();
    EXPECT_TRUE(pulled.status.ok()) << pulled.status;
    std::vector<float> all = runners_[0].rows();
    all.insert(all.end(), runners_[0].dense().begin(), runners_[0].dense().end());
    return all;
  }

 private:
  LocalShards& shards_;
  std::deque<Runner> runners_;
  int trained_ = 0;
};

class ReplicaRounds : public testing::TestWithParam<int> {};

TEST_P(ReplicaRounds, GoOnAtTheBackupsInTheMiddleOfARoundBitByBit) {
  const int victim = GetParam();
  LocalShards shards(Replicated(SyncJob(kLanes)), 3), others(SyncJob(kLanes), 1);
  ASSERT_TRUE(PairAll(shards, {0, 1, 2}).ok());
  Lanes replicated(shards), undisturbed(others);
  replicated.Train(5);
  undisturbed.Train(5);
  // One lane is in, and counted; the other has staged.
  for (Lanes* lanes : {&replicated, &undisturbed}) {
    Runner& first = (*lanes)[0];
    Runner& second = (*lanes)[1];
    ASSERT_EQ(first.Open(absl::Seconds(5)).answer(), v1::OpenRoundReply::ANSWER_OPEN);
    ASSERT_EQ(second.Open(absl::Seconds(5)).answer(), v1::OpenRoundReply::ANSWER_OPEN);
    ASSERT_TRUE(first.Pull().status.ok());
    ASSERT_TRUE(first.Stage(.25f, 1).status.ok());
    ASSERT_EQ(first.Report(), v1::ReportLaneReply::ANSWER_COUNTED);
    ASSERT_TRUE(second.Pull().status.ok());
    ASSERT_TRUE(second.Stage(-.75f, 1).status.ok());
  }
  shards.Kill(victim);
  shards.Change([victim](v1::View& view) {
    DropBackup(view, victim);
    Promote(view, victim);
  });
  replicated.SetView();
  for (Lanes* lanes : {&replicated, &undisturbed}) {
    EXPECT_EQ((*lanes)[0].Report(), v1::ReportLaneReply::ANSWER_COUNTED) << "it is known";
    EXPECT_EQ((*lanes)[1].Report(), v1::ReportLaneReply::ANSWER_COUNTED);
  }
  replicated.Train(40);  // More rounds than a log keeps.
  undisturbed.Train(40);
  EXPECT_EQ(replicated.Everything(), undisturbed.Everything());
}

INSTANTIATE_TEST_SUITE_P(Victims, ReplicaRounds, testing::Values(0, 1, 2));

TEST(ReplicaRounds, AShardThatOnlyBacksUpHearsOfEveryRound) {
  LocalShards shards(Replicated(SyncJob(kLanes)), 2, 0, {}, /*owners=*/1),
      others(SyncJob(kLanes), 1);
  ASSERT_TRUE(PairAll(shards, {0, 1}).ok());
  Lanes replicated(shards), undisturbed(others);
  replicated.Train(60);
  undisturbed.Train(60);
  shards.Kill(0);
  shards.Change([](v1::View& view) { Promote(view, 0); });
  replicated.SetView();
  replicated.Train(5);
  undisturbed.Train(5);
  EXPECT_EQ(replicated.Everything(), undisturbed.Everything());
}

// ---- what a backup takes ----

class ReplicateTest : public testing::Test {
 protected:
  ReplicateTest() : shards_(ReplicatedJob(), 2) {
    TestMove move{.partitions = {0}, .from = 0, .to = 1, .replica = true};
    Announce(shards_, move);
    EXPECT_TRUE(AwaitCopies(shards_, move).ok());
    EXPECT_TRUE(AwaitEnd(shards_, move).ok());
    shards_.Change([&](v1::View& view) { Pair(view, move); });
    pair_ = shards_.view().pairs(0);
  }

  v1::ReplicateRequest Request(uint64_t first) {
    v1::ReplicateRequest request;
    request.mutable_header()->set_timeline(1);
    request.set_source(4711);
    request.set_stream(1);
    request.set_first(first);
    v1::Operation& operation = *request.add_operations();
    operation.set_partition(0);
    *operation.mutable_pair() = pair_.id();
    operation.mutable_flush();
    return request;
  }
  absl::StatusOr<v1::ReplicateReply> Take(const v1::ReplicateRequest& request) {
    return shards_.at(1).replicator().Take(request);
  }

  LocalShards shards_;
  v1::PartitionPair pair_;
};

TEST_F(ReplicateTest, OperationsAreTakenInOrderOnceAndWithoutAGap) {
  EXPECT_TRUE(absl::IsOutOfRange(Take(Request(2)).status()));
  absl::StatusOr<v1::ReplicateReply> taken = Take(Request(1));
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(taken->taken(), 1u);
  EXPECT_EQ(taken->refused_size(), 0);
  taken = Take(Request(1));
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->taken(), 1u) << "again, nothing";
  v1::ReplicateRequest later = Request(1);
  later.set_stream(2);
  EXPECT_TRUE(Take(later).ok()) << "another stream begins";
  EXPECT_TRUE(absl::IsFailedPrecondition(Take(Request(2)).status())) << "and this one is over";
}

TEST_F(ReplicateTest, AnOperationOfAnotherPairIsRefusedAndOneOfALaterViewWaits) {
  v1::ReplicateRequest old = Request(1);
  old.mutable_operations(0)->mutable_pair()->set_n(1);
  absl::StatusOr<v1::ReplicateReply> taken = Take(old);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->taken(), 1u);
  EXPECT_THAT(taken->refused(), testing::ElementsAre(1u));
  v1::ReplicateRequest early = Request(2);
  early.mutable_operations(0)->mutable_pair()->set_n(1000);
  taken = Take(early);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->taken(), 1u) << "until the view is here";
}

// The answer may be lost on its way.
TEST_F(ReplicateTest, WhatWasRefusedIsSaidAgainUntilTheOwnerHasHeardOfIt) {
  v1::ReplicateRequest refused = Request(1);
  refused.mutable_operations(0)->mutable_pair()->set_n(1);
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<v1::ReplicateReply> taken = Take(refused);
    ASSERT_TRUE(taken.ok());
    EXPECT_EQ(taken->taken(), 1u);
    EXPECT_THAT(taken->refused(), testing::ElementsAre(1u));
  }
  const absl::StatusOr<v1::ReplicateReply> next = Take(Request(2));
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(next->refused_size(), 0);
}

TEST_F(ReplicateTest, ACopyThatIsOutOfStepIsDroppedAndReported) {
  EXPECT_EQ(shards_.at(1).shard().Report().broken_pairs_size(), 0);
  Trainer trainer(shards_);
  trainer.Plan(Keys(0, 30));
  ASSERT_TRUE(trainer.Push(0, -1).status.ok());
  v1::ReplicateRequest forged = Request(1);
  v1::PushRequest push;
  push.mutable_header()->set_timeline(1);
  push.mutable_stream()->set_stream(StreamId::Task(0, 5).value);
  push.add_partitions()->set_partition(0);
  forged.mutable_operations(0)->mutable_push()->set_request(push.SerializeAsString());
  forged.mutable_operations(0)->mutable_push()->set_dense_version(1234);
  const absl::StatusOr<v1::ReplicateReply> taken = Take(forged);
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_THAT(taken->refused(), testing::ElementsAre(1u));
  const v1::ShardReport report = shards_.at(1).shard().Report();
  ASSERT_EQ(report.broken_pairs_size(), 1);
  EXPECT_EQ(report.broken_pairs(0).partition(), 0u);
  EXPECT_EQ(report.broken_pairs(0).pair().n(), pair_.id().n());
}

TEST_F(ReplicateTest, AnImpossibleRequestIsRefused) {
  v1::ReplicateRequest request = Request(0);
  EXPECT_TRUE(absl::IsInvalidArgument(Take(request).status()));
  request = Request(1);
  request.set_stream(0);
  EXPECT_TRUE(absl::IsInvalidArgument(Take(request).status()));
  request = Request(1);
  request.mutable_operations(0)->set_partition(99);
  const absl::StatusOr<v1::ReplicateReply> taken = Take(request);
  ASSERT_TRUE(taken.ok());
  EXPECT_THAT(taken->refused(), testing::ElementsAre(1u));
}

}  // namespace
}  // namespace capstan
