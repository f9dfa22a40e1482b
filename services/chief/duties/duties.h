// All duties of the chief: the order in which they act, and which of them carries out which order.
#ifndef CAPSTAN_CHIEF_DUTIES_DUTIES_H_
#define CAPSTAN_CHIEF_DUTIES_DUTIES_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "chief/duties/call_duty.h"
#include "chief/duties/checkpoint_duty.h"
#include "chief/duties/close_duty.h"
#include "chief/duties/end_duty.h"
#include "chief/duties/evaluation_duty.h"
#include "chief/duties/grant_duty.h"
#include "chief/duties/load_duty.h"
#include "chief/duties/member_duty.h"
#include "chief/duties/model_duty.h"
#include "chief/duties/move_duty.h"
#include "chief/duties/pair_duty.h"
#include "chief/duties/partial_recovery_duty.h"
#include "chief/duties/promotion_duty.h"
#include "chief/duties/recovery_duty.h"
#include "chief/duties/report_duty.h"
#include "chief/duties/shard_duty.h"
#include "chief/duties/standstill_duty.h"
#include "chief/duties/state_duty.h"
#include "chief/duties/takeover_duty.h"
#include "chief/duties/training_duty.h"
#include "chief/duties/watch_duty.h"
#include "chief/duties/worker_duty.h"

namespace capstan::chief {

// Duties can be assigned to; they keep their own JobContext then. See Duty.
struct Duties final : Duty, private Orders {
  explicit Duties(JobContext& job) : Duty(job, *this) {}

  // Lets each duty do what has become possible, after those duties that may have made it possible.
  void Advance(absl::Time now);
  // Does what becomes due by the passage of time, such as finding silent workers, and then Advance.
  void Tick(absl::Time now);

  WorkerDuty workers{*job_, *orders_};
  ReportDuty reports{*job_, *orders_};
  GrantDuty grants{*job_, *orders_};
  TrainingDuty training{*job_, *orders_};
  CloseDuty closes{*job_, *orders_};
  EvaluationDuty evaluation{*job_, *orders_};
  StandstillDuty standstill{*job_, *orders_};
  EndDuty end{*job_, *orders_};
  CheckpointDuty checkpoints{*job_, *orders_};
  RecoveryDuty recovery{*job_, *orders_};
  PartialRecoveryDuty partial{*job_, *orders_};
  LoadDuty loads{*job_, *orders_};
  TakeoverDuty takeover{*job_, *orders_};
  ShardDuty shards{*job_, *orders_};
  CallDuty calls{*job_, *orders_};
  MemberDuty members{*job_, *orders_};
  MoveDuty moves{*job_, *orders_};
  PromotionDuty promotion{*job_, *orders_};
  PairDuty pairs{*job_, *orders_};
  ModelDuty model{*job_, *orders_};
  StateDuty state{*job_, *orders_};
  WatchDuty watch{*job_, *orders_};

 private:
  void ReturnToCheckpoint(std::string_view cause, uint32_t shard, absl::Time now) override;
  void GoOnFromCheckpoint(std::string_view cause, absl::Time now) override;
  void RecoverPartially(uint32_t shard, absl::Time now) override;
  void GiveUpPartialRecovery(const absl::Status& why, absl::Time now) override;
  void CancelMoves(const absl::Status& why, absl::Time now) override;
  void RefreshView(absl::Time now) override;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_DUTIES_H_
