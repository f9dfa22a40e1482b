// What a step pulls from a shard and pushes to it, in the form that PsClient takes. Both objects
// hold pointers into the step and into themselves, so each must live as long as its call.
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

// Longer than any wait that a shard imposes by policy: a shard answers such a call in time, with
// "again".
inline constexpr absl::Duration kPullTimeout = absl::Seconds(15);
inline constexpr absl::Duration kPushTimeout = absl::Seconds(15);

// Confined to the event loop.
class StepPull {
 public:
  // Asks for versions of rows if gradients are judged by them, except to evaluate; asks for the
  // tensors that never change if `frozen`. REQUIRES: the step has room for all tensors
  // (StepPool::Lend).
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
  // Where shards compensate for staleness, the pulled parameters go with the gradient that was
  // computed from them. REQUIRES: the step is computed, or the push is empty.
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
