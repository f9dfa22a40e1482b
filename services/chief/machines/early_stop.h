// Stops a job whose metric no longer improves.
#ifndef CAPSTAN_CHIEF_MACHINES_EARLY_STOP_H_
#define CAPSTAN_CHIEF_MACHINES_EARLY_STOP_H_

#include <cstdint>
#include <optional>
#include <string>

#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"

namespace capstan::chief {

// Thread-compatible.
class EarlyStopper {
 public:
  explicit EarlyStopper(v1::EarlyStop options) : options_(std::move(options)) {}

  // Takes in an evaluation. Returns why the job should stop, or nothing. An evaluation without the
  // metric, or where it is not a number, counts as no improvement.
  std::optional<std::string> Add(const v1::Evaluation& evaluation);

 private:
  // The metric is better than in every evaluation that was added.
  bool Improves(const v1::Evaluation& evaluation) const;

  v1::EarlyStop options_;
  std::optional<double> best_;
  uint64_t best_number_ = 0;
  uint32_t without_improvement_ = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_EARLY_STOP_H_
