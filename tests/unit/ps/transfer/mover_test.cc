// Orders to send partitions: begun by the view, carried out in the background, ended by a view.
#include "ps/transfer/mover.h"

#include <gmock/gmock.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "capstan/base/background.h"
#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/metrics/registry.h"
#include "ps/partition/partition_content.h"
#include "ps/partition/shard_metrics.h"
#include "ps/shard/shard.h"
#include "ps/transfer/staged_partitions.h"

namespace capstan::ps {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMovedIn = 1;          // The timeline.
constexpr uint64_t kMovers = 10;          // The incarnation of shard 0; the next one is shard 1's.
constexpr uint32_t kMovedPartitions = 2;  // Shard 0 has them, and a tensor in each.

v1::JobSpec MovedJob() {
  v1::JobSpec job;
  job.set_job("moved");
  job.set_partition_count(kMovedPartitions);
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  for (const char* name : {"a", "b"}) {
    v1::TensorSpec& tensor = *job.add_tensors();
    tensor.set_name(name);
    tensor.add_shape(2);
    tensor.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
    tensor.mutable_optimizer()->set_learning_rate(1);
  }
  return job;
}

// Time passes for those who wait, a little of it for everybody.
class PassingTime : public Background {
 public:
  explicit PassingTime(FakeClock& clock) : clock_(clock) {}
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
struct MoverNode {
  MoverNode(int index, const Clock& clock) {
    auto made = Shard::Create(
        MovedJob(), {ShardIndex{index}, Incarnation{kMovers + static_cast<uint64_t>(index)}},
        metrics, clock);
    CAPSTAN_CHECK(made.ok());
    shard = *std::move(made);
    CAPSTAN_CHECK(shard->contents().BeginLoad(kMovedIn).ok());
    for (uint32_t i = 0; index == 0 && i < kMovedPartitions; ++i) {
      const auto partition = static_cast<PartitionIndex>(i);
      auto content =
          InitialContent(shard->catalog(), partition, Timeline{kMovedIn}, shard->slabs());
      CAPSTAN_CHECK(content.ok());
      shard->contents().Load(partition, *std::move(content));
    }
    CAPSTAN_CHECK(shard->contents().Serve(kMovedIn, {}).ok());
    staged = std::make_unique<StagedPartitions>(*shard, threads);
  }

  metrics::Registry registry;
  ShardMetrics metrics{registry};
  Threads threads;
  std::unique_ptr<Shard> shard;
  std::unique_ptr<StagedPartitions> staged;
};

// Shard 0 sends partitions to shard 1, which is dead if a test says so.
class MoverTest : public ::testing::Test {
 protected:
  MoverTest() {
    mover_.emplace(*source_.shard, Mover::Backgrounds{.gentle = threads_, .hasty = threads_},
                   [this](const std::string&) { return std::make_unique<Peer>(*this); });
    Publish(ViewOf({}));
  }

  class Peer final : public MovePeer {
   public:
    explicit Peer(MoverTest& test) : test_(test) {}
    absl::StatusOr<v1::TakePartitionReply> Take(const v1::TakePartitionRequest& request,
                                                absl::FunctionRef<bool()> give_up) override {
      if (give_up()) return absl::CancelledError("given up");
      if (test_.dead_) return absl::PermissionDeniedError("not you");
      ++test_.pieces_;
      return test_.target_.staged->Take(request);
    }

   private:
    MoverTest& test_;
  };

