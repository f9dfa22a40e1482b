// How far a job that ends has come: which steps of its end are done.
#ifndef CAPSTAN_CHIEF_MACHINES_END_SEQUENCE_H_
#define CAPSTAN_CHIEF_MACHINES_END_SEQUENCE_H_

#include <optional>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"

namespace capstan::chief {

enum class EndStep {
  kNone,
  kBarrier,   // Sync: the last round is committed on every shard.
  kDrain,     // Leases are revoked; every worker that held one has heard of it, or is gone.
  kFlush,     // Aggregation queues are emptied.
  kClose,     // Streams are closed.
  kEvaluate,  // The final evaluation, if there is anybody who can make it.
  kSave,      // The model is saved.
};

// Thread-compatible.
struct EndSequence {
  EndStep step = EndStep::kNone;
  std::set<std::string> draining;  // Workers that have not yet heard of the revocation.
  absl::Time attended;             // Somebody who can evaluate was there, or the evaluation began.
  bool saving = false;             // The next checkpoint, or the one under way, is the model.
  bool saved = false;              // The model is stored.
  absl::Time save_begun;           // The first attempt.

  bool begun() const { return step != EndStep::kNone; }
};

// Training stands still for an evaluation whose metric the result is chosen by, so that what is
// evaluated is what is saved. Thread-compatible.
struct Standstill {
  enum class Step { kNone, kDrain, kFlush, kReached };
  // How tasks come to a standstill: leases are taken back, queues are emptied. Lanes have
  // RoundBarrier instead.
  Step step = Step::kNone;
  // The evaluation of the parameters as they are now; nothing once training goes on.
  std::optional<v1::Evaluation> evaluation = {};
  // It is better than every checkpoint: these parameters are to be saved before that.
  bool save = false;
  absl::Time save_until = {};  // Later that is not waited for.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_END_SEQUENCE_H_
