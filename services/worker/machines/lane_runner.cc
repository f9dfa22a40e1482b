#include "worker/machines/lane_runner.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "capstan/base/overloaded.h"

namespace capstan::worker {

std::unique_ptr<RunnerMachine> NewLaneRunner(const LaneLease& lease) {
  return std::make_unique<LaneRunner>(lease);
}

std::unique_ptr<RunnerMachine> LaneRunner::Clone() const {
  return std::make_unique<LaneRunner>(*this);
}

void LaneRunner::Handle(const Event& event, const RunnerContext& context) {
  std::visit(Overloaded{
                 [&](const OpenDone& done) { OnOpened(done, context); },
                 [&](const BatchRead& read) { OnRead(read); },
                 [&](const EndOfData& end) { OnEnd(end); },
                 [&](const PullDone& done) { OnPulled(done, context); },
                 [&](const Computed& computed) { OnComputed(computed); },
                 [&](const PushDone& done) { OnPushed(done, context); },
                 [&](const ReportDone& done) { OnReported(done, context); },
                 [&](const ViewChanged& view) { OnView(view); },
                 [](const auto&) {},
             },
             event);
}

void LaneRunner::Pump(const RunnerContext& context) {
  if (draining_ && stage_ < Stage::kComputing) return Finish(Finished::Why::kReturned, context);
  PumpOpen(context);
  PumpReads();
  PumpPulls(context);
  PumpStages(context);
  PumpReport(context);
}

LaneName LaneRunner::Name() const { return {lease_.lane, options_.generation, round_, closed_}; }

void LaneRunner::NameLease(SendClock& told) const {
  told.stage = LaneName{.lane = lease_.lane, .generation = options_.generation};
}

// ---- the round ----

void LaneRunner::PumpOpen(const RunnerContext& context) {
  if (stage_ != Stage::kOpening || !Due(open_, context)) return;
  open_.Fly(NextTicket());
  Do(SendOpen{open_.ticket, lease_.lane, options_.generation, lease_.open_wait, counted_});
}

void LaneRunner::OpenAgain() {
  stage_ = Stage::kOpening;
  open_ = {};
  pulls_.clear();
}

void LaneRunner::OnOpened(const OpenDone& done, const RunnerContext& context) {
  if (!open_.Awaits(done.ticket)) return;
  if (const Verdict verdict = Judge(done.status); verdict != Verdict::kOk) {
    return Again(open_, verdict == Verdict::kRoundOver ? Verdict::kAgain : verdict, done.status, {},
                 context);
  }
  switch (done.answer) {
    case v1::OpenRoundReply::ANSWER_OLD_GENERATION:
      return Finish(Finished::Why::kLost, context);
    case v1::OpenRoundReply::ANSWER_ENDED:
      SettleBelow(done.cursor);
      progress_.total_batches = done.cursor;
      return Finish(Finished::Why::kDone, context);
    case v1::OpenRoundReply::ANSWER_OPEN:
      return OnRound(done, context);
    default:  // WAIT
      counted_ = true;
      // All rounds below done.round are over for this lane. Other trainers may be waiting until
      // this one tells its clock.
      if (done.round > 0) context.clock.AdvanceTo(done.round - 1);
      open_.failures = 0;
      return open_.Wait(options_.backoff, {}, context);
  }
}

void LaneRunner::OnRound(const OpenDone& done, const RunnerContext& context) {
  counted_ = false;
  SettleBelow(done.cursor);
  if (done.round == round_ && !repeated_) {
    // The coordinator names the same round again: a shard took it for closed, or the coordinator
    // took this lane's report for late. Waits, so as not to ask the same at once.
    repeated_ = true;
    return open_.Wait(options_.backoff, {}, context);
  }
  repeated_ = false;
  if (done.round == round_ && gradient_) {
    stage_ = Stage::kStaging;  // The same computation goes on where it stopped.
    return;
  }
  if (gradient_) ++progress_.late;
  gradient_.reset();
  round_ = done.round;
  closed_ = std::make_shared<const RoundCommit>(done.closed);
  context.clock.AdvanceTo(round_ - 1);
  stage_ = Stage::kReading;
}

void LaneRunner::SettleBelow(uint64_t cursor) {
  for (auto batch = read_.begin(); batch != read_.end() && batch->first < cursor;) {
    const bool mine = gradient_ && gradient_->batch == batch->first;
    if (mine && !gradient_->nonfinite) {
      progress_.examples += batch->second.examples;
      progress_.loss_sum += gradient_->loss_sum;
    }
    Do(Forget{batch->first, mine && !gradient_->nonfinite});
    if (mine) gradient_.reset();
    batch = read_.erase(batch);
  }
  progress_.batches_done = std::max(progress_.batches_done, cursor);
  next_read_ = std::max(next_read_, cursor);
}

// ---- reading ----

void LaneRunner::PumpReads() {
  if (draining_ || round_ == 0) return;  // The first round tells the cursor.
  const uint64_t until = progress_.batches_done + 1 + static_cast<uint64_t>(options_.read_ahead);
  while (next_read_ < progress_.total_batches.value_or(until) && next_read_ < until) {
    Do(ReadBatch{next_read_++});
  }
}

void LaneRunner::OnRead(const BatchRead& read) {
  if (read.batch < progress_.batches_done) return Do(Forget{read.batch, false});
  read_.try_emplace(read.batch, read);
}

void LaneRunner::OnEnd(const EndOfData& end) { progress_.total_batches = end.batches; }

bool LaneRunner::AtEnd() const {
  return progress_.total_batches && progress_.batches_done >= *progress_.total_batches;
}

// ---- pulling ----

void LaneRunner::PumpPulls(const RunnerContext& context) {
  if (stage_ == Stage::kReading && AtEnd()) {
    stage_ = Stage::kReporting;
    report_ = {};
    return;
  }
  const auto batch = read_.find(progress_.batches_done);
  if (stage_ == Stage::kReading && batch != read_.end()) {
    stage_ = Stage::kPulling;
    pulls_.clear();
    for (ShardIndex shard : batch->second.shards) pulls_[shard] = {};
  }
  if (stage_ != Stage::kPulling) return;
  for (auto& [shard, call] : pulls_) {
    if (!Due(call, context)) continue;
    call.Fly(NextTicket());
    Do(SendPull{call.ticket, shard, progress_.batches_done, round_ - 1, false, Name()});
  }
  if (!AllDone(pulls_)) return;
  stage_ = Stage::kComputing;
  Do(Compute{progress_.batches_done});
}

void LaneRunner::OnPulled(const PullDone& done, const RunnerContext& context) {
  for (auto& [shard, call] : pulls_) {
    if (!call.Awaits(done.ticket)) continue;
    const Verdict verdict = Judge(done.status);
    if (verdict == Verdict::kOk) return call.Done();
    if (verdict == Verdict::kRoundOver) return OpenAgain();
    if (absl::IsDeadlineExceeded(done.status)) {
      context.clock.ToldNothing(shard);
      call.failures = 0;
    }
    return Again(call, verdict, done.status, done.retry_after, context);
  }
}

// ---- computing and staging ----

void LaneRunner::OnComputed(const Computed& computed) {
  if (stage_ != Stage::kComputing || computed.batch != progress_.batches_done) return;
  gradient_ = computed;
  if (computed.nonfinite) ++progress_.nonfinite;
  BeginStaging();
}

void LaneRunner::BeginStaging() {
  stage_ = Stage::kStaging;
  stages_.clear();
  for (ShardIndex shard : AllShards()) stages_[shard] = {};
}

void LaneRunner::PumpStages(const RunnerContext& context) {
  if (stage_ != Stage::kStaging) return;
  const BatchRead& batch = read_.at(gradient_->batch);
  for (auto& [shard, call] : stages_) {
    if (!Due(call, context)) continue;
    call.Fly(NextTicket());
    call.clock = ClockOfPush(shard, round_ - 1, context);
    const bool touches =
        std::find(batch.shards.begin(), batch.shards.end(), shard) != batch.shards.end();
    std::optional<StreamPush> stream;
    if (lease_.has_stream) {
      stream = StreamPush{batch.stream, batch.seq, options_.generation, batch.seq};
    }
    Do(SendPush{call.ticket, shard, batch.batch, call.clock, gradient_->nonfinite || !touches,
                stream, Name()});
  }
  if (!AllDone(stages_)) return;
  stage_ = Stage::kReporting;
  report_ = {};
}

void LaneRunner::OnPushed(const PushDone& done, const RunnerContext& context) {
  for (auto& [shard, call] : stages_) {
    if (!call.Awaits(done.ticket)) continue;
    if (done.status.ok() && done.outcomes.old_generation > 0) {
      return Finish(Finished::Why::kLost, context);
    }
    const Verdict verdict = done.status.ok() ? Judge(done.outcomes) : Judge(done.status);
    if (verdict == Verdict::kOk) {
      context.clock.Finished(shard, round_ - 1, call.clock);
      return call.Done();
    }
    if (verdict == Verdict::kRoundOver) {
      call = {};
      return stage_ == Stage::kStaging ? OpenAgain() : void();
    }
    return Again(call, verdict, done.status, done.retry_after, context);
  }
}

// ---- reporting ----

void LaneRunner::PumpReport(const RunnerContext& context) {
  if (stage_ != Stage::kReporting || !Due(report_, context)) return;
  report_.Fly(NextTicket());
  const bool end = !gradient_;
  const bool counts = gradient_ && !gradient_->nonfinite;
  Do(SendReport{report_.ticket, lease_.lane, options_.generation, round_,
                counts ? read_.at(gradient_->batch).examples : 0, end});
}

void LaneRunner::OnReported(const ReportDone& done, const RunnerContext& context) {
  if (!report_.Awaits(done.ticket)) return;
  if (const Verdict verdict = Judge(done.status); verdict != Verdict::kOk) {
    return Again(report_, verdict == Verdict::kRoundOver ? Verdict::kAgain : verdict, done.status,
                 {}, context);
  }
  switch (done.answer) {
    case v1::ReportLaneReply::ANSWER_OLD_GENERATION:
      return Finish(Finished::Why::kLost, context);
    case v1::ReportLaneReply::ANSWER_COUNTED:
      if (!gradient_) return Finish(Finished::Why::kDone, context);
      // The round will close with this lane's gradient, whichever lane opens the next one.
      counted_ = true;
      SettleBelow(gradient_->batch + 1);
      return OpenAgain();
    default:  // LATE: the next OpenRound reply names the cursor of the batch to be offered.
      OpenAgain();
  }
}

// ---- the view ----

// If partitions have moved, everything under way is sent again by the new map. That includes calls
// to the coordinator, which may be another shard now.
void LaneRunner::OnView(const ViewChanged& view) {
  for (const BatchRead& plan : view.replanned) {
    const auto found = read_.find(plan.batch);
    if (found != read_.end()) found->second.shards = plan.shards;
  }
  if (stage_ == Stage::kStaging) StageOn(view.shards);
  if (!view.moved) return;
  counted_ = false;
  if (stage_ == Stage::kOpening) open_ = {};
  if (stage_ == Stage::kPulling) stage_ = Stage::kReading;
  if (stage_ == Stage::kStaging) BeginStaging();
  if (stage_ == Stage::kReporting) report_ = {};
}

// Each lane stages on every shard of the view. A shard that has left the view owns no partition, so
// no round lacks its stage.
void LaneRunner::StageOn(const std::vector<ShardIndex>& shards) {
  std::erase_if(stages_, [&shards](const auto& stage) {
    return !std::binary_search(shards.begin(), shards.end(), stage.first);
  });
  for (ShardIndex shard : shards) stages_.try_emplace(shard);
}

std::vector<const Call*> LaneRunner::Calls() const {
  if (stage_ == Stage::kOpening) return {&open_};
  if (stage_ == Stage::kReporting) return {&report_};
  std::vector<const Call*> calls;
  if (stage_ != Stage::kPulling && stage_ != Stage::kStaging) return calls;
  for (const auto& [shard, call] : stage_ == Stage::kPulling ? pulls_ : stages_) {
    calls.push_back(&call);
  }
  return calls;
}

bool LaneRunner::Pushing(ShardIndex shard) const {
  const auto call = stages_.find(shard);
  return stage_ == Stage::kStaging && call != stages_.end() &&
         call->second.state != Call::State::kDone;
}

std::string LaneRunner::DebugString() const {
  std::string text =
      absl::StrCat(BaseDebugString(), " stage ", static_cast<int>(stage_), " r", round_, " next ",
                   next_read_, gradient_ ? " gradient " : " ", counted_ ? "counted " : "",
                   std::string{open_.Letter(), report_.Letter(), ' '}, worker::DebugString(pulls_),
                   "|", worker::DebugString(stages_));
  for (const auto& [number, batch] : read_) absl::StrAppend(&text, " b", number);
  return text;
}

}  // namespace capstan::worker
