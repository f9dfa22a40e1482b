// Ends pairs whose backup cannot go on: its shard is lost, leaves, or has found that it is out of
// step with the owner. Until a view without the pair is published the owner acknowledges nothing.
#ifndef CAPSTAN_CHIEF_DUTIES_PAIR_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_PAIR_DUTY_H_

#include <cstdint>

#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"
#include "chief/duties/duty.h"

namespace capstan::chief {

class PairDuty : public Duty {
 public:
  using Duty::Duty;

  // Drops the pairs that the shard, which is their backup, has reported as broken.
  void Hear(const Shard& shard);
  // Drops the pairs that cannot go on, if the shards serve and were heard of. REQUIRES:
  // PromotionDuty::Listen was called.
  void Drop(absl::Time now);

  // Does nothing in a job without replicas.
  void Fill(v1::ReplicaStatus& status) const;

 private:
  bool IsOver(const v1::PartitionPair& pair, absl::Time now) const;

  uint64_t dropped_ = 0;
  uint64_t broken_ = 0;  // How many of dropped_ were reported as broken.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_PAIR_DUTY_H_
