// What the computed steps of a lease come to: the events for its machine, and what the report to
// the chief needs beside all that LeaseLifecycle reports.
#ifndef CAPSTAN_WORKER_SHELL_LEASE_RESULTS_H_
#define CAPSTAN_WORKER_SHELL_LEASE_RESULTS_H_

#include <cstdint>
#include <optional>

#include "capstan/model/job_scores.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "worker/machines/runner_machine.h"
#include "worker/shell/grouped_examples.h"
#include "worker/shell/step.h"

namespace capstan::worker {

// Thread-compatible.
class LeaseResults {
 public:
  // `grouped`, which must outlive the results, counts the examples with groups that they keep.
  LeaseResults(const v1::JobSpec& job, v1::LeaseKind kind, GroupedExamples& grouped)
      : scores_(job), evaluates_(kind == v1::LEASE_KIND_EVALUATION), grouped_(grouped) {
    if (evaluates_) grouped_.Add(evaluation_);
  }
  ~LeaseResults() { grouped_.Remove(evaluation_); }
  LeaseResults(const LeaseResults&) = delete;
  LeaseResults& operator=(const LeaseResults&) = delete;

  // Takes in one more step that has been computed, and returns the event for the machine. Under an
  // evaluation the step's logits are added to the result. Otherwise the event tells the loss of the
  // step, summed over its examples and divided by their mean weight.
  Computed Take(uint64_t batch, const Step& step);
  // The user's program has failed with `error`, and with it the lease.
  void Fail(const v1::UserCodeError& error) { user_code_ = error; }

  // Adds the results to `report`; those of an evaluation only if the lease is finished. REQUIRES:
  // `report` says whether it is.
  void Fill(v1::LeaseReport& report) const;

 private:
  const JobScores scores_;
  const bool evaluates_;
  GroupedExamples& grouped_;
  v1::EvaluationResult evaluation_;
  bool nonfinite_loss_ = false;
  std::optional<v1::UserCodeError> user_code_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_LEASE_RESULTS_H_
