// Evaluations: when one is due, who does which part of it, and what came out.
#ifndef CAPSTAN_CHIEF_EVALUATION_H_
#define CAPSTAN_CHIEF_EVALUATION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "capstan/base/ids.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "chief/chief_options.h"
#include "chief/generations.h"
#include "chief/lease_book.h"
#include "chief/work_report.h"

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

  std::optional<v1::Lease> Grant(MemberId member, Generations& generations);
  ReportOutcome Report(std::span<const MemberId> members, const v1::LeaseReport& report);
  void Release(MemberId member);
  std::span<const HeldLease> LeasesOf(MemberId member) const { return leases_.Of(member); }

  // True when every task of the running evaluation is done.
  bool complete() const { return running() && todo_.empty() && leases_.size() == 0; }

  // Ends the running evaluation and returns it with its metrics. REQUIRES: complete().
  v1::Evaluation Take();

  // Goes on from here: what has been evaluated of updates that are thrown away is forgotten, what
  // is running ends.
  void Restore(std::vector<v1::Evaluation> history, uint64_t examples, uint32_t epochs_done);

  bool has_final() const { return !history_.empty() && history_.back().final(); }

  // The latest ones, in order.
  const std::vector<v1::Evaluation>& history() const { return history_; }

 private:
  v1::Loss loss_;
  uint64_t every_examples_;
  std::vector<v1::Task> tasks_;
  std::optional<v1::Evaluation> running_;
  v1::EvaluationResult sums_;
  std::set<uint32_t> todo_;  // Indexes into tasks_.
  std::map<uint32_t, int> failures_;
  LeaseBook leases_;
  std::vector<v1::Evaluation> history_;
  uint64_t begun_ = 0;
  uint64_t next_examples_;
  uint32_t epochs_evaluated_ = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_EVALUATION_H_
