// A partition on its way to another shard, step by step: what is pushed before, while and after
// each file is sent is with the target at the end, and what is left gets little before it stands
// still.
#include "ps/transfer/move_job.h"

#include <gmock/gmock.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/checkpoint/partition_encoder.h"
#include "capstan/checkpoint/partition_file.h"
#include "capstan/metrics/registry.h"
#include "ps/partition/machine_state.h"
#include "ps/partition/shard_metrics.h"
#include "ps/shard/shard.h"
#include "ps/transfer/load_job.h"
#include "ps/transfer/staged_partitions.h"

namespace capstan::ps {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr PartitionIndex kSent{0};
constexpr uint64_t kOnlyTimeline = 1;
constexpr uint32_t kDim = 64;  // Some 280 bytes a row.
constexpr uint64_t kManyRows = 2000;
constexpr uint64_t kIncarnations = 10;  // Of shard 0; the next one is of shard 1.

v1::JobSpec SentJob() {
  v1::JobSpec job;
  job.set_job("moves");
  job.set_partition_count(1);
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  v1::TableSpec& table = *job.add_tables();
  table.set_id(1);
  table.set_name("features");
  table.set_dim(kDim);
  table.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  table.mutable_optimizer()->set_learning_rate(1);
  table.add_segments()->set_width(kDim);
  table.mutable_segments(0)->set_learning_rate_scale(1);
  return job;
}

// Time passes for those who wait, a little of it for everybody.
class Waits : public Background {
 public:
  explicit Waits(FakeClock& clock) : clock_(clock) {}
  std::unique_ptr<Work> Begin(absl::AnyInvocable<void()> work) override {
    return threads_.Begin(std::move(work));
  }
  void SleepFor(absl::Duration length) override {
    clock_.Advance(length);
    absl::SleepFor(absl::Milliseconds(1));
  }

 private:
  FakeClock& clock_;
  Threads threads_;
};

// A shard without a network.
struct Node {
  Node(int index, const Clock& clock) {
    const auto place = static_cast<uint64_t>(index);
    auto made = Shard::Create(SentJob(), {ShardIndex{index}, Incarnation{kIncarnations + place}},
                              metrics, clock);
    CAPSTAN_CHECK(made.ok());
    shard = *std::move(made);
    shard->view().SetLease(absl::InfiniteFuture());
    v1::LoadPartitionsRequest order;
    order.mutable_header()->set_timeline(kOnlyTimeline);
    if (index == 0) order.add_partitions(0);
    CAPSTAN_CHECK(shard->contents().BeginLoad(kOnlyTimeline).ok());
    CAPSTAN_CHECK(LoadJob(*shard, order, {.background = threads}).Run().ok());
    staged = std::make_unique<StagedPartitions>(*shard, threads);
  }

  // A gradient of -1 for rows of these keys.
  v1::Outcome Push(uint64_t seq, uint64_t first, uint64_t count = 1) {
    v1::PushRequest push;
    push.mutable_header()->set_timeline(kOnlyTimeline);
    push.mutable_stream()->set_stream(7);
    push.mutable_stream()->set_seq(seq);
    push.set_examples(1);
    v1::TableGradient& rows = *push.add_partitions()->add_tables();
    std::vector<uint64_t> keys;
    for (uint64_t i = 0; i < count; ++i) keys.push_back(first + i);
    const std::vector<float> values(keys.size() * kDim, -1);
    rows.set_table(1);
    rows.set_keys(keys.data(), keys.size() * sizeof(uint64_t));
    rows.set_values(values.data(), values.size() * sizeof(float));
    const grpc::Slice slice(push.SerializeAsString());
    const auto message = shard->ReadPush(grpc::ByteBuffer(&slice, 1));
    CAPSTAN_CHECK(message.ok());
    const auto pushed = shard->Push(*message);
    CAPSTAN_CHECK(pushed.ok());
    return pushed->reply.partitions(0).sparse();
  }

  // What the rows are, by key; each is as many times 1.
  std::map<uint64_t, float> Rows() {
    Partition& partition = shard->partitions()[kSent];
    const absl::Time now = shard->clock().Now();
    const auto copy = partition.BeginCopy({.timeline = Timeline{kOnlyTimeline}}, now);
    CAPSTAN_CHECK(copy.has_value());
    PartitionEncoder encoder({.partition_count = 1,
                              .timeline = kOnlyTimeline,
                              .machine = EncodeMachineState(copy->state)});
    while (encoder.Prepare()) {
      CAPSTAN_CHECK(partition.ReadCopy([&](PartitionStore& store) { encoder.Read(store); }));
    }
    partition.EndCopy(now);
    partition.SettleCopy("", now);
    const auto decoded = DecodePartition(std::move(encoder).TakeRest(), shard->catalog().job(),
                                         shard->catalog().layout(), kSent);
    CAPSTAN_CHECK(decoded.ok());
    std::map<uint64_t, float> rows;
    decoded->store->tables()[0]->ForEachRow(
        [&rows](const RowState& row) { rows[row.key] = row.state[0]; });
    return rows;
  }

