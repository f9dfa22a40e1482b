#include "capstan/plan/plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "capstan/base/divide.h"
#include "capstan/base/open_files.h"
#include "capstan/base/status.h"
#include "capstan/config/quantity.h"
#include "capstan/consistency/decisions.h"
#include "capstan/plan/fit.h"

namespace capstan {
namespace {

struct Speed {
  Traffic traffic;
  Pace pace;
};

absl::StatusOr<Speed> SpeedOf(const v1::JobSpec& job, const DataFacts& facts, const Scale& scale,
                              const Rates& rates, const BatchTime& batch) {
  Speed speed;
  CAPSTAN_ASSIGN_OR_RETURN(speed.traffic, TrafficOf(job, facts.keys_a_batch, scale.shards));
  speed.pace = PaceOf(job, speed.traffic, scale, rates, batch);
  return speed;
}

v1::JobSpec WithMoreLanes(v1::JobSpec job, const Scale& scale) {
  const uint32_t threads = job.train().compute_threads();
  const uint32_t workers = static_cast<uint32_t>(scale.workers);
  for (v1::UpdatePolicy* policy : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
    if (policy->kind() != v1::POLICY_KIND_SYNC) continue;
    if (policy->lanes() == workers) policy->set_lanes(workers + 1);
    if (policy->lanes() == workers * threads) policy->set_lanes((workers + 1) * threads);
  }
  return job;
}

// Returns the time to store a checkpoint. All shards write at once, each over its own network; on
// one machine they share its store.
double StoreSeconds(uint64_t shard_bytes, const Scale& scale) {
  const auto amount = static_cast<double>(shard_bytes);
  if (scale.one_machine) return scale.shards * amount / scale.store_bytes_per_second;
  return amount / std::min(scale.store_bytes_per_second, scale.network_bytes_per_second);
}

// Returns the size as a text that is not less when it is parsed again.
std::string EnoughText(uint64_t bytes) {
  constexpr uint64_t kMebibyte = uint64_t{1} << 20;
  constexpr uint64_t kGibibyte = uint64_t{1} << 30;
  if (bytes < 10 * kGibibyte) return absl::StrCat(DivideUp(bytes, kMebibyte), "MiB");
  return absl::StrCat(DivideUp(bytes, kGibibyte), "GiB");
}

// `takes`: what the process uses if it has `limit`; `needs`: with which memory it would fit.
void CheckMemory(const std::string& who, uint64_t takes, uint64_t needs, uint64_t limit,
                 std::vector<std::string>& refusals) {
  if (limit == 0 || takes <= limit) return;
  refusals.push_back(absl::StrCat(who, " takes ", EnoughText(needs), " at the least, and may have ",
                                  ByteSizeText(limit)));
}

void CheckMemory(const std::string& who, const ProcessMemory& memory, uint64_t limit,
                 std::vector<std::string>& refusals) {
  CheckMemory(who, memory.bytes(), memory.bytes(), limit, refusals);
}

void CheckWaiting(const v1::JobSpec& job, const Scale& scale, Plan& plan) {
  const Share& busiest = plan.traffic.busiest;
  const std::string never = NeverComplete(job, busiest, scale.shards, scale.shard_memory_bytes);
  if (!never.empty()) plan.refusals.push_back(never);
  const std::string above = WaitingAbove(job, busiest, plan.sizes.waiting_limit);
  if (above.empty() || NeedsRoomForAll(job)) return;
  plan.warnings.push_back(absl::StrCat(
      "the gradients of a round that may wait on a shard are ", above,
      " may wait: above it workers are told to come again, and rounds may take longer"));
}

// The chief has no more than a shard.
void CheckOpenFiles(const v1::JobSpec& job, const Scale& scale, Plan& plan) {
  constexpr int64_t kLowest = 1024;  // Everyone may have this many.
  const int64_t open = OpenFilesOfAShard(job, scale.workers, scale.shards);
  if (!IsNearlyFull(open, RoomForConnections(kLowest))) return;
  plan.warnings.push_back(absl::StrCat("the chief and each shard have about ", open,
                                       " files and connections open: allow each ",
                                       EnoughOpenFiles(open), " (ulimit -n)"));
}

void CheckPlan(const v1::JobSpec& job, const Scale& scale, Plan& plan) {
  CheckMemory("a shard", plan.sizes.shard.bytes(), plan.sizes.least_shard_memory,
              scale.shard_memory_bytes, plan.refusals);
  CheckMemory("a worker", plan.sizes.worker, scale.worker_memory_bytes, plan.refusals);
  CheckMemory("the chief", plan.sizes.chief, scale.chief_memory_bytes, plan.refusals);
  CheckWaiting(job, scale, plan);
  CheckOpenFiles(job, scale, plan);
  if (static_cast<uint64_t>(scale.shards) > job.partition_count()) {
    plan.refusals.push_back(absl::StrCat(scale.shards, " shards for ", job.partition_count(),
                                         " partitions: some would own nothing"));
  }
}

}  // namespace

absl::StatusOr<Plan> MakePlan(const v1::JobSpec& job, const DataFacts& facts, const Scale& scale,
                              const Rates& rates, const BatchTime& batch) {
  Plan plan;
  CAPSTAN_ASSIGN_OR_RETURN(const Speed speed, SpeedOf(job, facts, scale, rates, batch));
  plan.traffic = speed.traffic;
  plan.pace = speed.pace;
  CAPSTAN_ASSIGN_OR_RETURN(plan.sizes, SizesOf(job, plan.traffic, facts, scale, rates));
  plan.examples_per_second = plan.pace.batches_per_second * job.train().batch_size();
  plan.epoch_seconds = static_cast<double>(facts.records) / plan.examples_per_second;
  plan.store_seconds = StoreSeconds(plan.sizes.shard_checkpoint_bytes, scale);
  const double now = plan.pace.batches_per_second;
  Scale more = scale;
  ++more.workers;
  CAPSTAN_ASSIGN_OR_RETURN(const Speed by_worker,
                           SpeedOf(WithMoreLanes(job, scale), facts, more, rates, batch));
  plan.more_by_a_worker = by_worker.pace.batches_per_second / now - 1;
  more = scale;
  ++more.shards;
  CAPSTAN_ASSIGN_OR_RETURN(const Speed by_shard, SpeedOf(job, facts, more, rates, batch));
  plan.more_by_a_shard = by_shard.pace.batches_per_second / now - 1;
  CheckPlan(job, scale, plan);
  return plan;
}

}  // namespace capstan
