#include "worker/machines/task_runner.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "capstan/base/overloaded.h"

namespace capstan::worker {
std::unique_ptr<RunnerMachine> NewTaskRunner(const TaskLease& lease) {
  return std::make_unique<TaskRunner>(lease);
}

TaskRunner::TaskRunner(const TaskLease& lease)
    : RunnerBase(lease.options),
      lease_(lease),
      next_read_(lease.first_batch),
      next_compute_(lease.first_batch) {
  lease_.push_window = std::clamp(lease.push_window, 1, static_cast<int>(StreamLedger::kWindow));
  progress_.batches_done = lease.first_batch;
}

std::unique_ptr<RunnerMachine> TaskRunner::Clone() const {
  return std::make_unique<TaskRunner>(*this);
}

void TaskRunner::Handle(const Event& event, const RunnerContext& context) {
  std::visit(Overloaded{
                 [&](const BatchRead& read) { OnRead(read); },
                 [&](const EndOfData& end) { OnEnd(end); },
                 [&](const PullDone& done) { OnPulled(done, context); },
                 [&](const Computed& computed) { OnComputed(computed); },
                 [&](const PushDone& done) { OnPushed(done, context); },
                 [&](const ViewChanged& view) { OnView(view); },
                 [&](const Drain&) { OnDrain(); },
                 [](const auto&) {},
             },
             event);
}

void TaskRunner::Pump(const RunnerContext& context) {
  PumpPulls(context);
  PumpCompute();
  PumpReads();
  // After PumpCompute(): pulls the batch after the one that has just begun to compute.
  PumpPulls(context);
  PumpPushes(context);
  if (!finished()) PumpEnd(context);
}

// ---- reading ----

void TaskRunner::PumpReads() {
  const uint64_t until = next_compute_ + 1 + static_cast<uint64_t>(options_.read_ahead);
  while (!draining_ && next_read_ < until && next_read_ < progress_.total_batches.value_or(until)) {
    batches_.try_emplace(next_read_);
    Do(ReadBatch{next_read_++});
  }
}

void TaskRunner::OnRead(const BatchRead& read) {
  const auto found = batches_.find(read.batch);
  if (found == batches_.end() || found->second.stage != Stage::kReading) return;
  Batch& batch = found->second;
  batch.stage = Stage::kRead;
  batch.examples = read.examples;
  batch.shards = read.shards;
}

void TaskRunner::OnEnd(const EndOfData& end) {
  progress_.total_batches = end.batches;
  batches_.erase(batches_.lower_bound(end.batches), batches_.end());
}

// ---- pulling ----

// Batch `number` is pulled while the one before it computes, but not before enough pushes have been
// acknowledged: a pull that overtook these pushes would miss their updates. The last batches of the
// trainer's task before may be among them. An evaluation pushes nothing, and more than one batch
// that waits to be computed would only take memory.
bool TaskRunner::MayPull(uint64_t number, const RunnerContext& context) const {
  if (!Trains()) return number <= progress_.batches_done + 1;
  const auto window = static_cast<uint64_t>(lease_.push_window);
  return number <= progress_.batches_done + window && context.clock.open_steps() <= window;
}

void TaskRunner::PumpPulls(const RunnerContext& context) {
  const auto found = batches_.find(next_compute_);
  if (found == batches_.end()) return;
  Batch& batch = found->second;
  if (batch.stage == Stage::kRead && !draining_ && MayPull(found->first, context)) {
    batch.stage = Stage::kPulling;
    if (Trains()) batch.step = context.clock.BeginStep();
    for (ShardIndex shard : batch.shards) batch.pulls[shard] = {};
  }
  if (batch.stage != Stage::kPulling) return;
  for (auto& [shard, call] : batch.pulls) {
    if (!Due(call, context)) continue;
    call.Fly(NextTicket());
    Do(SendPull{call.ticket, shard, found->first, batch.step, lease_.evaluation, std::nullopt});
  }
  if (AllDone(batch.pulls)) batch.stage = Stage::kPulled;
}

void TaskRunner::OnPulled(const PullDone& done, const RunnerContext& context) {
  for (auto& [number, batch] : batches_) {
    for (auto& [shard, call] : batch.pulls) {
      if (!call.Awaits(done.ticket)) continue;
      const Verdict verdict = Judge(done.status);
      if (verdict == Verdict::kOk) return call.Done();
      if (absl::IsDeadlineExceeded(done.status)) {
        // The pull may have waited at the shard for slower trainers. If the shard took this trainer
        // for one of them, it has forgotten what it was told of the clock: tell it again.
        context.clock.ToldNothing(shard);
        call.failures = 0;
      }
      return Again(call, verdict == Verdict::kRoundOver ? Verdict::kAgain : verdict, done.status,
                   done.retry_after, context);
    }
  }
}

// ---- computing ----

// What has been pulled is handed over at once, also while the batch before it computes: whoever
// computes goes on with it without asking anybody.
void TaskRunner::PumpCompute() {
  const auto found = batches_.find(next_compute_);
  if (draining_ || found == batches_.end() || found->second.stage != Stage::kPulled) return;
  found->second.stage = Stage::kComputing;
  Do(Compute{next_compute_++});
}

void TaskRunner::OnComputed(const Computed& computed) {
  const auto found = batches_.find(computed.batch);
  if (found == batches_.end() || found->second.stage != Stage::kComputing) return;
  if (GivenUp(computed.batch)) return;
  Batch& batch = found->second;
  batch.stage = Stage::kComputed;
  batch.loss_sum = computed.loss_sum;
  batch.nonfinite = computed.nonfinite;
  if (computed.nonfinite) ++progress_.nonfinite;
}

// One step of a program may take as long as a drain may. So only the first of the batches that have
// been handed over is waited for: it is being computed, and the others lie behind it.
void TaskRunner::OnDrain() {
  if (last_computed_) return;
  last_computed_ = next_compute_;
  for (const auto& [number, batch] : batches_) {
    if (batch.stage != Stage::kComputing) continue;
    last_computed_ = number;
    break;
  }
}

bool TaskRunner::GivenUp(uint64_t number) const {
  return last_computed_ && number > *last_computed_;
}

// ---- pushing ----

void TaskRunner::BeginPushes(Batch& batch) {
  batch.stage = Stage::kPushing;
  batch.pushes.clear();
  if (!Trains()) return;
  if (options_.ssp) {
    for (ShardIndex shard : AllShards()) batch.pushes[shard] = {};
  } else if (!batch.nonfinite) {
    for (ShardIndex shard : batch.shards) batch.pushes[shard] = {};
  }
}

void TaskRunner::PumpPushes(const RunnerContext& context) {
  std::vector<uint64_t> settled;
  for (auto& [number, batch] : batches_) {
    const bool fits = number < progress_.batches_done + static_cast<uint64_t>(lease_.push_window);
    if (batch.stage == Stage::kComputed && fits) BeginPushes(batch);
    if (batch.stage != Stage::kPushing) continue;
    for (auto& [shard, call] : batch.pushes) {
      if (!Due(call, context)) continue;
      call.Fly(NextTicket());
      call.clock = ClockOfPush(shard, batch.step, context);
      const bool touches =
          std::find(batch.shards.begin(), batch.shards.end(), shard) != batch.shards.end();
      Do(SendPush{call.ticket, shard, number, call.clock, batch.nonfinite || !touches,
                  StreamPush{lease_.stream, number, options_.generation, progress_.batches_done},
                  std::nullopt});
    }
    if (AllDone(batch.pushes)) settled.push_back(number);
  }
  for (uint64_t number : settled) Settle(number, context);
  // The settled prefix has grown, so pulls and pushes that waited for the window may begin.
  if (!settled.empty()) Pump(context);
}

void TaskRunner::OnPushed(const PushDone& done, const RunnerContext& context) {
  for (auto& [number, batch] : batches_) {
    for (auto& [shard, call] : batch.pushes) {
      if (!call.Awaits(done.ticket)) continue;
      if (done.status.ok() && done.outcomes.old_generation > 0) {
        return Finish(Finished::Why::kLost, context);
      }
      const Verdict verdict = done.status.ok() ? Judge(done.outcomes) : Judge(done.status);
      if (verdict == Verdict::kOk) {
        context.clock.Finished(shard, batch.step, call.clock);
        return call.Done();
      }
      return Again(call, verdict == Verdict::kRoundOver ? Verdict::kAgain : verdict, done.status,
                   done.retry_after, context);
    }
  }
}

void TaskRunner::Settle(uint64_t number, const RunnerContext& context) {
  const auto found = batches_.find(number);
  const Batch& batch = found->second;
  const bool trained = !batch.nonfinite;
  settled_[number] = {trained ? batch.examples : 0, trained ? batch.loss_sum : 0};
  if (Trains()) context.clock.Over(batch.step);
  batches_.erase(found);
  Do(Forget{number, trained});
  for (auto next = settled_.find(progress_.batches_done); next != settled_.end();
       next = settled_.find(progress_.batches_done)) {
    progress_.examples += next->second.examples;
    progress_.loss_sum += next->second.loss_sum;
    settled_.erase(next);
    ++progress_.batches_done;
  }
}

// ---- the end, and the view ----

void TaskRunner::PumpEnd(const RunnerContext& context) {
  if (progress_.total_batches && progress_.batches_done >= *progress_.total_batches) {
    return Finish(Finished::Why::kDone, context);
  }
  const bool busy = std::any_of(batches_.begin(), batches_.end(), [this](const auto& item) {
    return item.second.stage >= Stage::kComputing && !GivenUp(item.first);
  });
  if (draining_ && !busy) Finish(Finished::Why::kReturned, context);
}

void TaskRunner::OnView(const ViewChanged& view) {
  if (options_.ssp) TellShards(view.shards);
  for (const BatchRead& plan : view.replanned) {
    const auto found = batches_.find(plan.batch);
    if (found == batches_.end() || found->second.stage == Stage::kReading) continue;
    Batch& batch = found->second;
    batch.shards = plan.shards;
    // The shards' ledgers see to it that each gradient is applied exactly once, so the whole batch
    // may be pulled and pushed again.
    if (batch.stage == Stage::kPulling) {
      batch.pulls.clear();
      for (ShardIndex shard : batch.shards) batch.pulls[shard] = {};
    }
    if (batch.stage == Stage::kPushing) BeginPushes(batch);
  }
}

// ssp: every step is pushed to all shards of the view, so pushes to shards that left it are dropped
// and pushes to new ones added.
void TaskRunner::TellShards(const std::vector<ShardIndex>& shards) {
  for (auto& [number, batch] : batches_) {
    if (batch.stage != Stage::kPushing || !Trains()) continue;
    std::erase_if(batch.pushes, [&shards](const auto& push) {
      return !std::binary_search(shards.begin(), shards.end(), push.first);
    });
    for (ShardIndex shard : shards) batch.pushes.try_emplace(shard);
  }
}

std::vector<uint64_t> TaskRunner::OpenSteps() const {
  std::vector<uint64_t> steps;
  for (const auto& [number, batch] : batches_) {
    if (Trains() && batch.stage >= Stage::kPulling) steps.push_back(batch.step);
  }
  return steps;
}

std::vector<const Call*> TaskRunner::Calls() const {
  std::vector<const Call*> calls;
  for (const auto& [number, batch] : batches_) {
    for (const auto& [shard, call] : batch.pulls) calls.push_back(&call);
    for (const auto& [shard, call] : batch.pushes) calls.push_back(&call);
  }
  return calls;
}

bool TaskRunner::Pushing(ShardIndex shard) const {
  return std::any_of(batches_.begin(), batches_.end(), [shard](const auto& item) {
    const auto call = item.second.pushes.find(shard);
    return call != item.second.pushes.end() && call->second.state != Call::State::kDone;
  });
}

void TaskRunner::NameLease(SendClock& told) const {
  told.stream = StreamPush{lease_.stream, progress_.batches_done, options_.generation,
                           progress_.batches_done};
}

std::string TaskRunner::DebugString() const {
  std::string text = absl::StrCat(BaseDebugString(), " next ", next_read_, ",", next_compute_);
  for (const auto& [number, batch] : batches_) {
    absl::StrAppend(&text, " b", number, ":", static_cast<int>(batch.stage), "@", batch.step,
                    batch.nonfinite ? "!" : "", worker::DebugString(batch.pulls), "|",
                    worker::DebugString(batch.pushes));
  }
  for (const auto& [number, settled] : settled_) absl::StrAppend(&text, " ok", number);
  return text;
}

}  // namespace capstan::worker
