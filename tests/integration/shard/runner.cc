#include "tests/integration/shard/runner.h"

#include "capstan/consistency/generation.h"

namespace capstan {

v1::JobSpec SyncJob(uint32_t lanes, uint32_t backup_workers, uint32_t dense_width) {
  v1::JobSpec job = SmallJob(/*dim=*/2, dense_width);
  for (v1::UpdatePolicy* policy : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
    policy->set_kind(v1::POLICY_KIND_SYNC);
    policy->set_lanes(lanes);
    policy->set_backup_workers(backup_workers);
  }
  return job;
}

Runner::Runner(LocalShards& shards, int lane, uint64_t generation)
    : trainer_(shards), lane_(lane), generation_{1, generation} {
  trainer_.Plan({1, 2, 3, 4, 5, 6, 7, 8});
}

v1::OpenRoundReply Runner::Open(absl::Duration wait) {
  v1::OpenRoundRequest request;
  request.set_lane(static_cast<uint32_t>(lane_));
  ToProto(generation_, *request.mutable_generation());
  request.set_wait_seconds(absl::ToDoubleSeconds(wait));
  v1::OpenRoundReply reply = MustCall<v1::OpenRoundReply>("OpenRound", request);
  if (reply.answer() == v1::OpenRoundReply::ANSWER_OPEN) {
    round_ = reply.round();
    closed_ = *RoundCommitFromProto(reply.closed());
  }
  return reply;
}

PushResult Runner::Stage(float gradient, uint32_t examples) {
  examples_ = examples;
  return trainer_.Push(
      {.stage = StageName{LaneIndex{lane_}, generation_, Name()}, .examples = examples}, gradient);
}

v1::ReportLaneReply::Answer Runner::Report() {
  v1::ReportLaneRequest request;
  request.set_lane(static_cast<uint32_t>(lane_));
  ToProto(generation_, *request.mutable_generation());
  request.set_round(round_);
  request.set_examples(examples_);
  return MustCall<v1::ReportLaneReply>("ReportLane", request).answer();
}

v1::HoldRoundsReply Runner::Hold(bool hold, uint64_t number) {
  v1::HoldRoundsRequest request;
  request.set_hold(hold);
  request.set_number(number);
  return MustCall<v1::HoldRoundsReply>("HoldRounds", request);
}

void Runner::Train(float gradient, uint32_t examples) {
  ASSERT_EQ(Open(absl::Seconds(10)).answer(), v1::OpenRoundReply::ANSWER_OPEN);
  const PushResult staged = Stage(gradient, examples);
  ASSERT_TRUE(staged.status.ok()) << staged.status;
  ASSERT_GT(staged.count(v1::OUTCOME_STAGED), 0u);
  ASSERT_EQ(Report(), v1::ReportLaneReply::ANSWER_COUNTED);
}

}  // namespace capstan
