#include "tests/simulation/world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/consistency/decisions.h"

namespace capstan::simulation {

using worker::Action;
using worker::Event;

namespace {

constexpr size_t kMostEvents = 200;  // That one event may lead to without a message in between.

bool AnySync(const std::optional<v1::UpdatePolicy>& policy) { return policy && IsSync(*policy); }

worker::Ticket TicketOf(const Action& action) {
  return std::visit(
      [](const auto& a) -> worker::Ticket {
        if constexpr (requires { a.ticket; }) {
          return a.ticket;
        } else {
          return 0;
        }
      },
      action);
}

Event Failure(const Action& action, const absl::Status& status) {
  const worker::Ticket ticket = TicketOf(action);
  if (std::holds_alternative<worker::SendPull>(action)) return worker::PullDone{ticket, status, {}};
  if (std::holds_alternative<worker::SendPush>(action))
    return worker::PushDone{ticket, status, {}, {}};
  if (std::holds_alternative<worker::SendClock>(action)) return worker::ClockDone{ticket, status};
  if (std::holds_alternative<worker::SendOpen>(action))
    return worker::OpenDone{ticket, status, {}, 0, {}, 0};
  return worker::ReportDone{ticket, status, {}};
}

}  // namespace

bool SmallWorldOptions::sync() const { return AnySync(dense) || AnySync(sparse); }
bool SmallWorldOptions::ssp() const {
  return (dense && IsSsp(*dense)) || (sparse && IsSsp(*sparse));
}
bool SmallWorldOptions::has_stream() const {
  return (dense && !IsSync(*dense)) || (sparse && !IsSync(*sparse));
}

SmallWorld::SmallWorld(const SmallWorldOptions& options)
    : options_(std::make_shared<const SmallWorldOptions>(options)) {
  const v1::UpdatePolicy none;
  const v1::UpdatePolicy& dense = options.dense ? *options.dense : none;
  const v1::UpdatePolicy& sparse = options.sparse ? *options.sparse : none;
  const uint64_t bound = IsSsp(sparse) ? sparse.staleness() : dense.staleness();
  works_.resize(options.lengths.size());
  for (int s = 0; s < options.shards; ++s) {
    Shard shard{{}, ps::ClosedLog(), LaneCounts(Timeline{1}), ps::ClockMachine(bound), {}, {}};
    if (options.real_chief) {
      shard.timeline = Timeline{0};
      shard.serves = false;
    }
    for (int p = 0; p < options.partitions_per_shard && !options.real_chief; ++p) {
      const auto index = static_cast<size_t>(p * options.shards + s);
      shard.partitions.push_back(
          Partition{index, ps::PartitionMachine({Timeline{1}, dense, sparse, {}, 0})});
    }
    shards_.push_back(std::move(shard));
  }
  if (options.real_chief) return;
  const v1::UpdatePolicy& lanes = AnySync(options.dense) ? dense : sparse;
  if (options.sync()) {
    coordinator_.emplace(static_cast<int>(options.lengths.size()),
                         static_cast<int>(lanes.backup_workers()));
  }
  for (size_t work = 0; work < works_.size(); ++work) Grant(work, 0);
}

void SmallWorld::Violate(const std::string& what) {
  if (violation_.empty()) violation_ = what;
}

// ---- steps ----

std::vector<Step> SmallWorld::Enabled() const {
  std::vector<Step> steps;
  AddChiefSteps(steps);
  AddNetworkSteps(steps);
  return steps;
}

void SmallWorld::AddNetworkSteps(std::vector<Step>& steps) const {
  for (size_t i = 0; i < runners_.size(); ++i) {
    if (runners_[i].alive && !runners_[i].computing.empty()) {
      steps.push_back({Step::Kind::kCompute, i});
    }
  }
  for (size_t i = 0; i < messages_.size(); ++i) {
    if (messages_[i].parked) continue;
    steps.push_back({messages_[i].orphan ? Step::Kind::kStray : Step::Kind::kDeliver, i});
  }
  for (size_t i = 0; i < messages_.size(); ++i) {
    if (messages_[i].orphan) continue;
    if (budgets_.timeouts < options_->timeouts) steps.push_back({Step::Kind::kTimeout, i});
    if (messages_[i].parked) continue;
    if (budgets_.duplicates < options_->duplicates) steps.push_back({Step::Kind::kDuplicate, i});
  }
  for (size_t i = 0; i < runners_.size(); ++i) {
    if (!runners_[i].alive) continue;
    if (budgets_.crashes < options_->crashes) steps.push_back({Step::Kind::kCrash, i});
    if (budgets_.drains < options_->drains) steps.push_back({Step::Kind::kDrain, i});
  }
}

void SmallWorld::Take(const Step& step) {
  switch (step.kind) {
    case Step::Kind::kDeliver:
    case Step::Kind::kStray: {
      Message message = std::move(messages_[step.index]);
      messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(step.index));
      if (Reaches(message)) {
        Serve(std::move(message));
      } else {
        Fail(message);
      }
      break;
    }
    case Step::Kind::kCompute: {
      std::deque<uint64_t>& computing = runners_.Edit(step.index).computing;
      const uint64_t batch = computing.front();
      computing.pop_front();
      Feed(step.index, worker::Computed{batch, 0, false});
      break;
    }
    case Step::Kind::kRelease:
      ++budgets_.releases;
      [[fallthrough]];
    case Step::Kind::kLease:
      Grant(step.index, step.detail);
      break;
    case Step::Kind::kNews:
      LearnNews(shards_.Edit(step.index), coordinator_->NewsSince(Told(shards_[step.index])));
      break;
    case Step::Kind::kSetQuorum: {
      Shard& shard = shards_.Edit(step.index);
      shard.quorum_stale = false;
      shard.quorum = Trainers();
      AnswerPulls(shard, shard.clocks.SetQuorum(shard.quorum));
      break;
    }
    case Step::Kind::kClose:
      Close(shards_.Edit(step.index), step.detail);
      break;
    case Step::Kind::kFinish:
      Finish(shards_.Edit(step.index));
      break;
    case Step::Kind::kBarrier:
      AtBarrier();
      break;
    case Step::Kind::kHold:
      ++budgets_.holds;
      barrier_ = Barrier::kAsked;
      AnswerOpens(coordinator_->Hold(kChief, absl::InfiniteFuture()));
      break;
    case Step::Kind::kDrain:
      ++budgets_.drains;
      Feed(step.index, worker::Drain{absl::InfiniteFuture()});
      break;
    case Step::Kind::kTimeout:
      ++budgets_.timeouts;
      Timeout(step.index);
      break;
    case Step::Kind::kDuplicate: {
      ++budgets_.duplicates;
      Message copy = messages_[step.index];
      copy.id = next_message_++;
      copy.orphan = true;
      messages_.push_back(std::move(copy));
      break;
    }
    case Step::Kind::kCrash:
      ++budgets_.crashes;
      Leave(step.index);
      break;
  }
  NoteClosed();
  if (done()) CheckEnd();
}

