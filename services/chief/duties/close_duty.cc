#include "chief/duties/close_duty.h"

namespace capstan::chief {

void CloseDuty::Advance() {
  job_->training.closes.PassOn(job_->placement.moves.wants_quiet(), job_->writer);
  if (job_->checkpoints.checkpointer.running()) return;
  job_->training.closes.Send(job_->placement.views.owners(), job_->options.call_deadline,
                             job_->calls);
}

void CloseDuty::OnAnswer(const ShardCalls::Answer& answer) {
  if (answer.IsTo<v1::CloseStreamsRequest>()) job_->training.closes.OnClosed(answer.shard);
}

}  // namespace capstan::chief
