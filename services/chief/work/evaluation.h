// Evaluations: when one is due, which trainer evaluates which task of it, and the results.
#ifndef CAPSTAN_CHIEF_WORK_EVALUATION_H_
#define CAPSTAN_CHIEF_WORK_EVALUATION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "capstan/base/ids.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "chief/state/chief_options.h"
#include "chief/work/generations.h"
#include "chief/work/lease_book.h"
#include "chief/work/work_report.h"

namespace capstan::chief {

// Thread-compatible.
class Evaluations {
 public:
  explicit Evaluations(const JobPlan& plan);

  // Returns true if the job has evaluation data.
  bool enabled() const { return !tasks_.empty(); }

  // Returns true when an evaluation should begin: after the job's number of examples between
  // evaluations or, if it sets none, at the end of each epoch.
  bool Due(uint64_t examples, uint32_t epochs_done) const;

  // Begins an evaluation. `about` has all fields but the number and the metrics. REQUIRES:
  // enabled() and not running().
  void Begin(v1::Evaluation about, uint32_t epochs_done);
  bool running() const { return running_.has_value(); }

  std::optional<v1::Lease> Grant(TrainerId trainer, Generations& generations,
                                 const Avoid& avoid = nullptr);
  ReportResult Report(std::span<const TrainerId> trainers, const v1::LeaseReport& report);
  void Release(TrainerId trainer);
  std::span<const HeldLease> LeasesOf(TrainerId trainer) const { return leases_.Of(trainer); }

  // Returns true when every task of the running evaluation is done.
  bool complete() const { return running() && todo_.empty() && leases_.size() == 0; }

  // Ends the running evaluation and returns it with its metrics. REQUIRES: complete().
  v1::Evaluation Take();

  // The job has returned to `examples` and `epochs_done`. Forgets the evaluations in `history` that
  // are later than that, and `given_up` if it is later, and ends the running one without a result.
  // An evaluation that remains, made or given up, is not due again.
  void Restore(std::vector<v1::Evaluation> history, uint64_t examples, uint32_t epochs_done,
               std::optional<v1::Evaluation> given_up = std::nullopt);

  // Ends the running evaluation without a result because its data cannot be read. The next one is
  // still begun when it is due, as the data may be readable by then. REQUIRES: running().
  void GiveUp(std::string why);
  // Why the last evaluation was given up; empty if one has succeeded since, or none was given up
  // since the last Restore().
  const std::string& failure() const { return failure_; }
  // The last evaluation that was given up, without metrics.
  const std::optional<v1::Evaluation>& given_up() const { return given_up_; }

  // Returns true if the final evaluation has been made, or given up.
  bool final_over() const {
    return final_given_up_ || (!history_.empty() && history_.back().final());
  }

  // Returns true if the evaluation has measured the held-out records of the present job, so that
  // its metrics can be compared with those of later evaluations.
  bool Compares(const v1::Evaluation& evaluation) const {
    return evaluation.held_out() == held_out_;
  }

  // Adds a final evaluation with the metrics of an earlier checkpoint that is the job's result.
  void AddFinal(const std::map<std::string, double>& metrics, uint64_t examples, uint64_t step);

  // The latest evaluations, the newest last.
  const std::vector<v1::Evaluation>& history() const { return history_; }

 private:
  size_t SetOf(uint32_t task) const;
  uint32_t EpochsEvaluated(uint32_t epochs_done) const;
  WorkName NameOf(uint32_t index) const {
    return {v1::LEASE_KIND_EVALUATION, running_->number(), index};
  }

  v1::JobSpec job_;
  uint64_t every_examples_;
  TaskRanges tasks_;
  uint64_t held_out_;  // The fingerprint of the records of tasks_.
  std::vector<std::string>
      sets_;                    // Names of the sets of held-out records; that of the first is "".
  std::vector<uint32_t> ends_;  // For each set, the index of the task after its last.
  std::optional<v1::Evaluation> running_;
  std::vector<v1::EvaluationResult> sums_;  // One for each set.
  std::set<uint32_t> todo_;                 // Indexes into tasks_.
  std::map<uint32_t, int> failures_;
  LeaseBook leases_;
  std::vector<v1::Evaluation> history_;
  std::string failure_;
  std::optional<v1::Evaluation> given_up_;
  bool final_given_up_ = false;
  uint64_t begun_ = 0;
  uint64_t next_examples_;
  uint32_t epochs_evaluated_ = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_EVALUATION_H_
