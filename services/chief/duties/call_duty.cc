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
  // The shard may know a later chief: a write to the store finds out whether there is one.
  if (absl::IsFailedPrecondition(reply.status())) job_->writer.Note();
  std::optional<ShardCalls::Answer> answer = job_->calls.OnReply(call, std::move(reply), now);
  // Every task that ends makes all shards close its stream. These answers say nothing new about a
  // shard, and examining all members and the balance after each of them would take time quadratic
  // in the number of shards.
  const bool closed = answer && answer->reply.ok() && answer->IsTo<v1::CloseStreamsRequest>();
  if (!closed) job_->placement.heard_of_shards = true;
  if (!answer) return std::nullopt;
  const Shard* shard = job_->placement.shards.Find(answer->shard);
  // The answer of a process that was replaced since is ignored.
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
