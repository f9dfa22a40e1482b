// Stops a job whose metric no longer improves.
#ifndef CAPSTAN_CHIEF_MACHINES_EARLY_STOP_H_
#define CAPSTAN_CHIEF_MACHINES_EARLY_STOP_H_

#include <cstdint>
#include <optional>
#include <string>

#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"

namespace capstan::chief {

// All evaluations passed to it must have measured the same held-out records. Thread-compatible.
class EarlyStopper {
 public:
  explicit EarlyStopper(v1::EarlyStop options) : options_(std::move(options)) {}

  // Forgets all evaluations.
  void Reset() { *this = EarlyStopper(std::move(options_)); }

  // Takes in an evaluation. Returns why the job should stop, or nullopt. A metric that is not
  // finite counts as no improvement. An evaluation without the metric is ignored.
  std::optional<std::string> Add(const v1::Evaluation& evaluation);

  // Returns a sentence for people if the evaluation lacks the metric; empty if it has it, or if the
  // job has no early stopping.
  std::string Lack(const v1::Evaluation& evaluation) const;

 private:
  // Returns true if the metric is better than in every evaluation added so far. REQUIRES: it has
  // the metric.
  bool Improves(const v1::Evaluation& evaluation) const;

  v1::EarlyStop options_;
  std::optional<double> best_;
  uint64_t best_number_ = 0;
  uint32_t without_improvement_ = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_EARLY_STOP_H_