  metrics::Registry registry;
  ShardMetrics metrics{registry};
  Threads threads;
  std::unique_ptr<Shard> shard;
  std::unique_ptr<StagedPartitions> staged;
};

// Shard 0 sends its partition to shard 1.
class MoveJobTest : public ::testing::Test, public MovePeer {
 protected:
  MoveJobTest() { Order(); }

  v1::View ViewOf(uint32_t owner) {
    v1::View view;
    view.mutable_epoch()->set_term(1);
    view.mutable_epoch()->set_n(++views_);
    view.set_timeline(kOnlyTimeline);
    view.add_owners(owner);
    for (uint32_t i = 0; i < 2; ++i) {
      v1::ShardInfo& shard = *view.add_shards();
      shard.set_index(i);
      shard.set_incarnation(kIncarnations + i);
      shard.set_address("here");
    }
    return view;
  }
  void Publish(const v1::View& view) {
    for (Node* node : {&source_, &target_}) {
      CAPSTAN_CHECK(node->shard->SetView(view).ok());
      node->staged->Follow();
    }
  }
  // Begins a move.
  void Order() {
    v1::View view = ViewOf(0);
    move_ = {1, views_};
    v1::PartitionMove& move = *view.add_moves();
    move.set_to(1);
    move.set_to_incarnation(kIncarnations + 1);
    move.mutable_id()->set_term(1);
    move.mutable_id()->set_n(views_);
    Publish(view);
    job_ = std::make_unique<MoveJob>(
        *source_.shard, MoveJob::Means{pacer_, waits_, /*piece_bytes=*/64 << 10},
        MoveJob::Order{kSent, kOnlyTimeline, *source_.shard->view().newest()->Outgoing(kSent)});
    files_.clear();
  }
  void GiveUp() { Publish(ViewOf(0)); }
  void Switch() {
    v1::View view = ViewOf(1);
    view.add_copies()->mutable_move()->set_term(1);
    view.mutable_copies(0)->mutable_move()->set_n(move_.n);
    CAPSTAN_CHECK(target_.shard->SetView(view).ok());
    target_.staged->Follow();
  }

  absl::StatusOr<v1::TakePartitionReply> Take(const v1::TakePartitionRequest& request,
                                              absl::FunctionRef<bool()> give_up) override {
    if (give_up()) return absl::CancelledError("given up");
    if (!request.piece().empty()) files_[request.file()] += request.piece().size();
    if (request.last() && !request.piece().empty() && on_last_) on_last_(request);
    if (dead_) return absl::UnavailableError("nobody is there");
    return target_.staged->Take(request);
  }

