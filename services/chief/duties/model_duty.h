// The job is completed: its shards serve the model to whoever reads it, for as long as they stand.
// Where one has come without its partitions, or there is no map, all of them load the model, in a
// timeline of its own; whoever comes later loads it in that one.
#ifndef CAPSTAN_CHIEF_DUTIES_MODEL_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_MODEL_DUTY_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "chief/duties/duty.h"
#include "chief/state/shard_calls.h"

namespace capstan::chief {

class ModelDuty : public Duty {
 public:
  using Duty::Duty;

  // Does nothing before the end is stored, nor where no model was written.
  void Advance(absl::Time now);
  // Shards load the model, or have.
  bool loads() const { return timeline_ != 0 && timeline_ == job_->placement.timeline(); }
  // Takes the answer in if it is one to a load of the model. What cannot be read is asked for again
  // and again, with a warning: somebody may put it right.
  void OnAnswer(const ShardCalls::Answer& answer, absl::Time now);

 private:
  bool Serves() const;
  std::vector<uint32_t> Lacking() const;
  void BeginTimeline(absl::Time now);
  void SendTo(uint32_t shard, absl::Time due);

  uint64_t timeline_ = 0;  // In which they load it.
  absl::Time lacking_since_ = absl::InfiniteFuture();
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_MODEL_DUTY_H_
