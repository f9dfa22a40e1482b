// What the chief's state machine is constructed with.
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

// How the chief treats a shard process whose certificate does not name the number of its shard:
// kAccept: it may register as any shard. kUntilNumbered: it may register as a shard for which no
// certificate with the shard's number has been shown so far. kRefuse: it may not register.
enum class UnnumberedShards { kAccept, kUntilNumbered, kRefuse };

struct ChiefOptions {
  uint64_t term = 1;     // Claimed by this chief; greater than the term of any earlier chief.
  uint64_t run_id = 0;   // Random; distinguishes this process from all other chiefs of the job.
  std::string seal_key;  // Random; used for a new job only: a stored job keeps its stored key.
  // How many shards the first partition map needs. More may join later, and some may leave.
  uint32_t shards = 1;
  UnnumberedShards unnumbered_shards = UnnumberedShards::kUntilNumbered;
  size_t max_workers = 4096;
  int max_task_failures = 3;  // The job fails when a task has failed this often.
  absl::Duration straggler_average = absl::Seconds(10);
  absl::Duration straggler_probation = absl::Minutes(5);
  absl::Duration call_deadline = absl::Seconds(10);
  // Deadline of HoldRounds while a shard leaves.
  absl::Duration leaving_deadline = absl::Seconds(2);
  // Shards that join, or leave, within this time of each other are handled by the same plan.
  absl::Duration join_settling = absl::Seconds(3);
  absl::Duration leave_settling = absl::Milliseconds(300);
  absl::Duration pair_settling = absl::Seconds(1);  // The same for partitions that lack a backup.
  size_t move_batch = 16;  // How many partitions change their owner at once.
  // The job gives up saving its last checkpoint, or the best one so far, once this time has passed
  // and `save_attempts` attempts in a row have failed.
  absl::Duration save_patience = absl::Minutes(10);
  int save_attempts = 3;
  // A checkpoint that makes no progress for this long is given up.
  absl::Duration still_patience = absl::Hours(1);
};

// What the object store holds of the job when the chief starts.
struct JobHistory {
  // The state as claimed by this chief; nullopt if the job is not stored anywhere.
  std::optional<v1::ChiefState> state;
  std::vector<CheckpointFacts> checkpoints;
  std::vector<std::string> garbage;  // Folders of checkpoints without a manifest.
};

// The job with every default filled in, and its data split into tasks.
struct JobPlan {
  v1::JobSpec spec;
  TaskRanges train;
  TaskRanges eval;
  std::vector<uint32_t> eval_ends =
      {};  // For each of spec.data.eval_sets, the index in `eval` of the task after its last.
  // The mean number of distinct keys in a batch, estimated from a sample of the data; 0 if no
  // sample was taken.
  uint64_t keys_a_batch = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_CHIEF_OPTIONS_H_
