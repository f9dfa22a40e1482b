// Partitions of a shard come and go: with a timeline, or by moves.
#include "ps/shard/shard_contents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/metrics/registry.h"
#include "ps/partition/shard_metrics.h"
#include "tests/unit/ps/shard/one_column.h"

namespace capstan::ps {
namespace {

using testing::HasSubstr;

constexpr uint64_t kLoaded = 4;  // The timeline.
constexpr PartitionIndex kZero{0};
constexpr PartitionIndex kOne{1};

v1::JobSpec JobWithPolicy(v1::PolicyKind policy) {
  v1::JobSpec job;
  job.set_job("contents");
  job.set_partition_count(2);
  for (v1::UpdatePolicy* of : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
    of->set_kind(policy);
    if (policy == v1::POLICY_KIND_SYNC) of->set_lanes(1);
  }
  AddOneColumn(job);
  return job;
}

class ShardContentsTest : public testing::Test {
 protected:
  explicit ShardContentsTest(v1::PolicyKind policy = v1::POLICY_KIND_SYNC)
      : parts_(Catalog::Create(JobWithPolicy(policy)).value(), {ShardIndex{0}, Incarnation{7}},
               metrics_, clock_) {}

  PartitionContent Content(PartitionIndex index, uint64_t timeline = kLoaded) {
    auto content = InitialContent(parts_.catalog, index, Timeline{timeline}, parts_.slabs);
    CAPSTAN_CHECK(content.ok());
    return *std::move(content);
  }
  MovedPartition Moved(PartitionIndex index, uint64_t timeline = kLoaded) {
    return {.timeline = Timeline{timeline}, .content = Content(index, timeline), .passed = {}};
  }
  // The timeline is served, with partition 0.
  void ServeZero(const RoundsStart& rounds = {}) {
    ASSERT_EQ(contents_.BeginLoad(kLoaded), absl::OkStatus());
    contents_.Load(kZero, Content(kZero));
    ASSERT_EQ(contents_.Serve(kLoaded, rounds), absl::OkStatus());
  }
  // What the coordinator answers to whoever reports the end of the only lane's data.
  absl::Status AskCoordinator(uint64_t timeline = kLoaded) {
    v1::ReportLaneRequest report;
    report.mutable_header()->set_timeline(timeline);
    report.set_end_of_data(true);
    ReplicaWait nobody;
    return parts_.coordinator.Report(report, nobody).status();
  }
  // A view of this or a later timeline.
  void Hear(uint64_t timeline) {
    v1::View view;
    view.mutable_epoch()->set_term(1);
    view.mutable_epoch()->set_n(timeline);
    view.set_timeline(timeline);
    ASSERT_TRUE(parts_.view.Take(view).ok());
  }

