#include "worker/machines/runners.h"

#include <algorithm>
#include <utility>

#include "capstan/consistency/decisions.h"
#include "capstan/consistency/generation.h"
#include "capstan/consistency/job_lanes.h"
#include "capstan/consistency/stream_ledger.h"

namespace capstan::worker {
namespace {

bool AnyPart(const v1::JobSpec& job, v1::PolicyKind kind) {
  return job.dense_update().kind() == kind || job.sparse_update().kind() == kind;
}

RunnerOptions OptionsOf(const v1::JobSpec& job, const v1::Lease& lease,
                        std::vector<ShardIndex> shards) {
  return {.generation = SealedGenerationFromProto(lease.generation()),
          .shards = std::move(shards),
          // The lease of an evaluation must tell no clock.
          .ssp = lease.kind() != v1::LEASE_KIND_EVALUATION && AnyPart(job, v1::POLICY_KIND_SSP),
          .read_ahead = static_cast<int>(job.train().prefetch_batches())};
}

}  // namespace

std::unique_ptr<RunnerMachine> NewRunner(const v1::JobSpec& job, const v1::Lease& lease,
                                         std::vector<ShardIndex> shards) {
  const RunnerOptions options = OptionsOf(job, lease, std::move(shards));
  if (lease.kind() == v1::LEASE_KIND_LANE) {
    return NewLaneRunner({.options = options,
                          .lane = LaneIndex{static_cast<int32_t>(lease.lane())},
                          .has_stream = UsesStreams(job)});
  }
  const int window = std::clamp<int>(static_cast<int>(job.train().push_window()), 1,
                                     static_cast<int>(StreamLedger::kWindow));
  return NewTaskRunner({.options = options,
                        .stream = StreamId::Task(lease.data_epoch(), lease.task().index()),
                        .first_batch = lease.first_batch(),
                        .evaluation = lease.kind() == v1::LEASE_KIND_EVALUATION,
                        .push_window = window});
}

LaneTurns::Order OrderOfTurns(const v1::JobSpec& job) {
  return AddsAhead(job.dense_update()) || AddsAhead(job.sparse_update())
             ? LaneTurns::Order::kOfLanes
             : LaneTurns::Order::kOfAsking;
}

}  // namespace capstan::worker
