// How far a job that ends has come: which step of its end it is at.
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
  kDrain,     // Leases are taken back: every worker that held one has heard of that, or is gone.
  kFlush,     // Aggregation queues are emptied.
  kClose,     // Streams are closed.
  kEvaluate,  // The final evaluation, if there is anybody who can make it.
  kSave,      // The model is saved.
};

// Thread-compatible.
struct EndSequence {
  EndStep step = EndStep::kNone;
  // Workers that have not heard yet that their leases were taken back.
  std::set<std::string> draining;
  absl::Time attended;  // When a worker that can evaluate was last there, or the evaluation began.
  bool saving = false;  // The next checkpoint, or the one under way, is the model.
  bool saved = false;   // The model is stored.
  absl::Time save_begun;  // When the first attempt to save it began.

  bool begun() const { return step != EndStep::kNone; }
};

// Training stands still for an evaluation by whose metric the result is chosen, so that the
// parameters that are evaluated are those that are saved. Thread-compatible.
struct Standstill {
  enum class Step { kNone, kDrain, kFlush, kReached };
  // How far tasks are on the way to a standstill: first leases are taken back, then queues are
  // emptied. Lanes use a RoundBarrier instead.
  Step step = Step::kNone;
  // The evaluation of the parameters as they are now; nothing once training goes on.
  std::optional<v1::Evaluation> evaluation = {};
  // `evaluation` is better than that of every checkpoint: the parameters are to be saved before
  // training goes on.
  bool save = false;
  absl::Time save_until = {};  // After this time training no longer waits for the save.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_END_SEQUENCE_H_
