// A partition while a copy of it is read: what the copy holds, and when updates wait.
#include <gmock/gmock.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "capstan/base/check.h"
#include "capstan/checkpoint/partition_encoder.h"
#include "capstan/checkpoint/partition_file.h"
#include "capstan/metrics/registry.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/machine_state.h"
#include "ps/partition/partition.h"
#include "tests/unit/ps/shard/one_column.h"

namespace capstan::ps {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr Timeline kTimeline{1};
constexpr absl::Time kCopiedAt = absl::UnixEpoch();

// One partition with a table of one column, from 0, SGD with rate 1.
v1::JobSpec Job(v1::PolicyKind policy) {
  v1::JobSpec job;
  job.set_job("copies");
  job.set_partition_count(1);
  job.mutable_sparse_update()->set_kind(policy);
  job.mutable_sparse_update()->set_lanes(2);
  job.mutable_dense_update()->set_kind(policy);
  job.mutable_dense_update()->set_lanes(2);
  AddOneColumn(job);
  return job;
}

std::vector<std::pair<uint64_t, float>> RowsIn(const PartitionStore& store) {
  std::vector<std::pair<uint64_t, float>> rows;
  store.tables()[0]->ForEachRow(
      [&](const RowState& row) { rows.emplace_back(row.key, row.state[0]); });
  return rows;
}

// A partition that is pushed to.
class Subject {
 public:
  explicit Subject(v1::PolicyKind policy)
      : catalog_(*Catalog::Create(Job(policy))),
        metrics_(registry_),
        partition_(PartitionIndex{0}, {catalog_, rounds_, counted_, metrics_, slabs_, kept_}) {
    absl::StatusOr<PartitionContent> content =
        InitialContent(catalog_, PartitionIndex{0}, kTimeline, slabs_);
    CAPSTAN_CHECK(content.ok());
    partition_.Load(*std::move(content));
    rounds_.Reset(kTimeline, 0);
  }

  // A gradient of -1 for the key's row.
  v1::Outcome Push(uint64_t key, uint64_t seq) {
    v1::PushRequest push = Gradient(key);
    push.mutable_stream()->set_stream(7);
    push.mutable_stream()->set_seq(seq);
    push.mutable_stream()->set_low_watermark(seq);
    return Send(push);
  }

  // Both lanes' gradients for the key's row, and the round is closed with them. The round that the
  // partition has passed.
  uint64_t DoRound(uint64_t round, uint64_t key) { return CloseRound(StageRound(round, key)); }

  RoundCommit StageRound(uint64_t round, uint64_t key) {
    RoundCommit set{.round = round, .lanes = {}};
    for (uint32_t lane : {0, 1}) {
      v1::PushRequest push = Gradient(key);
      push.mutable_stage()->set_lane(lane);
      push.mutable_stage()->mutable_generation()->set_count(1 + lane);
      push.mutable_stage()->set_round(round);
      EXPECT_EQ(Send(push), v1::OUTCOME_STAGED);
      set.lanes.push_back({.lane = LaneIndex{static_cast<int32_t>(lane)},
                           .generation = {0, 1 + lane},
                           .examples = 1});
    }
    return set;
  }
  uint64_t CloseRound(const RoundCommit& set) {
    rounds_.Learn(kTimeline, set, [] { return false; });
    return partition_.CatchUp(kCopiedAt);
  }

  std::vector<std::pair<uint64_t, float>> ReadCopy(const PartitionCopy& copy) {
    PartitionEncoder encoder({.partition_count = 1,
                              .timeline = Raw(kTimeline),
                              .machine = EncodeMachineState(copy.state)});
    while (encoder.Prepare()) {
      EXPECT_TRUE(partition_.ReadCopy([&](PartitionStore& store) { encoder.Read(store); }));
    }
    const auto decoded = DecodePartition(std::move(encoder).TakeRest(), catalog_.job(),
                                         catalog_.layout(), PartitionIndex{0});
    CAPSTAN_CHECK(decoded.ok());
    return RowsIn(*decoded->store);
  }

  Partition& partition() { return partition_; }
  KeptBytes& kept() { return kept_; }
  std::string metrics() const { return registry_.Text(); }

