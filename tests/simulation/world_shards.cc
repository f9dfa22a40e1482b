// The shards of a simulated world: what happens when a message arrives. As in the service, only
// that there is no payload.
#include <utility>

#include "capstan/consistency/decisions.h"
#include "tests/simulation/world.h"
#include "worker/machines/calls.h"

namespace capstan::simulation {

using worker::OutcomeSummary;

void SmallWorld::Serve(Message message) {
  const worker::Action request = message.request;
  if (const auto* pull = std::get_if<worker::SendPull>(&request)) return ServePull(message, *pull);
  if (const auto* push = std::get_if<worker::SendPush>(&request)) return ServePush(message, *push);
  if (const auto* open = std::get_if<worker::SendOpen>(&request)) return ServeOpen(message, *open);
  if (const auto* report = std::get_if<worker::SendReport>(&request)) {
    return ServeReport(message, *report);
  }
  const auto& clock = std::get<worker::SendClock>(request);
  if (options_->lie != Lie::kDeafClocks) {
    TellClock(shards_.Edit(static_cast<size_t>(Raw(clock.shard))), message.runner, clock.clock);
  }
  Answer(message, worker::ClockDone{clock.ticket, absl::OkStatus()});
}

// ---- pulls ----

void SmallWorld::ServePull(Message message, const worker::SendPull& pull) {
  const auto index = static_cast<size_t>(Raw(pull.shard));
  if (pull.lane) LearnClosed(index, *pull.lane->closed);
  if (!options_->ssp() || options_->lie == Lie::kNoWait) return Read(message, pull);
  const ps::WaiterId waiter{message.id};
  if (shards_.Edit(index).clocks.Pull(waiter, pull.clock, absl::InfiniteFuture(), /*bytes=*/1) ==
      ps::PullWait::kGo) {
    return Read(message, pull);
  }
  message.parked = true;
  messages_.push_back(std::move(message));
}

void SmallWorld::Read(const Message& message, const worker::SendPull& pull) {
  const auto index = static_cast<size_t>(Raw(pull.shard));
  const size_t work = runners_[message.runner].work;
  const uint64_t round = pull.lane ? pull.lane->round : 0;
  absl::Status status;
  CheckBound(shards_[index], pull);
  if (options_->sync()) {
    Shard& shard = shards_.Edit(index);
    for (Partition& partition : shard.partitions) {
      if (Touches(work, pull.batch, partition.index)) CatchUp(shard, partition);
    }
  }
  for (const Partition& partition : shards_[index].partitions) {
    if (!Touches(work, pull.batch, partition.index)) continue;
    const ps::PullAdmission admission = partition.machine.AdmitPull(round);
    if (admission == ps::PullAdmission::kGo) continue;
    if (options_->lie == Lie::kNoRoundCheck) {
      Violate("PullExact: a pull reads another round than its own");
    }
    status = admission == ps::PullAdmission::kRoundClosed
                 ? absl::AbortedError("the round is over")
                 : absl::ResourceExhaustedError("a round commit is missing");
  }
  Answer(message, worker::PullDone{pull.ticket, status, {}});
}

void SmallWorld::AnswerPulls(Shard&, const ps::PullAnswers& answers) {
  for (const ps::PullAnswer& answer : answers) {
    const Message message = Unpark(static_cast<uint64_t>(answer.waiter));
    Read(message, std::get<worker::SendPull>(message.request));
  }
}

SmallWorld::Message SmallWorld::Unpark(uint64_t id) {
  for (size_t i = 0; i < messages_.size(); ++i) {
    if (messages_[i].id != id) continue;
    Message message = std::move(messages_[i]);
    messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(i));
    return message;
  }
  Violate("a waiter is answered that does not wait");
  return {};
}

// ---- pushes ----

void SmallWorld::ServePush(const Message& message, const worker::SendPush& push) {
  const auto index = static_cast<size_t>(Raw(push.shard));
  Shard& shard = shards_.Edit(index);
  const size_t work = runners_[message.runner].work;
  const bool deaf = options_->lie == Lie::kStageOnOneShard && push.stage && index > 0;
  if (push.stage) LearnClosed(index, *push.stage->closed);
  OutcomeSummary outcomes;
  for (Partition& partition : shard.partitions) {
    if (push.empty || deaf || !Touches(work, push.batch, partition.index)) continue;
    CatchUp(shard, partition);
    for (Part part : {Part::kDense, Part::kSparse}) {
      if (Has(part)) outcomes.Count(PushPart(partition, part, message, push));
    }
  }
  if (outcomes.old_generation == 0 && worker::Judge(outcomes) == worker::Verdict::kOk) {
    const auto step = runners_[message.runner].steps.find(push.batch);
    if (step != runners_[message.runner].steps.end()) {
      shard.carried_out[message.runner].insert(step->second);
    }
    const bool eager = options_->lie == Lie::kEagerClock;
    TellClock(shard, message.runner, push.clock + (eager ? 1 : 0));
  }
  Answer(message, worker::PushDone{push.ticket, absl::OkStatus(), outcomes, {}});
}

