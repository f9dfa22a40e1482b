#include "worker/session/lease_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/lib/no_tasks.h"

namespace capstan::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr uint64_t kTwoLanesAtATime = uint64_t{1} << 30;  // Bytes of the dense parameters.
constexpr uint64_t kBatchBytes = 1000;                    // So many may be read ahead.

// What a shell was asked for. It outlives the shell.
struct Asked {
  std::vector<uint64_t> reads;
  std::vector<SendPull> pulls;
  std::vector<SendOpen> opens;
  std::vector<uint64_t> computed;
  std::vector<SendPush> pushes;
  std::vector<SendReport> reports;
  std::optional<uint64_t> read_to_end;
  bool destroyed = false;
};

// Notes what it is asked for, and answers only what a test has it answer.
class FakeShell final : public LeaseShell {
 public:
  FakeShell(Asked& asked, const v1::View& view) : asked_(asked), view_(view) {}
  ~FakeShell() override { asked_.destroyed = true; }

  void Begin(LeaseEvents& events) override { events_ = &events; }
  absl::Time Now() const override { return absl::UnixEpoch(); }
  double Random() override { return 0; }
  const v1::View& view() const override { return view_; }
  TasksRead& tasks() override { return tasks_; }

  void Do(const ReadBatch& action) override { asked_.reads.push_back(action.batch); }
  void Do(const SendPull& action) override { asked_.pulls.push_back(action); }
  void Do(const Compute& action) override { asked_.computed.push_back(action.batch); }
  void Do(const SendPush& action) override { asked_.pushes.push_back(action); }
  void Do(const SendClock&) override {}
  void Do(const SendReport& action) override { asked_.reports.push_back(action); }
  void Do(const Forget& action) override { shards.erase(action.batch); }
  void Open(const SendOpen& action, absl::Time, std::optional<WaitingTurns::Turn> turn) override {
    asked_.opens.push_back(action);
    if (turn) turns_.push_back(*std::move(turn));
  }

  std::vector<BatchRead> Replan() override {
    std::vector<BatchRead> replanned;
    for (const auto& [batch, on] : shards) {
      replanned.push_back({.batch = batch, .shards = {on.begin(), on.end()}});
    }
    return replanned;
  }
  bool Needs(uint64_t batch, ShardIndex shard) const override {
    return shards.contains(batch) && shards.at(batch).contains(shard);
  }
  void Extend(const v1::Lease&) override {}
  void ReadToEnd(uint64_t batches) override { asked_.read_to_end = batches; }
  void OnHandled(const Event&, const RunnerMachine&) override {}
  void OnFinished(bool) override {}
  void AddResults(v1::LeaseReport& report) const override { report.set_nonfinite_loss(true); }

  LeaseEvents& events() { return *events_; }
  // Answers the read of `batch`, which has parameters on the shards `on`.
  void Answer(uint64_t batch, std::set<ShardIndex> on) {
    shards[batch] = on;
    events_->Deliver(BatchRead{
        .batch = batch, .examples = 4, .shards = {on.begin(), on.end()}, .bytes = kBatchBytes});
  }
  // Opens round 1 for the lane, which computes batch 0 in it.
  void AnswerOpen() {
    events_->Deliver(OpenDone{.ticket = asked_.opens.back().ticket,
                              .answer = v1::OpenRoundReply::ANSWER_OPEN,
                              .round = 1});
  }

  std::map<uint64_t, std::set<ShardIndex>> shards;  // By batch.

 private:
  Asked& asked_;
  const v1::View& view_;
  LeaseEvents* events_ = nullptr;
  NoTasks tasks_;
  std::vector<WaitingTurns::Turn> turns_;
};

// One lease, its runner and its shell.
struct Work {
  Asked asked;
  FakeShell* shell = nullptr;  // The runner owns it.
  std::unique_ptr<LeaseRunner> runner;
};

class LeaseRunnerTest : public ::testing::Test {
 protected:
  explicit LeaseRunnerTest(LaneTurns::Order order = LaneTurns::Order::kOfAsking)
      : turns_(kTwoLanesAtATime, order) {
    SetOwners({0, 1});
  }

  void SetOwners(const std::vector<uint32_t>& owners) {
    view_.mutable_owners()->Assign(owners.begin(), owners.end());
    view_.clear_shards();
    for (uint32_t index : std::set<uint32_t>(owners.begin(), owners.end())) {
      view_.add_shards()->set_index(index);
    }
  }

