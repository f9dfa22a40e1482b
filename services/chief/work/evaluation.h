// Evaluations: when one is due, who does which part of it, and what came out.
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

  // False: the job has no evaluation data.
  bool enabled() const { return !tasks_.empty(); }

  // True when one should begin: at each epoch's end, or every so many examples.
  bool Due(uint64_t examples, uint32_t epochs_done) const;

  // REQUIRES: enabled() and not running(). `about` holds all but number, metrics and results.
  void Begin(v1::Evaluation about, uint32_t epochs_done);
  bool running() const { return running_.has_value(); }

  std::optional<v1::Lease> Grant(TrainerId trainer, Generations& generations,
                                 const Avoid& avoid = nullptr);
  ReportResult Report(std::span<const TrainerId> trainers, const v1::LeaseReport& report);
  void Release(TrainerId trainer);
  std::span<const HeldLease> LeasesOf(TrainerId trainer) const { return leases_.Of(trainer); }

  // True when every task of the running evaluation is done.
  bool complete() const { return running() && todo_.empty() && leases_.size() == 0; }

  // Ends the running evaluation and returns it with its metrics. REQUIRES: complete().
  v1::Evaluation Take();

  // Goes on from here: what has been evaluated of updates that are thrown away is forgotten, what
  // is running ends.
  void Restore(std::vector<v1::Evaluation> history, uint64_t examples, uint32_t epochs_done);

  // Ends the running evaluation without a result: its data cannot be read. The next one that is
  // due is begun all the same, for the data may be back by then. REQUIRES: running().
  void GiveUp(std::string why);
  // Why the latest evaluation was given up; empty: it was not.
  const std::string& failure() const { return failure_; }

  // The final evaluation has been made, or given up.
  bool final_over() const {
    return final_given_up_ || (!history_.empty() && history_.back().final());
  }

  // The final evaluation is that of an earlier checkpoint, which is the result.
  void AddFinal(const std::map<std::string, double>& metrics, uint64_t examples, uint64_t step);

  // The latest ones, in order.
  const std::vector<v1::Evaluation>& history() const { return history_; }

 private:
  size_t SetOf(uint32_t task) const;
  WorkName NameOf(uint32_t index) const {
    return {v1::LEASE_KIND_EVALUATION, running_->number(), index};
  }

  v1::JobSpec job_;
  uint64_t every_examples_;
  TaskRanges tasks_;
  std::vector<std::string> sets_;  // Names, "" of the first one.
  std::vector<uint32_t> ends_;     // The task after a set's last.
  std::optional<v1::Evaluation> running_;
  std::vector<v1::EvaluationResult> sums_;  // One a set.
  std::set<uint32_t> todo_;                 // Indexes into tasks_.
  std::map<uint32_t, int> failures_;
  LeaseBook leases_;
  std::vector<v1::Evaluation> history_;
  std::string failure_;
  bool final_given_up_ = false;
  uint64_t begun_ = 0;
  uint64_t next_examples_;
  uint32_t epochs_evaluated_ = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_EVALUATION_H_
