// The checkpoints of the job, the attempt to make the next one, and who waits for it.
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

// What changes whenever the parameters or the progress do, as far as the chief has heard: as long
// as it is the same, another checkpoint would be the same.
struct SavedMark {
  uint64_t timeline = 0;
  uint64_t examples = 0;
  uint64_t steps = 0;
  uint64_t tasks_done = 0;
  // By shard that owns partitions: its process, and the pushes that this has applied. Sessions push
  // without examples.
  std::map<uint32_t, std::pair<Incarnation, uint64_t>> pushes;

  bool operator==(const SavedMark&) const = default;
};

// Thread-compatible.
struct Checkpoints {
  Checkpoints(const ChiefOptions& options, const JobPlan& plan, const JobHistory& history);

  Checkpointer checkpointer;
  CheckpointCatalog catalog;
  std::vector<uint64_t> askers;  // Answered when the next checkpoint is stored, or has failed.
  // Its shards are frozen since the last checkpoint, so that one holds all updates.
  bool frozen = false;
  bool closed = false;  // Shards were ordered to freeze, and were not opened again since.
  SavedMark begun;      // As the last attempt began.
  std::optional<SavedMark> newest;  // As the newest checkpoint of this chief began.
  // When an interval was last left out, as nothing had changed since the newest checkpoint.
  absl::Time left_out = absl::InfinitePast();
  // Another attempt is due: the last one was abandoned as a shard was lost.
  bool save_again = false;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_JOB_CHECKPOINTS_H_