  // Shard 0 owns both partitions, and these are on their way.
  v1::View ViewOf(const std::vector<uint32_t>& moves) {
    v1::View view;
    view.mutable_epoch()->set_term(1);
    view.mutable_epoch()->set_n(++views_);
    view.set_timeline(kMovedIn);
    for (uint32_t i = 0; i < kMovedPartitions; ++i) view.add_owners(0);
    for (uint32_t i = 0; i < 2; ++i) {
      v1::ShardInfo& shard = *view.add_shards();
      shard.set_index(i);
      shard.set_incarnation(kMovers + i);
      shard.set_address("here");
    }
    for (const uint32_t partition : moves) {
      v1::PartitionMove& move = *view.add_moves();
      move.set_partition(partition);
      move.set_to(1);
      move.set_to_incarnation(kMovers + 1);
      *move.mutable_id() = view.epoch();
    }
    return view;
  }
  void Publish(const v1::View& view) {
    for (MoverNode* node : {&source_, &target_}) {
      CAPSTAN_CHECK(node->shard->SetView(view).ok());
      node->staged->Follow();
    }
    mover_->Follow();
  }
  // The move that the view of this number has begun.
  absl::StatusOr<v1::MovePartitionsReply> Order(uint64_t move,
                                                const std::vector<uint32_t>& partitions,
                                                bool finish = false) {
    v1::MovePartitionsRequest order;
    order.mutable_header()->set_timeline(kMovedIn);
    order.mutable_id()->set_term(1);
    order.mutable_id()->set_n(move);
    order.mutable_partitions()->Add(partitions.begin(), partitions.end());
    order.set_finish(finish);
    return mover_->Order(order);
  }
  // As the chief asks.
  absl::StatusOr<v1::MovePartitionsReply> OrderUntil(uint64_t move,
                                                     const std::vector<uint32_t>& partitions,
                                                     bool finish) {
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    for (;;) {
      const auto reply = Order(move, partitions, finish);
      if (!reply.ok() || (finish ? reply->done() : reply->copied())) return reply;
      if (absl::Now() > deadline) return absl::DeadlineExceededError("it takes too long");
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
  // A gradient for the tensor of the partition.
  v1::Outcome Push(uint32_t partition, uint64_t seq) {
    const float values[] = {1, 1};
    v1::PushRequest push;
    push.mutable_header()->set_timeline(kMovedIn);
    push.mutable_stream()->set_stream(7);
    push.mutable_stream()->set_seq(seq);
    push.set_examples(1);
    v1::PartitionGradient& to = *push.add_partitions();
    to.set_partition(partition);
    v1::BlockGradient& block = *to.add_blocks();
    const auto index = static_cast<PartitionIndex>(partition);
    block.set_block(Raw(source_.shard->catalog().layout().blocks_of(index)[0]));
    block.set_values(values, sizeof(values));
    const grpc::Slice slice(push.SerializeAsString());
    const auto message = source_.shard->ReadPush(grpc::ByteBuffer(&slice, 1));
    CAPSTAN_CHECK(message.ok());
    const auto pushed = source_.shard->Push(*message);
    CAPSTAN_CHECK(pushed.ok());
    return pushed->reply.partitions(0).dense();
  }

  FakeClock clock_;
  PassingTime threads_{clock_};
  MoverNode source_{0, clock_};
  MoverNode target_{1, clock_};
  uint64_t views_ = 0;
  std::atomic<bool> dead_{false};
  std::atomic<int> pieces_{0};
  std::optional<Mover> mover_;
};

TEST_F(MoverTest, AnOrderWaitsForTheViewThatNamesItsMoveAndEndsWithIt) {
  EXPECT_TRUE(absl::IsInvalidArgument(Order(2, {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Order(2, {kMovedPartitions}).status()));
  const absl::Status early = Order(2, {0}).status();
  EXPECT_TRUE(absl::IsUnavailable(early)) << early;
  Publish(ViewOf({0}));
  EXPECT_TRUE(Order(2, {0}).ok());
  const absl::Status another = Order(2, {0, 1}).status();
  EXPECT_TRUE(absl::IsAborted(another)) << another;
  EXPECT_THAT(std::string(another.message()), HasSubstr("no move 1.2 of partition 1"));
  Publish(ViewOf({}));
  EXPECT_TRUE(absl::IsAborted(Order(2, {0}).status()));
}

TEST_F(MoverTest, WhileACheckpointIsSavedNothingIsSent) {
  ASSERT_TRUE(source_.shard->copies().Take(CopyTurn::Holder::kSave));
  Publish(ViewOf({0}));
  EXPECT_TRUE(absl::IsUnavailable(Order(2, {0}).status()));
  source_.shard->copies().Release(CopyTurn::Holder::kSave);
  ASSERT_TRUE(OrderUntil(2, {0}, /*finish=*/false).ok());
  EXPECT_FALSE(source_.shard->copies().Take(CopyTurn::Holder::kSave));
  Publish(ViewOf({}));
  EXPECT_TRUE(source_.shard->copies().Take(CopyTurn::Holder::kSave)) << "the move is over";
}

TEST_F(MoverTest, PartitionsStandStillOnlyOnceAllAreCopiedAndLeaveByTheViewAlone) {
  Publish(ViewOf({0, 1}));
  ASSERT_TRUE(OrderUntil(2, {0, 1}, /*finish=*/false).ok());
  EXPECT_EQ(Push(0, 0), v1::OUTCOME_APPLIED);
  const auto done = OrderUntil(2, {0, 1}, /*finish=*/true);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_GT(done->bytes(), 0u);
  EXPECT_GE(done->bytes_expected(), done->bytes());
  for (const uint32_t partition : {0, 1}) EXPECT_EQ(Push(partition, 1), v1::OUTCOME_BUSY);
  EXPECT_TRUE(Order(2, {0, 1}).ok()) << "an order that comes late changes nothing";
  EXPECT_EQ(Push(0, 1), v1::OUTCOME_BUSY);

  v1::View moved = ViewOf({});
  for (uint32_t partition = 0; partition < kMovedPartitions; ++partition) {
    moved.set_owners(static_cast<int>(partition), 1);
    v1::PartitionCopy& copy = *moved.add_copies();
    copy.set_partition(partition);
    copy.mutable_move()->set_term(1);
    copy.mutable_move()->set_n(2);
  }
  Publish(moved);
  for (const uint32_t partition : {0, 1}) {
    EXPECT_FALSE(source_.shard->partitions()[static_cast<PartitionIndex>(partition)].loaded());
    EXPECT_TRUE(target_.shard->partitions()[static_cast<PartitionIndex>(partition)].serves());
  }
  EXPECT_TRUE(source_.shard->copies().Take(CopyTurn::Holder::kSave));
}

TEST_F(MoverTest, AnOrderToFinishBeforeAllIsCopiedLetsNothingStandStill) {
  ASSERT_TRUE(source_.shard->copies().Take(CopyTurn::Holder::kSave));
  Publish(ViewOf({0, 1}));
  EXPECT_FALSE(Order(2, {0, 1}, /*finish=*/true).ok());
  EXPECT_EQ(Push(0, 0), v1::OUTCOME_APPLIED);
}

TEST_F(MoverTest, AfterItWasToldThatAllIsCopiedAnOrderHasWhatChangedSinceSent) {
  Publish(ViewOf({0}));
  ASSERT_TRUE(OrderUntil(2, {0}, /*finish=*/false).ok());
  const int pieces = pieces_;
  ASSERT_EQ(Push(0, 0), v1::OUTCOME_APPLIED);
  ASSERT_TRUE(OrderUntil(2, {0}, /*finish=*/false).ok());
  EXPECT_GT(pieces_.load(), pieces);
}

TEST_F(MoverTest, AMoveThatHasFailedStaysSoAndItsPartitionIsServedOn) {
  dead_ = true;
  Publish(ViewOf({0}));
  const absl::Status failed = OrderUntil(2, {0}, /*finish=*/false).status();
  EXPECT_TRUE(absl::IsAborted(failed)) << failed;
  EXPECT_THAT(std::string(failed.message()), HasSubstr("not you"));
  dead_ = false;
  EXPECT_EQ(Order(2, {0}).status(), failed);
  EXPECT_EQ(Push(0, 0), v1::OUTCOME_APPLIED);
  Publish(ViewOf({}));
  Publish(ViewOf({0}));
  EXPECT_TRUE(OrderUntil(4, {0}, /*finish=*/true).ok()) << "another one is another one";
}

TEST_F(MoverTest, AViewWithoutTheMoveLetsWhatStandsStillGoOn) {
  Publish(ViewOf({0}));
  ASSERT_TRUE(OrderUntil(2, {0}, /*finish=*/false).ok());
  ASSERT_TRUE(OrderUntil(2, {0}, /*finish=*/true).ok());
  ASSERT_EQ(Push(0, 0), v1::OUTCOME_BUSY);
  Publish(ViewOf({}));
  EXPECT_EQ(Push(0, 0), v1::OUTCOME_APPLIED);
  EXPECT_THAT(source_.registry.Text(), HasSubstr("\n"
                                                 "capstan_move_frozen_seconds_count 1\n"));
}

}  // namespace
}  // namespace capstan::ps
