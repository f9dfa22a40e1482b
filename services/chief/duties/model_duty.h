// Once the job is completed, has its shards serve the model to readers for as long as they run. If
// a shard has come back without its partitions, or there is no map, all shards load the model in a
// new timeline. Shards that come later load it in that timeline, too.
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

  // Does nothing before the end is stored, or if no model was written.
  void Advance(absl::Time now);
  // Returns true if shards are loading the model, or have loaded it.
  bool loads() const { return timeline_ != 0 && timeline_ == job_->placement.timeline(); }
  // Handles the answer if the call was to load the model. A shard that cannot load it is asked
  // again without an end, with a warning, as somebody may repair the cause.
  void OnAnswer(const ShardCalls::Answer& answer, absl::Time now);

 private:
  bool Serves() const;
  std::vector<uint32_t> Lacking() const;
  void BeginTimeline(absl::Time now);
  void SendTo(uint32_t shard, absl::Time due);

  uint64_t timeline_ = 0;  // The timeline in which shards load the model; 0: none yet.
  absl::Time lacking_since_ = absl::InfiniteFuture();
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_MODEL_DUTY_H_
