// The checkpoints that the job has, the attempt to make the next one, and who asks for it.
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
  Checkpoints(const ChiefOptions& options, const v1::JobSpec& spec, const JobHistory& history);

  Checkpointer checkpointer;
  CheckpointCatalog catalog;
  std::vector<uint64_t> askers;  // They are answered when the next checkpoint is stored.
  bool frozen = false;           // The last checkpoint holds all there will be.
  bool closed = false;      // Shards were ordered to freeze, and have not been opened again since.
  bool save_again = false;  // A checkpoint was broken off for a reason that is over.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_JOB_CHECKPOINTS_H_
