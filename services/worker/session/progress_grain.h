// How often the shards have to hear of a job's progress, where what they do depends on it.
#ifndef CAPSTAN_WORKER_SESSION_PROGRESS_GRAIN_H_
#define CAPSTAN_WORKER_SESSION_PROGRESS_GRAIN_H_

#include <cstdint>
#include <vector>

#include "capstan/v1/job.pb.h"

namespace capstan::worker {

// The spans of examples over which something changes with the job's progress: schedules of learning
// rates, the expiry of rows, the way to max_steps. Synchronous parts follow their rounds instead.
// *Immutable*.
class ProgressGrain {
 public:
  ProgressGrain() = default;  // Nothing changes with the progress.
  explicit ProgressGrain(const v1::JobSpec& job);

  // Returns after how many more examples of the whole job the progress has to be told again, once
  // `examples` have been trained: a sixty-fourth of the shortest span that is not over. 0: there is
  // no such span, and regular heartbeats are enough.
  uint64_t At(uint64_t examples) const;

 private:
  struct Span {
    uint64_t length = 0;  // The span's length, in examples.
    uint64_t until = 0;   // The progress at which the span is over.
  };
  void Add(uint64_t length, uint64_t until);
  void Add(const v1::ScheduleSpec& schedule);

  std::vector<Span> spans_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SESSION_PROGRESS_GRAIN_H_
