// What the chief's machine is given when it is built.
#ifndef CAPSTAN_CHIEF_STATE_CHIEF_OPTIONS_H_
#define CAPSTAN_CHIEF_STATE_CHIEF_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "capstan/data/tasks/task_ranges.h"
#include "capstan/v1/chief_state.pb.h"
#include "capstan/v1/job.pb.h"
#include "chief/state/checkpoint_catalog.h"

namespace capstan::chief {

struct ChiefOptions {
  uint64_t term = 1;     // Claimed by this chief; greater than any before.
  uint64_t run_id = 0;   // Random; this process among all chiefs of the job.
  std::string seal_key;  // Random; a job that is stored goes on with its own.
  uint32_t shards = 1;   // The quorum for the first map; more may join, and some may leave.
  size_t max_workers = 4096;
  int max_task_failures = 3;  // A task that failed so often fails the job.
  absl::Duration straggler_average = absl::Seconds(10);
  absl::Duration straggler_probation = absl::Minutes(5);
  absl::Duration call_deadline = absl::Seconds(10);
  absl::Duration leaving_deadline = absl::Seconds(2);  // For the open round, when a shard leaves.
  // Shards that come, or leave, within these are part of the same plan.
  absl::Duration join_settling = absl::Seconds(3);
  absl::Duration leave_settling = absl::Milliseconds(300);
  absl::Duration pair_settling = absl::Seconds(1);  // The same for what lacks a backup.
  size_t move_batch = 16;                           // Partitions that change their owner at once.
  // Attempts at the last checkpoint go on for so long, and there are so many at least.
  absl::Duration save_patience = absl::Minutes(10);
  int save_attempts = 3;
  absl::Duration still_patience = absl::Hours(1);  // For a checkpoint of which nothing moves.
};

// What the store holds of the job when its chief begins.
struct JobHistory {
  // As this chief has claimed it. Nothing: the job is not stored anywhere.
  std::optional<v1::ChiefState> state;
  std::vector<CheckpointFacts> checkpoints;
  std::vector<std::string> garbage;  // Folders of checkpoints without a manifest.
};

// The job with every default filled in, and its data cut into tasks.
struct JobPlan {
  v1::JobSpec spec;
  TaskRanges train;
  TaskRanges eval;
  std::vector<uint32_t> eval_ends =
      {};  // For each of spec.data.eval_sets, the task after its last.
  // Different keys of a batch, on average, as its data tell; 0: nobody has looked, or has to know.
  uint64_t keys_a_batch = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_CHIEF_OPTIONS_H_
