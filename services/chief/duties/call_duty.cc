#include "chief/duties/call_duty.h"

#include <string>
#include <utility>

namespace capstan::chief {

void CallDuty::Send(absl::Time now) {
  for (CallShard& call :
       job_->calls.TakeDue(job_->placement.gate.published(), job_->placement.shards, now)) {
    job_->outbox.Add(std::move(call));
  }
}

std::optional<ShardCalls::Answer> CallDuty::OnReply(uint64_t call, absl::StatusOr<ShardReply> reply,
                                                    absl::Time now) {
  // The shard may have heard of a later chief: a write to the store finds out.
  if (absl::IsFailedPrecondition(reply.status())) job_->writer.Note();
  std::optional<ShardCalls::Answer> answer = job_->calls.OnReply(call, std::move(reply), now);
  // Every task that ends has all shards close its stream: that tells nothing new about a shard, and
  // to look at all members and at the balance for each of these answers would cost the square of
  // the shards.
  const bool closed = answer && answer->reply.ok() && answer->IsTo<v1::CloseStreamsRequest>();
  if (!closed) job_->placement.heard_of_shards = true;
  if (!answer) return std::nullopt;
  const Shard* shard = job_->placement.shards.Find(answer->shard);
  // What a process did that has been replaced since does not count.
  const bool present = shard != nullptr && Raw(shard->incarnation) == answer->incarnation;
  return present ? std::move(answer) : std::nullopt;
}

void CallDuty::CheckRefusal() {
  if (job_->ended() || job_->state == v1::JOB_STATE_PENDING) return;
  if (absl::Status refusal = job_->calls.Refusal(); !refusal.ok()) {
    job_->Fail(v1::FAILURE_KIND_ERROR, std::string(refusal.message()));
  }
}

absl::Time CallDuty::NextWake() const { return job_->calls.NextHurried(); }

}  // namespace capstan::chief