  std::unique_ptr<Work> Begin(const v1::Lease& lease) {
    auto work = std::make_unique<Work>();
    auto shell = std::make_unique<FakeShell>(work->asked, view_);
    work->shell = shell.get();
    work->runner = std::make_unique<LeaseRunner>(job_, lease, shared_, std::move(shell));
    return work;
  }
  std::unique_ptr<Work> BeginTask() {
    v1::Lease lease;
    lease.set_kind(v1::LEASE_KIND_TASK);
    return Begin(lease);
  }
  std::unique_ptr<Work> BeginLane(uint32_t lane) {
    v1::Lease lease;
    lease.set_kind(v1::LEASE_KIND_LANE);
    lease.set_lane(lane);
    return Begin(lease);
  }
  // A lane whose first batch has been read and whose round is open, so that it wants to pull.
  std::unique_ptr<Work> BeginPulling(uint32_t lane) {
    std::unique_ptr<Work> work = BeginLane(lane);
    AskForATurn(*work);
    return work;
  }
  static void AskForATurn(Work& work) {
    work.shell->AnswerOpen();
    work.shell->Answer(work.asked.reads.front(), {ShardIndex{0}, ShardIndex{1}});
  }

  static std::vector<ShardIndex> PulledFrom(const Work& work) {
    std::vector<ShardIndex> shards;
    for (const SendPull& pull : work.asked.pulls) shards.push_back(pull.shard);
    return shards;
  }

  const v1::JobSpec job_ = [] {
    v1::JobSpec job;
    job.mutable_train()->set_prefetch_batches(1);
    return job;
  }();
  v1::View view_;
  TrainerClock clock_;
  LaneTurns turns_;
  WaitingTurns waiting_opens_{1};
  ReadAhead read_ahead_{{.batches = 2, .bytes = kBatchBytes}};
  const SharedByLeases shared_{
      .clock = clock_, .turns = turns_, .waiting_opens = waiting_opens_, .read_ahead = read_ahead_};
};

TEST_F(LeaseRunnerTest, ATaskIsReadAtOnceAndPulledFromTheShardsOfItsBatch) {
  const auto work = BeginTask();
  ASSERT_THAT(work->asked.reads, ElementsAre(0));
  work->shell->Answer(0, {ShardIndex{1}});
  EXPECT_THAT(PulledFrom(*work), ElementsAre(ShardIndex{1}));
  EXPECT_THAT(work->asked.reads, ElementsAre(0, 1)) << "the second is read ahead";
}

TEST_F(LeaseRunnerTest, LeasesReadAheadTogetherAsMuchAsMayBeAndEachWhatItNeeds) {
  const auto first = BeginPulling(0);
  EXPECT_THAT(first->asked.reads, ElementsAre(0, 1));
  auto second = BeginPulling(1);
  EXPECT_THAT(second->asked.reads, ElementsAre(0)) << "another lane reads ahead";
  const auto task = BeginTask();
  EXPECT_THAT(task->asked.reads, ElementsAre(0)) << "what it needs is read";
  first->runner->Deliver(Revoked());
  EXPECT_THAT(second->asked.reads, ElementsAre(0, 1));
  second.reset();
  EXPECT_THAT(task->asked.reads, ElementsAre(0, 1));
}

TEST_F(LeaseRunnerTest, ALanePullsWhenItsTurnComesAndEndsItWithItsReport) {
  const auto first = BeginPulling(0);
  const auto second = BeginPulling(1);
  const auto third = BeginPulling(2);
  EXPECT_THAT(PulledFrom(*first), UnorderedElementsAre(ShardIndex{0}, ShardIndex{1}));
  EXPECT_THAT(PulledFrom(*second), UnorderedElementsAre(ShardIndex{0}, ShardIndex{1}));
  EXPECT_THAT(PulledFrom(*third), IsEmpty());

  first->runner->Deliver(Revoked());
  EXPECT_THAT(PulledFrom(*third), UnorderedElementsAre(ShardIndex{0}, ShardIndex{1}));
}

TEST_F(LeaseRunnerTest, ALeaseThatCannotBeReadLeavesItsTurnToOthersAndFails) {
  const auto first = BeginPulling(0);
  const auto second = BeginPulling(1);
  const auto third = BeginPulling(2);
  first->shell->events().OnReadFailed(absl::DataLossError("a.csv: cannot be read"));
  EXPECT_TRUE(first->runner->over());
  EXPECT_THAT(PulledFrom(*third), UnorderedElementsAre(ShardIndex{0}, ShardIndex{1}));
  const v1::LeaseReport report = first->runner->Report();
  EXPECT_EQ(report.error(), "a.csv: cannot be read");
  EXPECT_TRUE(report.bad_data());
  EXPECT_FALSE(report.finished());
}

