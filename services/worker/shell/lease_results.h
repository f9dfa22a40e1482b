// What the computed steps of a lease come to: for its machine, and for the chief beside all that
// LeaseLifecycle reports.
#ifndef CAPSTAN_WORKER_SHELL_LEASE_RESULTS_H_
#define CAPSTAN_WORKER_SHELL_LEASE_RESULTS_H_

#include <cstdint>
#include <optional>

#include "capstan/model/job_scores.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "worker/machines/runner_machine.h"
#include "worker/shell/step.h"

namespace capstan::worker {

// Thread-compatible.
class LeaseResults {
 public:
  // `job` must outlive the results.
  LeaseResults(const v1::JobSpec& job, v1::LeaseKind kind)
      : job_(job), scores_(job), evaluates_(kind == v1::LEASE_KIND_EVALUATION) {}

  // Takes in one more step that has been computed: to an evaluation it adds its logits, and else
  // the event tells its loss, as of a mean of the examples, however heavy they are.
  Computed Take(uint64_t batch, const Step& step);
  // The user's program has failed, and with it the lease.
  void Fail(const v1::UserCodeError& error) { user_code_ = error; }

  // The sums of an evaluation are told with its end alone. REQUIRES: `report` says whether the
  // lease is finished.
  void Fill(v1::LeaseReport& report) const;

 private:
  const v1::JobSpec& job_;
  const JobScores scores_;
  const bool evaluates_;
  v1::EvaluationResult evaluation_;
  bool nonfinite_loss_ = false;
  std::optional<v1::UserCodeError> user_code_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_LEASE_RESULTS_H_
