// Where the job is on its way out.
#ifndef CAPSTAN_CHIEF_END_SEQUENCE_H_
#define CAPSTAN_CHIEF_END_SEQUENCE_H_

#include <set>
#include <string>

#include "absl/time/time.h"

namespace capstan::chief {

enum class EndStep {
  kNone,
  kBoundary,  // Sync: the last round is committed on every shard.
  kDrain,     // Leases are revoked; every worker that held one has heard of it, or is gone.
  kFlush,     // Aggregation queues are emptied.
  kClose,     // Streams are closed.
  kEvaluate,  // The final evaluation.
  kSave,      // The model is saved.
};

// Thread-compatible.
struct EndSequence {
  EndStep step = EndStep::kNone;
  std::set<std::string> draining;  // Workers that have not yet heard of the revocation.
  bool saving = false;             // The checkpoint under way is the model.
  absl::Time save_begun;           // The first attempt.

  bool begun() const { return step != EndStep::kNone; }
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_END_SEQUENCE_H_
