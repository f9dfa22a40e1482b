// The checkpoints of the job, the attempt to take the next one, and who waits for it.
#ifndef CAPSTAN_CHIEF_JOB_CHECKPOINTS_H_
#define CAPSTAN_CHIEF_JOB_CHECKPOINTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "chief/machines/checkpointer.h"
#include "chief/state/checkpoint_catalog.h"
#include "chief/state/chief_options.h"

namespace capstan::chief {

// Changes whenever the parameters or the progress change, as far as the chief has heard. While it
// is unchanged, another checkpoint would have the same content as the last.
struct SavedMark {
  uint64_t timeline = 0;
  uint64_t examples = 0;
  uint64_t steps = 0;
  uint64_t tasks_done = 0;
  // For each shard that owns partitions: its process, and how many pushes this has applied. Counted
  // as well as examples, for sessions push without examples.
  std::map<uint32_t, std::pair<Incarnation, uint64_t>> pushes;

  bool operator==(const SavedMark&) const = default;
};

// Thread-compatible.
struct Checkpoints {
  Checkpoints(const ChiefOptions& options, const JobPlan& plan, const JobHistory& history);

  Checkpointer checkpointer;
  CheckpointCatalog catalog;
  std::vector<uint64_t> askers;  // Answered when the next checkpoint is stored, or has failed.
  // The shards have been frozen since the last checkpoint, so it holds all updates.
  bool frozen = false;
  bool closed = false;  // Shards were ordered to freeze, and have not been reopened since.
  SavedMark begun;      // The mark at the beginning of the last attempt.
  std::optional<SavedMark> newest;  // The same for the newest checkpoint that this chief has taken.
  // When a checkpoint was last skipped because nothing had changed since the newest one.
  absl::Time left_out = absl::InfinitePast();
  // The last attempt was abandoned because a shard was lost: another one is due.
  bool save_again = false;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_JOB_CHECKPOINTS_H_
