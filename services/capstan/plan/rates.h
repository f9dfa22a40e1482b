// What a unit of work costs: from a file of rates, or those recorded here.
//
// A file of rates is text: a line "name value" each, "origin ..." says where they come from, and a
// line that begins with '#' is for people.
#ifndef CAPSTAN_PLAN_RATES_H_
#define CAPSTAN_PLAN_RATES_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace capstan {

// CPU seconds of the two ends of a connection.
struct Ends {
  double worker_seconds = 0;
  double shard_seconds = 0;
};

// One batch of a model on one thread of a worker.
struct BatchTime {
  double compute_seconds = 0;  // Forward and backward, with train.step_threads threads.
  // How compute_seconds differ from batch to batch and worker to worker.
  double deviation_seconds = 0;
  double read_seconds = 0;  // Reading and parsing, on another thread.
};

struct Rates {
  std::string origin;  // In words: when and on what machine.

  Ends pulled_byte;  // The cost of a byte of values, as they travel.
  Ends pushed_byte;  // Without applying it.
  Ends pulled_row;   // Beside its bytes: its key is looked for.
  Ends pushed_row;
  Ends call;                 // The cost of a pull or push of about a MiB at most.
  double call_seconds = 0;   // From its beginning to its answer, if it carries nothing.
  double added_float = 0;    // CPU seconds of a shard: one gradient added to the sum of a round.
  double applied_float = 0;  // The same: by an optimizer that `applied` does not name.
  std::map<std::string, double> applied;  // By the optimizer's name in job.yaml.

  // Resident memory of a process that has nothing to do.
  double chief_bytes = 0;
  double shard_bytes = 0;
  double worker_bytes = 0;

  std::map<std::string, BatchTime> batches;  // By the job's name.
};

// Those of recorded_rates.txt, from tests/bench/RESULTS.md. They know no batch, and nothing of the
// memory of processes.
Rates RecordedRates();

// INVALID_ARGUMENT, with the line, for a name that is none or a value that is no number >= 0; a
// rate that the text lacks is missing, and told likewise.
absl::StatusOr<Rates> ParseRates(absl::string_view text);

// The text of a file of these rates.
std::string RatesText(const Rates& rates);

}  // namespace capstan

#endif  // CAPSTAN_PLAN_RATES_H_
