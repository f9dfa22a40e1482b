// What is written into the trace about rounds, by which they are replayed.
#include "ps/partition/traced_rounds.h"

#include <gmock/gmock.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "capstan/base/check.h"
#include "tests/unit/ps/partition/trace_file.h"

namespace capstan::ps {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Lanes 0 and 2 of a round, and their runners.
RoundCommit TracedCommit(uint64_t round) {
  return {.round = round,
          .lanes = {{.lane = LaneIndex{0}, .generation = {1, 4}, .examples = 8},
                    {.lane = LaneIndex{2}, .generation = {1, 7}, .examples = 8}}};
}

class TracedRoundsTest : public testing::Test {
 protected:
  TraceFile trace_;
};

TEST_F(TracedRoundsTest, TheCoordinatorTellsWithWhatItBegins) {
  v1::UpdatePolicy policy;
  policy.set_lanes(3);
  policy.set_backup_workers(1);
  TraceCoordinates(/*timeline=*/2, policy, /*closed=*/5);
  EXPECT_THAT(trace_.News(), ElementsAre(R"("event":"coordinates","timeline":2,"lanes":3,)"
                                         R"("backup_workers":1,"closed":5})"));
}

TEST_F(TracedRoundsTest, AReportIsTracedIfItCounts) {
  v1::ReportLaneRequest report;
  report.set_round(6);
  report.set_lane(2);
  report.mutable_generation()->set_term(1);
  report.mutable_generation()->set_count(7);
  TraceReported(report, v1::ReportLaneReply::ANSWER_OLD_GENERATION);
  EXPECT_THAT(trace_.News(), IsEmpty());
  TraceReported(report, v1::ReportLaneReply::ANSWER_COUNTED);
  report.set_end_of_data(true);
  TraceReported(report, v1::ReportLaneReply::ANSWER_COUNTED);
  EXPECT_THAT(trace_.News(),
              ElementsAre(R"("event":"counted","round":6,"lane":2,"term":1,"count":7})",
                          R"("event":"ended","round":6,"lane":2,"term":1,"count":7})"));
}

TEST_F(TracedRoundsTest, ARoundIsClosedOnceAndOpenToThoseThatAreAnsweredSo) {
  OpenAnswer open;
  open.answer = v1::OpenRoundReply::ANSWER_OPEN;
  open.round = 7;
  open.lane = LaneIndex{2};
  open.generation = {1, 7};
  OpenAnswer wait = open;
  wait.answer = v1::OpenRoundReply::ANSWER_WAIT;
  const CoordinatorAnswers answers = {
      {WaiterId{1}, open}, {WaiterId{2}, wait}, {WaiterId{3}, NewsAnswer{}}};
  const std::string opened = R"("event":"opened","round":7,"lane":2,"term":1,"count":7})";
  TraceOpenRound(/*before=*/6, TracedCommit(6), answers);
  EXPECT_THAT(trace_.News(),
              ElementsAre(R"("event":"closed","round":6,"lanes":"0:1.4 2:1.7"})", opened));
  TraceOpenRound(/*before=*/7, TracedCommit(6), answers);
  EXPECT_THAT(trace_.News(), ElementsAre(opened)) << "round 7 is still open";
}

TEST_F(TracedRoundsTest, APullIsTracedIfItIsOfARound) {
  v1::PullRequest pull;
  pull.mutable_header()->set_trainer(11);
  TracePulled(PartitionIndex{3}, pull, /*passed=*/6);
  pull.set_round(7);
  pull.set_evaluation(true);
  TracePulled(PartitionIndex{3}, pull, /*passed=*/6);
  EXPECT_THAT(trace_.News(), IsEmpty());
  pull.set_evaluation(false);
  TracePulled(PartitionIndex{3}, pull, /*passed=*/6);
  EXPECT_THAT(trace_.News(), ElementsAre(R"("event":"pulled","partition":3,"round":7,)"
                                         R"("passed":6,"trainer":11})"));
}

TEST_F(TracedRoundsTest, APushIsTracedIfEitherOfItsPartsWasStaged) {
  v1::JobSpec job;
  job.set_job("traced");
  job.set_partition_count(1);
  for (v1::UpdatePolicy* policy : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
    policy->set_kind(v1::POLICY_KIND_SYNC);
    policy->set_lanes(3);
  }
  const Catalog catalog = *Catalog::Create(job);
  v1::PushRequest push;
  push.mutable_header()->set_trainer(11);
  push.mutable_stage()->set_round(7);
  push.mutable_stage()->set_lane(2);
  push.mutable_stage()->mutable_generation()->set_term(1);
  push.mutable_stage()->mutable_generation()->set_count(7);
  push.add_partitions();
  const grpc::Slice slice(push.SerializeAsString());
  const auto message = PushMessage::Read(grpc::ByteBuffer(&slice, 1), catalog, nullptr);
  CAPSTAN_CHECK(message.ok());
  v1::PartitionOutcome outcome;
  outcome.set_dense(v1::OUTCOME_SETTLED);
  TraceStaged({*message, 0}, outcome);
  EXPECT_THAT(trace_.News(), IsEmpty());
  outcome.set_sparse(v1::OUTCOME_STAGED);
  TraceStaged({*message, 0}, outcome);
  EXPECT_THAT(trace_.News(), ElementsAre(R"("event":"staged","partition":0,"round":7,"lane":2,)"
                                         R"("term":1,"count":7,"trainer":11})"));
}

TEST_F(TracedRoundsTest, GradientsThatAreAddedAheadAreTracedInTheirOrder) {
  Decision decision;
  Addition& first = decision.additions.emplace_back();
  first.lane = LaneIndex{0};
  first.generation = {1, 4};
  Addition& second = decision.additions.emplace_back();
  second.lane = LaneIndex{2};
  second.generation = {1, 7};
  TraceAdded(PartitionIndex{3}, /*round=*/7, decision);
  EXPECT_THAT(
      trace_.News(),
      ElementsAre(R"("event":"added","partition":3,"round":7,"lane":0,"term":1,"count":4})",
                  R"("event":"added","partition":3,"round":7,"lane":2,"term":1,"count":7})"));
}

TEST_F(TracedRoundsTest, EachRoundThatIsPassedIsTracedWithTheGradientsOfItsLargerPart) {
  Decision decision;
  for (const uint32_t added : {1u, 0u}) {  // Of the two parts in round 6; nothing in round 7.
    Update& update = decision.updates.emplace_back();
    update.round = 6;
    update.added = added;
    update.contributions.resize(1);
  }
  const std::vector<RoundCommit> commits = {TracedCommit(5), TracedCommit(6), TracedCommit(7),
                                            TracedCommit(8)};
  TracePassed(PartitionIndex{3}, /*before=*/5, /*after=*/7, commits, decision);
  EXPECT_THAT(trace_.News(), ElementsAre(R"("event":"passed","partition":3,"round":6,)"
                                         R"("lanes":"0:1.4 2:1.7","gradients":2})",
                                         R"("event":"passed","partition":3,"round":7,)"
                                         R"("lanes":"0:1.4 2:1.7","gradients":0})"));
}

}  // namespace
}  // namespace capstan::ps
