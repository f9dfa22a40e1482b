// The checkpoints of the job, the attempt to make the next one, and who waits for it.
#ifndef CAPSTAN_CHIEF_JOB_CHECKPOINTS_H_
#define CAPSTAN_CHIEF_JOB_CHECKPOINTS_H_

#include <cstdint>
#include <vector>

#include "chief/machines/checkpointer.h"
#include "chief/state/checkpoint_catalog.h"
#include "chief/state/chief_options.h"

namespace capstan::chief {

// Thread-compatible.
struct Checkpoints {
  Checkpoints(const ChiefOptions& options, const JobPlan& plan, const JobHistory& history);

  Checkpointer checkpointer;
  CheckpointCatalog catalog;
  std::vector<uint64_t> askers;  // Answered when the next checkpoint is stored, or has failed.
  // Its shards are frozen since the last checkpoint, so that one holds all updates.
  bool frozen = false;
  bool closed = false;  // Shards were ordered to freeze, and were not opened again since.
  // Another attempt is due: the last one was abandoned as a shard was lost.
  bool save_again = false;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_JOB_CHECKPOINTS_H_
