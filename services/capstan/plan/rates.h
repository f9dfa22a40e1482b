// The costs of units of work, from a file of rates or as recorded in this folder.
//
// A file of rates is text with a line "name value" for each rate. A line "origin ..." says where
// the rates come from, and lines that begin with '#' are comments.
#ifndef CAPSTAN_PLAN_RATES_H_
#define CAPSTAN_PLAN_RATES_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace capstan {

// CPU seconds at the two ends of a connection.
struct Ends {
  double worker_seconds = 0;
  double shard_seconds = 0;
};

// The time of one batch of a model in one trainer of a worker.
struct BatchTime {
  double compute_seconds = 0;  // Forward and backward, with train.step_threads threads.
  // The standard deviation of compute_seconds over batches and workers.
  double deviation_seconds = 0;
  double read_seconds = 0;  // Reading and parsing, on another thread.
};

struct Rates {
  std::string origin;  // In words: when and on what machine.

  Ends pulled_byte;  // The cost of a byte of values, in their form on the wire.
  Ends pushed_byte;  // The cost of a byte of a push, without applying it.
  Ends pulled_row;   // The cost of a row in addition to its bytes, such as the lookup of its key.
  Ends pushed_row;
  Ends call;                // The cost of a pull or push of at most about a MiB.
  double call_seconds = 0;  // The time from the beginning of an empty call to its answer.
  // CPU seconds of a shard to add one float of a gradient to the sum of a round.
  double added_float = 0;
  // CPU seconds of a shard to apply one float, for optimizers that are not in `applied`.
  double applied_float = 0;
  std::map<std::string, double> applied;  // By the optimizer's name in job.yaml.

  // Resident memory of each process when it is idle.
  double chief_bytes = 0;
  double shard_bytes = 0;
  double worker_bytes = 0;

  std::map<std::string, BatchTime> batches;  // By the job's name.
};

// Returns the rates of recorded_rates.txt, from tests/bench/RESULTS.md. They have no batches, and
// no memory of processes.
Rates RecordedRates();

// Parses a file of rates. INVALID_ARGUMENT: a name is unknown or a value is not a number >= 0, with
// the line; or a rate is missing, with its name.
absl::StatusOr<Rates> ParseRates(absl::string_view text);

// Returns the text of a file of these rates.
std::string RatesText(const Rates& rates);

}  // namespace capstan

#endif  // CAPSTAN_PLAN_RATES_H_
