#include "chief/shell/recommended_workers.h"

#include <algorithm>
#include <cmath>

#include "capstan/base/member_states.h"
#include "capstan/consistency/job_lanes.h"

namespace capstan::chief {
namespace {

constexpr double kWantedShare = 0.8;  // The autoscaler's own default for CPU.
constexpr double kMostGrowth = 2;

uint64_t WorkersThere(const v1::GetStatusReply& status) {
  uint64_t count = 0;
  for (const v1::WorkerStatus& worker : status.workers()) {
    if (worker.state() != worker_state::kLost && worker.state() != worker_state::kDraining) ++count;
  }
  return count;
}

double BusiestShard(const v1::GetStatusReply& status) {
  double share = 0;
  for (const v1::ShardStatus& shard : status.shards()) share = std::max(share, shard.cpu_share());
  return share;
}

// Returns how many workers can have something to do at one time.
uint64_t Employable(const v1::GetStatusReply& status, const v1::JobSpec& spec) {
  const uint64_t open =
      UsesLanes(spec) ? LaneCount(spec) : status.tasks().todo() + status.tasks().doing();
  const uint64_t each = std::max(1U, spec.train().compute_threads());
  return std::max<uint64_t>(1, (open + each - 1) / each);
}

}  // namespace

uint64_t RecommendedWorkers(const v1::GetStatusReply& status, const v1::JobSpec& spec) {
  if (status.state() == v1::JOB_STATE_COMPLETED || status.state() == v1::JOB_STATE_FAILED) return 0;
  const uint64_t there = std::max<uint64_t>(1, WorkersThere(status));
  if (status.state() != v1::JOB_STATE_RUNNING) return there;
  const double growth = std::min(
      kMostGrowth, kWantedShare / std::max(BusiestShard(status), kWantedShare / kMostGrowth));
  const auto served = static_cast<uint64_t>(std::floor(static_cast<double>(there) * growth));
  return std::clamp<uint64_t>(served, 1, Employable(status, spec));
}

}  // namespace capstan::chief
