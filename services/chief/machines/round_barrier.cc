#include "chief/machines/round_barrier.h"

namespace capstan::chief {
namespace {

v1::HoldRoundsRequest Hold(bool hold, uint64_t number) {
  v1::HoldRoundsRequest request;
  request.set_hold(hold);
  request.set_number(number);
  return request;
}

}  // namespace

void RoundBarrier::Seek(uint32_t coordinator, absl::Duration deadline, ShardCalls& calls) {
  if (state_ != State::kNone || calls.Pending<v1::HoldRoundsRequest>()) return;
  state_ = State::kHolding;
  calls.Send(coordinator, Hold(true, ++orders_), {.deadline = deadline});
}

void RoundBarrier::AskAnew(uint32_t coordinator, bool replaced, absl::Duration deadline,
                           ShardCalls& calls) {
  if (state_ == State::kNone) {
    if (replaced) Release(coordinator, deadline, calls);
    return;
  }
  calls.Cancel<v1::HoldRoundsRequest>();
  calls.Cancel<v1::CommitRoundRequest>();
  state_ = State::kHolding;
  calls.Send(coordinator, Hold(true, ++orders_), {.deadline = deadline});
}

void RoundBarrier::OnHeld(const v1::HoldRoundsReply& reply, const std::vector<uint32_t>& shards,
                          absl::Duration deadline, ShardCalls& calls) {
  if (state_ != State::kHolding) return;
  state_ = State::kCommitting;
  held_ = reply;
  v1::CommitRoundRequest request;
  *request.mutable_closed() = reply.last();
  for (uint32_t shard : shards) calls.Send(shard, request, {.deadline = deadline});
}

bool RoundBarrier::OnCommitted(const ShardCalls& calls) {
  if (state_ != State::kCommitting || calls.Pending<v1::CommitRoundRequest>()) return false;
  state_ = State::kReached;
  return true;
}

void RoundBarrier::Release(uint32_t coordinator, absl::Duration deadline, ShardCalls& calls) {
  state_ = State::kNone;
  calls.Cancel<v1::HoldRoundsRequest>();
  calls.Cancel<v1::CommitRoundRequest>();
  calls.Send(coordinator, Hold(false, ++orders_), {.deadline = deadline, .hurries = true});
}

}  // namespace capstan::chief
