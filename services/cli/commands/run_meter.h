// Decides how long a job is measured for a plan, and derives from what was seen of it what a batch
// costs. Pure: it knows no process and no clock.
#ifndef CAPSTAN_CLI_COMMANDS_RUN_METER_H_
#define CAPSTAN_CLI_COMMANDS_RUN_METER_H_

#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "capstan/plan/measured_run.h"
#include "capstan/v1/chief.pb.h"

namespace capstan::cli {

// The fewest batches that a job is measured for.
inline constexpr int kFewestBatches = 20;

// What the worker and the shard have used so far. 0: the process is not there.
struct CrewUsage {
  double worker_cpu = 0;    // Seconds.
  double shard_cpu = 0;     // Seconds.
  double worker_bytes = 0;  // Resident.
};

// Thread-compatible.
class RunMeter {
 public:
  // Nothing counts that happens sooner after the first progress.
  static constexpr absl::Duration kWarmUp = absl::Seconds(3);

  // Measures for at least `at_work` and kFewestBatches batches of `batch_size` examples.
  RunMeter(absl::Duration at_work, uint64_t batch_size)
      : at_work_(at_work), batch_size_(batch_size) {}

  // Looks at the status. Asks for `usage` only where the status tells of progress that counts.
  // Returns true as soon as it has seen enough. Begins again, with the warm-up, where the job has
  // lost progress or one of the two processes was started anew: what they have used so far is then
  // no longer the cost of the batches so far.
  bool See(const v1::GetStatusReply& status, absl::Time now, absl::FunctionRef<CrewUsage()> usage);

  // Returns means for a batch, without the origin. REQUIRES: See() has returned true.
  MeasuredRun Result() const;

 private:
  // The state of the job when the chief had just heard of progress.
  struct Point {
    absl::Time time;
    uint64_t examples = 0;
    CrewUsage usage;
  };

  void BeginAgain(absl::Time now);
  // REQUIRES: something counts.
  double batches() const;

  const absl::Duration at_work_;
  const uint64_t batch_size_;
  uint64_t heard_ = 0;
  absl::Time warm_at_ = absl::InfiniteFuture();
  std::optional<Point> first_;  // The first point after the warm-up; nothing: there is none yet.
  Point last_;                  // The last one. Only if there is a first one.
  double compute_seconds_ = 0;
  int reports_ = 0;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_COMMANDS_RUN_METER_H_