// ---- runners and the network ----

void SmallWorld::Feed(size_t runner, Event event) {
  std::vector<Event> events = {std::move(event)};
  for (size_t i = 0; i < events.size(); ++i) {
    if (i == kMostEvents) return Violate("NeverStuck: a runner wakes again and again for nothing");
    if (!runners_[runner].alive) return;
    Runner& h = runners_.Edit(runner);
    const auto random = [] { return 0.5; };
    const Event next = events[i];
    const auto* open = std::get_if<worker::OpenDone>(&next);
    if (open != nullptr && h.lease) h.lease->lifecycle.OnOpened(*open);
    for (const Action& action : h.machine().On(next, {h.now, h.clock, random})) {
      if (std::optional<Event> answer = CarryOut(runner, action)) events.push_back(*answer);
    }
    Work& work = works_[h.work];
    work.progress = std::max(work.progress, h.machine().progress().batches_done);
    // What is to be tried again is sent at once: the network may be as slow as it likes.
    if (h.alive && !options_->real_chief && h.machine().NextWake() < absl::InfiniteFuture()) {
      h.now = std::max(h.now, h.machine().NextWake());
      events.push_back(worker::Tick{});
    }
  }
}

std::optional<Event> SmallWorld::CarryOut(size_t runner, const Action& action) {
  Runner& h = runners_.Edit(runner);
  if (const auto* read = std::get_if<worker::ReadBatch>(&action)) {
    const uint64_t length = options_->lengths[h.work];
    if (read->batch >= length) return worker::EndOfData{length};
    return worker::BatchRead{read->batch, static_cast<uint32_t>(h.work + 1),
                             ShardsOf(h.work, read->batch), StreamOf(h.work), read->batch};
  }
  if (const auto* compute = std::get_if<worker::Compute>(&action)) {
    ++h.computations;
    if (options_->sync() || options_->real_chief) {
      return worker::Computed{compute->batch, 0, false};
    }
    h.computing.push_back(compute->batch);
    return std::nullopt;
  }
  if (const auto* finished = std::get_if<worker::Finished>(&action)) {
    if (finished->why == worker::Finished::Why::kFailed) {
      Violate(absl::StrCat("runner ", runner, " failed: ", finished->status.ToString()));
    }
    Work& work = works_[h.work];
    work.progress = std::max(work.progress, h.machine().progress().batches_done);
    work.reported = std::max(work.reported, h.machine().progress().batches_done);
    if (finished->why == worker::Finished::Why::kDone) work.done = true;
    // The data of a lane have been read to their end whenever its runner is done.
    if (h.lease && !h.lease->lifecycle.OnFinished(*finished)) h.lease->lifecycle.End();
    Leave(runner);
    return std::nullopt;
  }
  if (TicketOf(action) != 0) Send(runner, action);
  return std::nullopt;
}

