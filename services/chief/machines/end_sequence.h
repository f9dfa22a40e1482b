// The steps by which a job ends, and how far it has come.
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
  kDrain,     // Leases are revoked: every worker that held one knows of it, or is gone.
  kFlush,     // Aggregation queues are emptied.
  kClose,     // Streams are closed.
  kEvaluate,  // The final evaluation is made, if a worker can make it.
  kSave,      // The model is saved.
};

// Thread-compatible.
struct EndSequence {
  EndStep step = EndStep::kNone;
  // Workers that do not know yet that their leases were revoked.
  std::set<std::string> draining;
  absl::Time attended;    // When a worker that can evaluate was last present, or the step began.
  bool saving = false;    // The next checkpoint, or the one under way, is the model.
  bool saved = false;     // The model is stored.
  absl::Time save_begun;  // When the first attempt to save it began.

  bool begun() const { return step != EndStep::kNone; }
};

// A pause of training for an evaluation that decides which parameters are the result: the
// parameters that are evaluated must be those that are saved. Thread-compatible.
struct Standstill {
  enum class Step { kNone, kDrain, kFlush, kReached };
  // The progress towards the standstill of a job with tasks: first leases are revoked, then queues
  // are flushed. Jobs with lanes use a RoundBarrier instead.
  Step step = Step::kNone;
  // The evaluation of the present parameters; nullopt once training continues.
  std::optional<v1::Evaluation> evaluation = {};
  // `evaluation` is better than that of every checkpoint: the parameters are to be saved before
  // training continues.
  bool save = false;
  absl::Time save_until = {};  // Training does not wait for the save any longer than this.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_END_SEQUENCE_H_
