#include "chief/duties/duties.h"

namespace capstan::chief {

void Duties::ReturnToCheckpoint(std::string_view cause, uint32_t shard, absl::Time now) {
  CancelMoves(absl::CancelledError("the job returns to a checkpoint"), now);
  promotion.Forget();
  recovery.Return(cause, shard, now);
}

void Duties::RecoverPartially(uint32_t shard, absl::Time now) { partial.Begin(shard, now); }

void Duties::GiveUpPartialRecovery(const absl::Status& why, absl::Time now) {
  partial.GiveUp(why, now);
}

void Duties::CancelMoves(const absl::Status& why, absl::Time now) { moves.Cancel(why, now); }

void Duties::RefreshView(absl::Time now) { state.RefreshView(now); }

}  // namespace capstan::chief