  FakeClock clock_;
  metrics::Registry registry_;
  ShardMetrics metrics_{registry_};
  ShardParts parts_;
  ShardContents contents_{parts_};
};

class SspContentsTest : public ShardContentsTest {
 protected:
  SspContentsTest() : ShardContentsTest(v1::POLICY_KIND_SSP) {}
};

TEST_F(ShardContentsTest, NothingIsServedUntilAllIsLoadedAndNothingWhileTheNextIs) {
  ASSERT_EQ(contents_.BeginLoad(kLoaded), absl::OkStatus());
  contents_.Load(kZero, Content(kZero));
  EXPECT_EQ(parts_.view.timeline(), 0u);
  EXPECT_TRUE(absl::IsFailedPrecondition(AskCoordinator()));
  ASSERT_EQ(contents_.Serve(kLoaded, {}), absl::OkStatus());
  EXPECT_EQ(parts_.view.timeline(), kLoaded);
  EXPECT_EQ(AskCoordinator(), absl::OkStatus());
  ASSERT_EQ(contents_.BeginLoad(kLoaded + 1), absl::OkStatus());
  EXPECT_EQ(parts_.view.timeline(), 0u);
  contents_.Unload();
  EXPECT_TRUE(parts_.partitions.empty());
  EXPECT_TRUE(absl::IsFailedPrecondition(AskCoordinator()));
}

TEST_F(ShardContentsTest, AnOrderToLoadATimelineThatIsOverIsRefusedAndEndsNothing) {
  ServeZero();
  EXPECT_TRUE(absl::IsFailedPrecondition(contents_.BeginLoad(kLoaded - 1)));
  EXPECT_TRUE(absl::IsFailedPrecondition(contents_.BeginLoad(0)));
  EXPECT_EQ(parts_.view.timeline(), kLoaded);
  EXPECT_TRUE(parts_.partitions[kZero].serves());
}

TEST_F(ShardContentsTest, ALoadThatALaterTimelineHasOvertakenServesNothing) {
  ASSERT_EQ(contents_.BeginLoad(kLoaded), absl::OkStatus());
  contents_.Load(kZero, Content(kZero));
  Hear(kLoaded + 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(contents_.Serve(kLoaded, {})));
  EXPECT_EQ(parts_.view.timeline(), 0u);
}

TEST_F(ShardContentsTest, RoundsGoOnWhereTheCheckpointHasLeftThem) {
  CoordinatorState state;
  state.last.round = 6;
  state.lanes.resize(1);
  state.lanes[0].ended = true;
  ServeZero({.passed = 6, .coordinator = state});
  EXPECT_EQ(parts_.rounds.last_round(), 6u);
  v1::OpenRoundRequest open;
  open.mutable_header()->set_timeline(kLoaded);
  v1::OpenRoundReply::Answer answer{};
  parts_.coordinator.Open(open, [&answer](const absl::StatusOr<OpenAnswer>& opened) {
    if (opened.ok()) answer = opened->answer;
  });
  EXPECT_EQ(answer, v1::OpenRoundReply::ANSWER_ENDED);
}

TEST_F(ShardContentsTest, TheCoordinatorIsWherePartitionZeroIs) {
  ASSERT_EQ(contents_.BeginLoad(kLoaded), absl::OkStatus());
  contents_.Load(kOne, Content(kOne));
  ASSERT_EQ(contents_.Serve(kLoaded, {}), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(AskCoordinator()));
  MovedPartition zero = Moved(kZero);
  zero.coordinator.emplace().lanes.resize(1);
  ASSERT_EQ(contents_.Serve(kZero, std::move(zero)), absl::OkStatus());
  EXPECT_EQ(AskCoordinator(), absl::OkStatus());
  contents_.Leave(kOne);
  EXPECT_EQ(AskCoordinator(), absl::OkStatus());
  contents_.Leave(kZero);
  EXPECT_TRUE(absl::IsFailedPrecondition(AskCoordinator()));
  EXPECT_FALSE(parts_.partitions[kZero].loaded());
}

TEST_F(ShardContentsTest, APartitionThatHasComeInAnotherTimelineIsNotTakenIn) {
  ServeZero();
  for (const uint64_t timeline : {kLoaded - 1, kLoaded + 1}) {
    const absl::Status refused = contents_.Serve(kOne, Moved(kOne, timeline));
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("partition 1 has come in timeline"));
    const ViewedStandby standby = {.id = {1, 2}};
    EXPECT_TRUE(absl::IsFailedPrecondition(contents_.Adopt(kOne, Moved(kOne, timeline), standby)));
    EXPECT_FALSE(parts_.partitions[kOne].loaded());
  }
}

TEST_F(ShardContentsTest, ABackupHasItsCopyAndServesNobody) {
  ServeZero();
  const ViewedStandby standby = {.id = {1, 2}, .owner = Incarnation{9}};
  ASSERT_EQ(contents_.Adopt(kOne, Moved(kOne), standby), absl::OkStatus());
  EXPECT_TRUE(parts_.partitions[kOne].loaded());
  EXPECT_FALSE(parts_.partitions[kOne].serves());
  EXPECT_EQ(parts_.partitions[kOne].standby(), (ViewEpoch{1, 2}));
}

TEST_F(ShardContentsTest, ThePinOfAPartitionThatWasExpectedEndsWhenItIsThere) {
  ServeZero();
  ASSERT_EQ(parts_.rounds.Pin(Timeline{kLoaded}, RoundCommit{}, [] { return false; }),
            absl::OkStatus());
  const RoundCommit closed = {.round = 1, .lanes = {{.lane = LaneIndex{0}}}};
  parts_.rounds.Learn(Timeline{kLoaded}, closed, [] { return false; });
  parts_.rounds.Forget(1);
  EXPECT_TRUE(parts_.rounds.KeepsAny()) << "the partition has yet to pass it";
  ASSERT_EQ(contents_.Serve(kOne, Moved(kOne)), absl::OkStatus());
  parts_.rounds.Forget(1);
  EXPECT_FALSE(parts_.rounds.KeepsAny());
}

TEST_F(SspContentsTest, ALaterTimelineForgetsTheClocksOfTheOneBefore) {
  ServeZero();
  parts_.clocks.TakeOver({{TrainerId{5}, 12}}, /*had_none=*/true, {1, 1});
  ASSERT_EQ(contents_.BeginLoad(kLoaded), absl::OkStatus()) << "the same, once more";
  EXPECT_THAT(parts_.clocks.Finished(), testing::SizeIs(1));
  ASSERT_EQ(contents_.BeginLoad(kLoaded + 1), absl::OkStatus());
  EXPECT_THAT(parts_.clocks.Finished(), testing::IsEmpty());
}

TEST_F(SspContentsTest, APartitionThatComesBringsTheClocksOfWhereItWas) {
  ASSERT_EQ(contents_.BeginLoad(kLoaded), absl::OkStatus());
  ASSERT_EQ(contents_.Serve(kLoaded, {}), absl::OkStatus());
  MovedPartition one = Moved(kOne);
  one.clocks = {{TrainerId{5}, 12}};
  ASSERT_EQ(contents_.Serve(kOne, std::move(one)), absl::OkStatus());
  ASSERT_THAT(parts_.clocks.Finished(), testing::SizeIs(1));
  EXPECT_EQ(parts_.clocks.Finished()[0].clock, 12u);
}

}  // namespace
}  // namespace capstan::ps