 private:
  static v1::PushRequest Gradient(uint64_t key) {
    constexpr float kGradient = -1;
    v1::PushRequest push;
    push.mutable_header()->set_timeline(Raw(kTimeline));
    push.set_examples(1);
    v1::TableGradient& rows = *push.add_partitions()->add_tables();
    rows.set_table(1);
    rows.set_keys(&key, sizeof(key));
    rows.set_values(&kGradient, sizeof(kGradient));
    return push;
  }

  v1::Outcome Send(const v1::PushRequest& push) {
    const grpc::Slice slice(push.SerializeAsString());
    const auto message =
        PushMessage::Read(grpc::ByteBuffer(&slice, 1), catalog_, waiting_.TryHold(slice.size()));
    CAPSTAN_CHECK(message.ok());
    ReplicaWait nobody;
    return partition_.Push(*message, 0, /*progress_examples=*/0, kCopiedAt, nobody).sparse();
  }

  metrics::Registry registry_;
  const Catalog catalog_;
  ByteBudget waiting_;
  Rounds rounds_;
  CountedLanes counted_;
  ShardMetrics metrics_;
  SlabArena slabs_;
  KeptBytes kept_;
  Partition partition_;
};

TEST(PartitionCopyTest, HoldsTheRowsOfItsMomentWhateverIsPushedMeanwhile) {
  Subject subject(v1::POLICY_KIND_ASYNC);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_APPLIED);
  const auto copy = subject.partition().BeginCopy({.timeline = kTimeline}, kCopiedAt);
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/1), v1::OUTCOME_APPLIED);
  EXPECT_EQ(subject.Push(/*key=*/4, /*seq=*/2), v1::OUTCOME_APPLIED);
  EXPECT_THAT(subject.ReadCopy(*copy), UnorderedElementsAre(Pair(3, 1)));
  subject.partition().SettleCopy("", kCopiedAt);
  const auto later = subject.partition().BeginCopy({.timeline = kTimeline}, kCopiedAt);
  EXPECT_THAT(subject.ReadCopy(*later), UnorderedElementsAre(Pair(3, 2), Pair(4, 1)));
  subject.partition().SettleCopy("", kCopiedAt);
}

TEST(PartitionCopyTest, OfARoundHoldsNothingOfTheNext) {
  Subject subject(v1::POLICY_KIND_SYNC);
  EXPECT_EQ(subject.DoRound(1, /*key=*/3), 1u);
  const auto copy = subject.partition().BeginCopy({.timeline = kTimeline}, kCopiedAt);
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(subject.DoRound(2, /*key=*/3), 2u);
  EXPECT_EQ(subject.DoRound(3, /*key=*/4), 3u);
  EXPECT_THAT(subject.ReadCopy(*copy), UnorderedElementsAre(Pair(3, 1)));
  subject.partition().SettleCopy("", kCopiedAt);
  const auto later = subject.partition().BeginCopy({.timeline = kTimeline}, kCopiedAt);
  EXPECT_THAT(subject.ReadCopy(*later), UnorderedElementsAre(Pair(3, 2), Pair(4, 1)));
  subject.partition().SettleCopy("", kCopiedAt);
}

TEST(PartitionCopyTest, UpdatesWaitAndAreCountedWhenTheShardKeepsTooMuchForCopies) {
  Subject subject(v1::POLICY_KIND_ASYNC);
  subject.kept().SetLimit(1);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_APPLIED);
  const auto copy = subject.partition().BeginCopy({.timeline = kTimeline}, kCopiedAt);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/1), v1::OUTCOME_APPLIED) << "nothing was kept yet";
  EXPECT_GT(subject.kept().bytes(), 0);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/2), v1::OUTCOME_BUSY);
  EXPECT_EQ(subject.Push(/*key=*/4, /*seq=*/2), v1::OUTCOME_BUSY);
  EXPECT_THAT(subject.metrics(), HasSubstr("capstan_checkpoint_held_back_partitions_total 1\n"));
  EXPECT_THAT(subject.ReadCopy(*copy), UnorderedElementsAre(Pair(3, 1)));

  subject.partition().EndCopy(kCopiedAt);
  EXPECT_EQ(subject.kept().bytes(), 0);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/2), v1::OUTCOME_APPLIED);
  subject.partition().SettleCopy("", kCopiedAt);
}

