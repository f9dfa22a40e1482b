// Takes checkpoints: decides when, which shards freeze for it, who is answered, and which older
// checkpoints are deleted afterwards. See Checkpointer for the present attempt, and
// CheckpointCatalog for the existing checkpoints.
#ifndef CAPSTAN_CHIEF_DUTIES_CHECKPOINT_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_CHECKPOINT_DUTY_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/v1/checkpoint.pb.h"
#include "chief/duties/duty.h"
#include "chief/state/shard_calls.h"
#include "chief/state/state_writer.h"

namespace capstan::chief {

class CheckpointDuty : public Duty {
 public:
  using Duty::Duty;

  // Asks for a checkpoint; if one is under way, its result is the answer. The answer is an
  // AnswerCheckpoint. It comes at the latest when the job has ended.
  void Ask(uint64_t asker);
  // If the job has ended, answers all askers, as no checkpoint will be taken any more.
  void AnswerIfEnded();
  void Advance(absl::Time now);
  // Handles the answer if the call was an order to save.
  void OnAnswer(const ShardCalls::Answer& answer, absl::Time now);
  void OnManifestWritten(const std::string& uri, const absl::Status& written, absl::Time now);

 private:
  void SeeOpenings();
  void LeaveIntervalOut(absl::Time now);
  std::set<uint32_t> FreezingShards(absl::Time now) const;
  void Begin(absl::Time now);
  v1::Manifest ManifestOfNow(absl::Time now) const;
  std::string ParentOfNext() const;
  void OnFailed();
  void Answer(const absl::StatusOr<std::string>& uri);
  void Prune();

  std::optional<StateWriter::Ticket> prune_;  // When this is stored, Prune() is called.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_CHECKPOINT_DUTY_H_
