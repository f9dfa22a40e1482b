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

// What is done with a process of a shard whose certificate is that of any shard, and carries no
// number. kUntilNumbered: it is believed for the shards that no certificate with their number has
// been shown for yet.
enum class UnnumberedShards { kAccept, kUntilNumbered, kRefuse };

struct ChiefOptions {
  uint64_t term = 1;     // Claimed by this chief; greater than that of any chief before.
  uint64_t run_id = 0;   // Random; tells this process from all other chiefs of the job.
  std::string seal_key;  // Random; a job that is stored goes on with the key that is stored.
  // How many shards the first map is made over; more may join, and some may leave.
  uint32_t shards = 1;
  UnnumberedShards unnumbered_shards = UnnumberedShards::kUntilNumbered;
  size_t max_workers = 4096;
  int max_task_failures = 3;  // A task that failed so often fails the job.
  absl::Duration straggler_average = absl::Seconds(10);
  absl::Duration straggler_probation = absl::Minutes(5);
  absl::Duration call_deadline = absl::Seconds(10);
  // Deadline of HoldRounds while a shard leaves.
  absl::Duration leaving_deadline = absl::Seconds(2);
  // Shards that join, or that leave, within such a time of each other are part of the same plan.
  absl::Duration join_settling = absl::Seconds(3);
  absl::Duration leave_settling = absl::Milliseconds(300);
  absl::Duration pair_settling = absl::Seconds(1);  // The same for partitions that lack a backup.
  size_t move_batch = 16;                           // Partitions that change their owner at once.
  // The job gives up saving its last checkpoint, or the best one so far, after this time, but not
  // before so many attempts have failed in a row.
  absl::Duration save_patience = absl::Minutes(10);
  int save_attempts = 3;
  // A checkpoint that makes no progress for longer is given up.
  absl::Duration still_patience = absl::Hours(1);
};

// What the store holds of the job when its chief begins.
struct JobHistory {
  // The state as this chief has claimed it. Nothing: the job is not stored anywhere.
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
      {};  // For each of spec.data.eval_sets, the index in `eval` of the task after its last.
  // How many different keys a batch has on average, by a look at the data; 0: nobody has looked, or
  // needs to.
  uint64_t keys_a_batch = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_CHIEF_OPTIONS_H_