TEST(PartitionCopyTest, ARoundThatIsClosedWhileUpdatesWaitIsAppliedAfterwards) {
  Subject subject(v1::POLICY_KIND_SYNC);
  subject.kept().SetLimit(1);
  EXPECT_EQ(subject.DoRound(1, /*key=*/3), 1u);
  const auto copy = subject.partition().BeginCopy({.timeline = kTimeline}, kCopiedAt);
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(subject.DoRound(2, /*key=*/3), 2u) << "nothing was kept yet";
  EXPECT_EQ(subject.DoRound(3, /*key=*/3), 2u) << "it is closed, and waits";
  EXPECT_THAT(subject.ReadCopy(*copy), UnorderedElementsAre(Pair(3, 1)));
  subject.partition().SettleCopy("", kCopiedAt);
  const auto later = subject.partition().BeginCopy({.timeline = kTimeline}, kCopiedAt);
  EXPECT_THAT(subject.ReadCopy(*later), UnorderedElementsAre(Pair(3, 3)));
  subject.partition().SettleCopy("", kCopiedAt);
}

TEST(PartitionCopyTest, ARoundThatWaitsForACopyIsCommittedLater) {
  Subject subject(v1::POLICY_KIND_SYNC);
  subject.kept().SetLimit(1);
  EXPECT_EQ(subject.DoRound(1, /*key=*/3), 1u);
  ASSERT_TRUE(subject.partition().BeginCopy({.timeline = kTimeline}, kCopiedAt).has_value());
  EXPECT_EQ(subject.DoRound(2, /*key=*/3), 2u) << "nothing was kept yet";
  EXPECT_EQ(subject.DoRound(3, /*key=*/3), 2u);
  ReplicaWait nobody;
  EXPECT_TRUE(absl::IsUnavailable(subject.partition().CommitRound(3, kCopiedAt, nobody)));
  subject.partition().EndCopy(kCopiedAt);
  EXPECT_TRUE(subject.partition().CommitRound(3, kCopiedAt, nobody).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(subject.partition().CommitRound(5, kCopiedAt, nobody)));
  subject.partition().SettleCopy("", kCopiedAt);
}

// As at a barrier that a lane kept waiting: the round was open when its shard saved the last time.
TEST(PartitionCopyTest, ARoundThatWasStagedBeforeItsShardLeavesMayEnd) {
  Subject subject(v1::POLICY_KIND_SYNC);
  const RoundCommit set = subject.StageRound(1, /*key=*/3);
  const auto copy =
      subject.partition().BeginCopy({.timeline = kTimeline, .close = true}, kCopiedAt);
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(subject.CloseRound(set), 1u);
  EXPECT_THAT(subject.ReadCopy(*copy), testing::IsEmpty());
  subject.partition().SettleCopy("1-a", kCopiedAt);
}

TEST(PartitionCopyTest, AShardThatLeavesTakesGradientsAgainWhenItCouldNotBeSaved) {
  Subject subject(v1::POLICY_KIND_ASYNC);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_APPLIED);
  const auto save_as = [&](const std::string& id) {
    ASSERT_TRUE(subject.partition().BeginCopy({.timeline = kTimeline, .close = true}, kCopiedAt));
    EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/1), v1::OUTCOME_BUSY);
    subject.partition().SettleCopy(id, kCopiedAt);
  };
  save_as("");
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/1), v1::OUTCOME_APPLIED);
  save_as("1-a");
  save_as("");
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/2), v1::OUTCOME_BUSY) << "it may leave with 1-a";
}

TEST(PartitionCopyTest, AShardThatWasSavedToLeaveAndStaysTakesGradientsFromTheNextCopyOn) {
  Subject subject(v1::POLICY_KIND_ASYNC);
  ASSERT_TRUE(subject.partition().BeginCopy({.timeline = kTimeline, .close = true}, kCopiedAt));
  subject.partition().SettleCopy("1-a", kCopiedAt);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_BUSY);
  ASSERT_TRUE(subject.partition().BeginCopy({.timeline = kTimeline}, kCopiedAt));
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_APPLIED);
  subject.partition().SettleCopy("", kCopiedAt);
  EXPECT_EQ(subject.Push(/*key=*/3, /*seq=*/1), v1::OUTCOME_APPLIED);
}

}  // namespace
}  // namespace capstan::ps