void SmallWorld::Send(size_t runner, const Action& action) {
  Runner& h = runners_.Edit(runner);
  if (const auto* pull = std::get_if<worker::SendPull>(&action)) h.steps[pull->batch] = pull->clock;
  messages_.push_back(
      {next_message_++, runner, false, false, options_->sync() ? h.computations : 0, action});
}

// The runner is gone, with or without a word.
void SmallWorld::Leave(size_t runner) {
  Runner& h = runners_.Edit(runner);
  h.alive = false;
  h.computing.clear();
  if (works_[h.work].runner == runner) works_[h.work].runner.reset();
  for (Message& message : messages_) {
    if (message.runner == runner) message.orphan = true;
  }
  RefreshQuorum();
}

void SmallWorld::Answer(const Message& message, const Event& event) {
  if (message.orphan || !runners_[message.runner].alive) return;
  Feed(message.runner, event);
}

// The message has met nobody who can serve it.
void SmallWorld::Fail(const Message& message) {
  Answer(message, Failure(message.request, absl::UnavailableError("nobody serves that")));
}

bool SmallWorld::Reaches(const Message& message) const {
  if (!options_->real_chief) return true;
  size_t shard = 0;  // The coordinator's.
  if (const auto* pull = std::get_if<worker::SendPull>(&message.request)) {
    shard = static_cast<size_t>(Raw(pull->shard));
  } else if (const auto* push = std::get_if<worker::SendPush>(&message.request)) {
    shard = static_cast<size_t>(Raw(push->shard));
  }
  return shards_[shard].serves && shards_[shard].timeline == runners_[message.runner].timeline;
}

void SmallWorld::Timeout(size_t index) {
  Message& message = messages_[index];
  message.orphan = true;
  const Message copy = message;
  if (copy.parked) {
    const ps::WaiterId waiter{copy.id};
    if (coordinator_) coordinator_->Forget(waiter);
    for (size_t s = 0; s < shards_.size(); ++s) shards_.Edit(s).clocks.Forget(waiter);
    messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  const absl::Status status = copy.parked ? absl::DeadlineExceededError("waited long enough")
                                          : absl::UnavailableError("lost");
  Feed(copy.runner, Failure(copy.request, status));
}

}  // namespace capstan::simulation