v1::Outcome SmallWorld::PushPart(Partition& partition, Part part, const Message& message,
                                 const worker::SendPush& push) {
  const size_t work = runners_[message.runner].work;
  const ps::GradientHandle handle =
      Gradient{message.runner, push.batch, message.computation}.handle();
  if (partition.machine.IsSync(part)) {
    Generation generation = push.stage->generation;
    if (options_->lie == Lie::kNoLaneFence) generation = NewestGeneration(work);
    const ps::Decision decision =
        partition.machine.PushStage(part, runners_[message.runner].timeline,
                                    {push.stage->lane, generation, push.stage->round, handle});
    Note(partition, decision);
    if (options_->lie == Lie::kHastySum) {
      LaneCounts hasty(Timeline{1});
      const auto examples = static_cast<uint32_t>(work + 1);
      hasty.Learn({push.stage->round, {{push.stage->lane, generation, examples}}, {}});
      Note(partition, partition.machine.AddCounted(hasty));
    }
    return decision.outcome;
  }
  ps::StreamGradient gradient{*push.stream, partition.machine.version(part), handle};
  if (options_->lie == Lie::kNoDedupe) gradient.name.stream.value += 1000 * message.id;
  if (options_->lie == Lie::kForgetClosed && works_[work].done) gradient.name.stream.value += 1000;
  if (options_->lie == Lie::kNoLowWatermark) gradient.name.low_watermark = 0;
  if (options_->lie == Lie::kNoStreamFence) gradient.name.generation = NewestGeneration(work);
  const ps::Decision decision = partition.machine.PushStream(
      part, runners_[message.runner].timeline, gradient, absl::UnixEpoch());
  if (decision.outcome == v1::OUTCOME_APPLIED || decision.outcome == v1::OUTCOME_QUEUED) {
    CheckAccepted(partition, part, push, message.runner);
  }
  Note(partition, decision);
  return decision.outcome;
}

void SmallWorld::TellClock(Shard& shard, size_t runner, uint64_t clock) {
  if (!options_->ssp()) return;
  AnswerPulls(shard, shard.clocks.Finished(TrainerId{runner + 1}, clock));
}

void SmallWorld::LearnClosed(size_t shard, RoundCommit closed) {
  if (options_->lie == Lie::kTornSet && shard == 1 && closed.lanes.size() > 1)
    closed.lanes.pop_back();
  shards_.Edit(shard).log.Learn(closed);
}

ps::NewsCursor SmallWorld::Told(const Shard& shard) const {
  return {shard.counts.round(), shard.counts.counted(), shard.counts.ended()};
}

void SmallWorld::LearnNews(Shard& shard, const LaneNews& news) {
  shard.counts.Learn(news);
  for (Partition& partition : shard.partitions) {
    CatchUp(shard, partition);
    Note(partition, partition.machine.AddCounted(shard.counts));
  }
}

void SmallWorld::CatchUp(Shard& shard, Partition& partition) {
  if (!options_->sync()) return;
  const uint64_t before = partition.machine.round();
  Note(partition, partition.machine.CatchUp(shard.log.After(before)));
  for (uint64_t round = before + 1; round <= partition.machine.round(); ++round) {
    CheckRound(partition, round);
  }
}

// ---- the coordinator ----

void SmallWorld::ServeOpen(Message message, const worker::SendOpen& open) {
  const size_t work = runners_[message.runner].work;
  Generation generation = open.generation;
  if (options_->lie == Lie::kNoCoordinatorFence) generation = NewestGeneration(work);
  const ps::WaiterId waiter{message.id};
  message.parked = true;
  messages_.push_back(std::move(message));
  AnswerOpens(*coordinator_->Open({waiter, open.lane, generation, absl::InfiniteFuture()},
                                  absl::UnixEpoch()));
}

void SmallWorld::ServeReport(const Message& message, const worker::SendReport& report) {
  const size_t work = runners_[message.runner].work;
  Generation generation = report.generation;
  if (options_->lie == Lie::kNoCoordinatorFence) generation = NewestGeneration(work);
  if (options_->lie == Lie::kEmptyLanesCount && report.end_of_data) {
    const ps::LaneReport empty{report.lane, generation, coordinator_->open_round(), 0, false};
    AnswerOpens(coordinator_->Report(empty)->answers);
    return Answer(message, worker::ReportDone{report.ticket, absl::OkStatus(),
                                              v1::ReportLaneReply::ANSWER_COUNTED});
  }
  const ps::CoordinatorMachine::ReportResult result = *coordinator_->Report(
      {report.lane, generation, report.round, report.examples, report.end_of_data});
  NoteClosed();
  Answer(message, worker::ReportDone{report.ticket, absl::OkStatus(), result.answer});
  AnswerOpens(result.answers);
}

void SmallWorld::AnswerOpens(const ps::CoordinatorAnswers& answers) {
  NoteClosed();
  for (const ps::CoordinatorAnswer& answer : answers) {
    if (answer.waiter == kChief) {
      barrier_ = Barrier::kReached;
      barrier_round_ = std::get<ps::HoldAnswer>(answer.answer).last.round;
      if (options_->lie == Lie::kNoHold) AnswerOpens(coordinator_->Release());
      continue;
    }
    const Message message = Unpark(static_cast<uint64_t>(answer.waiter));
    const auto& open = std::get<ps::OpenAnswer>(answer.answer);
    const uint64_t cursor =
        options_->lie == Lie::kSkipLate && open.round > 0 ? open.round - 1 : open.cursor;
    Answer(message,
           worker::OpenDone{std::get<worker::SendOpen>(message.request).ticket, absl::OkStatus(),
                            open.answer, open.round, open.closed, cursor});
  }
}

}  // namespace capstan::simulation