TEST_F(LeaseRunnerTest, AStoreThatIsAwayIsNoBadData) {
  const auto work = BeginTask();
  work->shell->events().OnReadFailed(absl::UnavailableError("s3://data: no answer"));
  EXPECT_TRUE(work->runner->over());
  EXPECT_FALSE(work->runner->Report().bad_data());
}

TEST_F(LeaseRunnerTest, AReadThatFailsWhenTheLeaseIsLostIsNotNeededAnyMore) {
  const auto work = BeginTask();
  work->runner->Deliver(Revoked());
  work->shell->events().OnReadFailed(absl::DataLossError("a.csv: cannot be read"));
  EXPECT_EQ(work->runner->Report().error(), "");
  EXPECT_TRUE(work->runner->Report().returned());
}

TEST_F(LeaseRunnerTest, WhatTheProgramThrewIsToldButIsNoBadData) {
  const auto work = BeginTask();
  work->shell->Answer(0, {ShardIndex{1}});
  EXPECT_EQ(clock_.open_steps(), 1u);
  work->shell->events().OnComputeFailed(absl::InternalError("model.py:7: ValueError: no"));
  EXPECT_EQ(clock_.open_steps(), 0u) << "nobody waits for a step that will never be pushed";
  EXPECT_EQ(work->runner->Report().error(), "model.py:7: ValueError: no");
  EXPECT_FALSE(work->runner->Report().bad_data());
}

TEST_F(LeaseRunnerTest, ATaskHasReadAllOnceItKnowsItsEnd) {
  const auto work = BeginTask();
  work->shell->Answer(0, {ShardIndex{1}});
  EXPECT_FALSE(work->runner->HasReadAll());
  work->runner->Deliver(EndOfData{1});
  EXPECT_TRUE(work->runner->HasReadAll());
  EXPECT_FALSE(work->runner->over());
}

TEST_F(LeaseRunnerTest, AReportHasWhatTheShellAdds) {
  EXPECT_TRUE(BeginTask()->runner->Report().nonfinite_loss());
}

TEST_F(LeaseRunnerTest, APullThatWaitsForItsTurnGoesToTheShardsOfTheNewMapOnly) {
  const auto first = BeginPulling(0);
  const auto second = BeginPulling(1);
  const auto third = BeginPulling(2);
  SetOwners({0, 2});
  third->shell->shards[0] = {ShardIndex{0}, ShardIndex{2}};
  third->runner->OnView(/*restarted=*/{});
  first->runner->Deliver(Revoked());
  EXPECT_THAT(PulledFrom(*third), UnorderedElementsAre(ShardIndex{0}, ShardIndex{2}));
}

class LaneOrderTest : public LeaseRunnerTest {
 protected:
  LaneOrderTest() : LeaseRunnerTest(LaneTurns::Order::kOfLanes) {}
};

TEST_F(LaneOrderTest, ALaneWhoseBatchNeedsNoPullHoldsNobodyUpOnceItHasReported) {
  const auto low = BeginLane(0);
  const auto middle = BeginLane(1);
  const auto high = BeginLane(2);
  AskForATurn(*middle);
  AskForATurn(*high);
  EXPECT_THAT(PulledFrom(*middle), IsEmpty()) << "its turn comes after that of lane 0";

  low->shell->AnswerOpen();
  low->shell->Answer(0, /*on=*/{});
  ASSERT_THAT(low->asked.computed, ElementsAre(0));
  low->runner->Deliver(Computed{.batch = 0});
  ASSERT_EQ(low->asked.pushes.size(), 2u) << "it stages on every shard";
  for (const SendPush& push : std::vector<SendPush>(low->asked.pushes)) {
    low->runner->Deliver(PushDone{.ticket = push.ticket});
  }
  ASSERT_EQ(low->asked.reports.size(), 1u);
  EXPECT_THAT(PulledFrom(*middle), UnorderedElementsAre(ShardIndex{0}, ShardIndex{1}));
  EXPECT_THAT(PulledFrom(*high), UnorderedElementsAre(ShardIndex{0}, ShardIndex{1}));
}

TEST_F(LeaseRunnerTest, TheEndOfTheRunnerIsTheEndOfItsShellBeforeAnotherLaneBegins) {
  auto first = BeginPulling(0);
  const auto second = BeginPulling(1);
  const auto third = BeginPulling(2);
  first->runner.reset();
  EXPECT_TRUE(first->asked.destroyed);
  EXPECT_THAT(PulledFrom(*third), UnorderedElementsAre(ShardIndex{0}, ShardIndex{1}));
}

}  // namespace
}  // namespace capstan::worker
