// How finely a job's progress has to be known, where shards follow it.
#ifndef CAPSTAN_WORKER_SESSION_PROGRESS_GRAIN_H_
#define CAPSTAN_WORKER_SESSION_PROGRESS_GRAIN_H_

#include <cstdint>
#include <vector>

#include "capstan/v1/job.pb.h"

namespace capstan::worker {

// What follows the progress of a job: learning rates, the expiry of rows, the way to max_steps.
// Synchronous parts follow their rounds instead. *Immutable*.
class ProgressGrain {
 public:
  ProgressGrain() = default;  // Nothing follows it.
  explicit ProgressGrain(const v1::JobSpec& job);

  // Returns so many examples of the whole job that nothing moves by more than a small part of its
  // length within them, once `examples` have been trained; a warm-up that is over moves nothing.
  // 0: heartbeats are often enough.
  uint64_t At(uint64_t examples) const;

 private:
  struct Span {
    uint64_t length = 0;  // In examples.
    uint64_t until = 0;   // Where it is over.
  };
  void Add(uint64_t length, uint64_t until);
  void Add(const v1::ScheduleSpec& schedule);

  std::vector<Span> spans_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SESSION_PROGRESS_GRAIN_H_