  FakeClock clock_;
  Waits waits_{clock_};
  Pacer pacer_;
  Node source_{0, clock_};
  Node target_{1, clock_};
  uint64_t views_ = 0;
  ViewEpoch move_;
  std::unique_ptr<MoveJob> job_;
  std::map<uint32_t, size_t> files_;                              // What was sent of each.
  std::function<void(const v1::TakePartitionRequest&)> on_last_;  // Before it is taken.
  bool dead_ = false;
};

TEST_F(MoveJobTest, WhatChangesWhileItIsSentComesWithTheNextFileOrTheRest) {
  uint64_t seq = 0;
  ASSERT_EQ(source_.Push(seq++, 100), v1::OUTCOME_APPLIED);
  on_last_ = [&](const v1::TakePartitionRequest& request) {
    if (request.rest()) return;  // It stands still.
    ASSERT_EQ(source_.Push(seq++, 200 + request.file()), v1::OUTCOME_APPLIED) << "it is served";
    ASSERT_EQ(source_.Push(seq++, 100), v1::OUTCOME_APPLIED);
  };
  ASSERT_TRUE(job_->SendCopy(*this).ok());
  ASSERT_EQ(source_.Push(seq++, 300), v1::OUTCOME_APPLIED) << "between copy and delta";
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(job_->SendChanges(*this).ok());
  ASSERT_EQ(source_.Push(seq++, 400), v1::OUTCOME_APPLIED) << "between delta and rest";
  ASSERT_TRUE(job_->Freeze().ok());
  ASSERT_EQ(source_.Push(seq, 500), v1::OUTCOME_BUSY);
  ASSERT_TRUE(job_->SendRest(*this).ok());
  EXPECT_THAT(files_, SizeIs(4));
  Switch();
  EXPECT_THAT(target_.Rows(), ElementsAre(Pair(100, 4), Pair(200, 1), Pair(201, 1), Pair(202, 1),
                                          Pair(300, 1), Pair(400, 1)));
  for (uint64_t known = 0; known < seq; ++known) {
    EXPECT_EQ(target_.Push(known, 100), v1::OUTCOME_SETTLED) << "the ledger came with the rows";
  }
  EXPECT_EQ(target_.Push(seq, 500), v1::OUTCOME_APPLIED);
}

TEST_F(MoveJobTest, ADeltaHoldsWhatHasChangedAndNothingElse) {
  ASSERT_EQ(source_.Push(0, 0, kManyRows), v1::OUTCOME_APPLIED);
  ASSERT_TRUE(job_->SendCopy(*this).ok());
  ASSERT_EQ(source_.Push(1, 0, 100), v1::OUTCOME_APPLIED);
  ASSERT_TRUE(job_->SendChanges(*this).ok());
  ASSERT_EQ(source_.Push(2, 0, 10), v1::OUTCOME_APPLIED);
  ASSERT_TRUE(job_->Freeze().ok());
  ASSERT_TRUE(job_->SendRest(*this).ok());
  EXPECT_GT(files_[0], kManyRows * kDim * sizeof(float));
  EXPECT_LT(files_[1], files_[0] / 10);
  EXPECT_LT(files_[2], files_[1] / 2);
  Switch();
  std::map<uint64_t, float> rows = target_.Rows();
  EXPECT_THAT(rows, SizeIs(kManyRows));
  EXPECT_EQ(rows[0], 3);
  EXPECT_EQ(rows[50], 2);
  EXPECT_EQ(rows[kManyRows - 1], 1);
}

TEST_F(MoveJobTest, LittleIsLeftOnceADeltaIsSmallOrDoesNotShrink) {
  uint64_t seq = 0;
  const auto changes_of = [&](uint64_t rows) {
    EXPECT_EQ(source_.Push(seq++, 0, rows), v1::OUTCOME_APPLIED);
    const absl::StatusOr<bool> little = job_->SendChanges(*this);
    EXPECT_TRUE(little.ok()) << little.status();
    return little.ok() && *little;
  };
  for (uint64_t first = 0; first < 3; ++first) {
    ASSERT_EQ(source_.Push(seq++, first * kManyRows, kManyRows), v1::OUTCOME_APPLIED);
  }
  ASSERT_TRUE(job_->SendCopy(*this).ok());
  EXPECT_FALSE(changes_of(kManyRows)) << "a third of the copy";
  EXPECT_TRUE(changes_of(kManyRows)) << "as much again: so it would go on for ever";
  EXPECT_TRUE(changes_of(1));
  EXPECT_LT(files_[3], MoveJob::kFewBytes);
}

TEST_F(MoveJobTest, WhereTheTargetDiesAtADeltaTheSourceServesOnAndNothingIsLostToALaterMove) {
  ASSERT_EQ(source_.Push(0, 100), v1::OUTCOME_APPLIED);
  ASSERT_TRUE(job_->SendCopy(*this).ok());
  ASSERT_EQ(source_.Push(1, 200), v1::OUTCOME_APPLIED);
  dead_ = true;
  EXPECT_TRUE(absl::IsUnavailable(job_->SendChanges(*this).status()));
  EXPECT_EQ(source_.Push(2, 200), v1::OUTCOME_APPLIED);
  GiveUp();
  dead_ = false;
  Order();
  ASSERT_TRUE(job_->SendCopy(*this).ok());
  ASSERT_TRUE(job_->Freeze().ok());
  ASSERT_TRUE(job_->SendRest(*this).ok());
  Switch();
  EXPECT_THAT(target_.Rows(), ElementsAre(Pair(100, 1), Pair(200, 2)));
}

TEST_F(MoveJobTest, AMoveThatIsGivenUpAtADeltaLeavesAllAsItWas) {
  ASSERT_EQ(source_.Push(0, 100), v1::OUTCOME_APPLIED);
  ASSERT_TRUE(job_->SendCopy(*this).ok());
  ASSERT_EQ(source_.Push(1, 200), v1::OUTCOME_APPLIED);
  on_last_ = [this](const auto&) { GiveUp(); };
  EXPECT_FALSE(job_->SendChanges(*this).ok());
  EXPECT_TRUE(job_->IsOver());
  EXPECT_EQ(source_.Push(2, 200), v1::OUTCOME_APPLIED);
  EXPECT_THAT(source_.Rows(), ElementsAre(Pair(100, 1), Pair(200, 2)));
  EXPECT_EQ(source_.Push(2, 200), v1::OUTCOME_SETTLED);
}

TEST_F(MoveJobTest, DeltasKeepToTheRateAndTheRestDoesNot) {
  ASSERT_EQ(source_.Push(0, 0, kManyRows), v1::OUTCOME_APPLIED);
  ASSERT_TRUE(job_->SendCopy(*this).ok());
  pacer_.SetRate(100 << 10);
  const auto seconds_of = [&](auto&& send) {
    const absl::Time begun = clock_.Now();
    send();
    return absl::ToDoubleSeconds(clock_.Now() - begun);
  };
  ASSERT_EQ(source_.Push(1, 0, kManyRows), v1::OUTCOME_APPLIED);
  EXPECT_GT(seconds_of([&] { ASSERT_TRUE(job_->SendChanges(*this).ok()); }), 4);
  ASSERT_EQ(source_.Push(2, 0, kManyRows), v1::OUTCOME_APPLIED);
  ASSERT_TRUE(job_->Freeze().ok());
  EXPECT_LT(seconds_of([&] { ASSERT_TRUE(job_->SendRest(*this).ok()); }), 2);
}

}  // namespace
}  // namespace capstan::ps
