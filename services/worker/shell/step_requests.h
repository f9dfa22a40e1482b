// What a step pulls from a shard and pushes to it, as its client takes that. Both point into the
// step and into themselves, so each lives as long as its call does.
#ifndef CAPSTAN_WORKER_SHELL_STEP_REQUESTS_H_
#define CAPSTAN_WORKER_SHELL_STEP_REQUESTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "capstan/client/ps_client.h"
#include "capstan/consistency/job_progress.h"
#include "capstan/v1/job.pb.h"
#include "worker/machines/runner_machine.h"
#include "worker/shell/step.h"

namespace capstan::worker {

// Longer than any wait that a shard imposes by policy: those are answered in time with "again".
inline constexpr absl::Duration kPullTimeout = absl::Seconds(15);
inline constexpr absl::Duration kPushTimeout = absl::Seconds(15);

// Confined to the event loop.
class StepPull {
 public:
  // Versions of rows are asked for where gradients are judged by them, and never to evaluate;
  // tensors that never change if `frozen`.
  // REQUIRES: the step has room for all tensors (StepPool::LendDense).
  StepPull(const v1::JobSpec& job, std::shared_ptr<Step> step, const SendPull& action, bool frozen);
  StepPull(const StepPull&) = delete;
  StepPull& operator=(const StepPull&) = delete;

  const SendPull& action() const { return action_; }
  const RequestPlan& plan() const { return step_->plan; }
  const PullOptions& options() const { return options_; }
  const PullTarget& target() const { return target_; }

 private:
  const std::shared_ptr<Step> step_;  // Shared with the lease's runner and other calls.
  const SendPull action_;
  std::vector<float*> rows_;
  std::vector<uint32_t*> versions_;
  PullOptions options_;
  PullTarget target_;
};

// Confined to the event loop.
class StepPush {
 public:
  // What the gradient was computed from goes with it where shards compensate for staleness.
  // REQUIRES: the step is computed, or the push is empty.
  StepPush(const v1::JobSpec& job, std::shared_ptr<Step> step, const SendPush& action,
           const JobProgress& progress);
  StepPush(const StepPush&) = delete;
  StepPush& operator=(const StepPush&) = delete;

  const SendPush& action() const { return action_; }
  const RequestPlan& plan() const { return step_->plan; }
  const PushOptions& options() const { return options_; }
  const PushSource& source() const { return source_; }

 private:
  const std::shared_ptr<Step> step_;  // Shared with the lease's runner and other calls.
  const SendPush action_;
  std::vector<const float*> rows_;
  std::vector<const float*> pulled_rows_;
  std::vector<const uint32_t*> versions_;
  PushOptions options_;
  PushSource source_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_STEP_REQUESTS_H_
