#include "tests/simulation/sim/world.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/hash.h"

namespace capstan::sim {
namespace {

// Without troubles every job of these ends well within this.
constexpr absl::Duration kPatience = absl::Seconds(300);
// After its end, for whatever is still under way.
constexpr absl::Duration kAfterwards = absl::Seconds(20);
constexpr absl::Duration kLookEvery = absl::Milliseconds(500);
constexpr uint64_t kMostEvents = 3'000'000;

constexpr absl::Duration kShortestFreeze = absl::Milliseconds(50);
constexpr absl::Duration kLongestFreeze = absl::Seconds(7);  // More than two leases.
constexpr absl::Duration kShortestAway = absl::Milliseconds(200);
constexpr absl::Duration kLongestAway = absl::Seconds(5);
constexpr absl::Duration kLongestCut = absl::Seconds(4);
constexpr absl::Duration kRestart = absl::Seconds(1);
constexpr absl::Duration kShardsFreeze = absl::Seconds(3);

}  // namespace

WorldOptions WorldOf(uint64_t seed) {
  const auto draw = [seed, next = uint64_t{0}](uint64_t n) mutable {
    return Draw(seed, 2, next++) % n;
  };
  std::function<uint64_t(uint64_t)> below = draw;
  WorldOptions world;
  world.seed = seed;
  world.job.policy = kAllPolicies[below(std::size(kAllPolicies))];
  world.job.partitions = static_cast<uint32_t>(2 + below(4));
  world.job.tasks = static_cast<uint32_t>(4 + below(6));
  world.job.epochs = static_cast<uint32_t>(1 + below(2));
  world.job.lanes = static_cast<uint32_t>(2 + below(4));
  world.job.staleness = static_cast<uint32_t>(below(3));
  world.job.eval_tasks = below(3) == 0 ? 2 : 0;
  world.shards = static_cast<uint32_t>(1 + below(3));
  world.workers = static_cast<uint32_t>(1 + below(4));
  Troubles& troubles = world.troubles;
  troubles.between = absl::Milliseconds(500 + 500 * below(6));
  troubles.weather.lose = 0.02 * static_cast<double>(below(4));
  troubles.weather.repeat = 0.03 * static_cast<double>(below(3));
  troubles.weather.dawdle = 0.03 * static_cast<double>(below(4));
  troubles.kill_workers = below(2) == 0;
  troubles.drain_workers = below(2) == 0;
  troubles.freeze_workers = below(2) == 0;
  troubles.freeze_shards = below(3) == 0;
  troubles.freeze_chief = below(3) == 0;
  troubles.cut_links = below(2) == 0;
  return world;
}

World::World(const WorldOptions& options)
    : options_(options),
      schedule_(options.seed, options.trace),
      network_(schedule_),
      job_(options.job),
      checks_(*this),
      chief_host_(network_.AddHost("chief")) {
  schedule_.Note("seed ", options.seed, " ", NameOf(options.job.policy), ", ", options.shards,
                 " shards, ", options.workers, " workers, ", job_.total_batches(), " batches");
  for (uint32_t i = 0; i < options.shards; ++i) {
    shard_hosts_.push_back(network_.AddHost(absl::StrCat("ps-", i)));
  }
  for (uint32_t i = 0; i < options.workers; ++i) {
    worker_hosts_.push_back(network_.AddHost(absl::StrCat("worker-", i)));
  }
  shards_.resize(options.shards);
  workers_.resize(options.workers);
  StartChief();
  for (uint32_t i = 0; i < options.shards; ++i) StartShard(i);
  for (size_t i = 0; i < options.workers; ++i) StartWorker(i);
  network_.SetWeather(options.troubles.weather);
  NextBlow();
}

World::~World() = default;

uint64_t World::NewIncarnation() { return Mix64(options_.seed) + ++incarnations_; }

// ---- processes ----

void World::StartChief() {
  const Life life = network_.Boot(chief_host_);
  chief_ = std::make_unique<ChiefProcess>(
      *this, life,
      chief::ChiefOptions{.term = 1, .run_id = options_.seed, .shards = options_.shards});
}

void World::StartShard(uint32_t index) {
  const Life life = network_.Boot(shard_hosts_[index]);
  shards_[index] = std::make_unique<ShardProcess>(*this, life, index);
}

void World::StartWorker(size_t index) {
  const Life life = network_.Boot(worker_hosts_[index]);
  schedule_.Note(network_.name(worker_hosts_[index]), " starts");
  workers_[index] =
      std::make_unique<WorkerProcess>(*this, life, network_.name(worker_hosts_[index]));
  const double slowness = Draw(options_.seed, 3, index) % 4 == 0 ? 6 : 1;
  workers_[index]->SetSlowness(slowness);
}

void World::Exit(const Life& life, std::string_view why) {
  if (!network_.Lives(life)) return;
  schedule_.Note(network_.name(life.host), " ends: ", std::string(why));
  network_.Kill(life.host);
  // Not within what the process is doing just now.
  const auto worker = std::find(worker_hosts_.begin(), worker_hosts_.end(), life.host);
  schedule_.After(kRestart, [this, life, worker] {
    if (network_.IsUp(life.host)) return;
    if (worker != worker_hosts_.end()) {
      return StartWorker(static_cast<size_t>(worker - worker_hosts_.begin()));
    }
    for (uint32_t i = 0; i < shard_hosts_.size(); ++i) {
      if (shard_hosts_[i] == life.host) StartShard(i);
    }
  });
}

void World::KillWorker(size_t index, absl::Duration away) {
  const HostId host = worker_hosts_[index];
  if (!network_.IsUp(host)) return;
  network_.Kill(host);
  schedule_.After(away, [this, index, host] {
    if (!network_.IsUp(host)) StartWorker(index);
  });
}

// ---- troubles ----

void World::NextBlow() {
  const absl::Duration wait =
      schedule_.Between(absl::ZeroDuration(), 2 * options_.troubles.between);
  schedule_.After(wait, [this] {
    if (schedule_.elapsed() >= options_.troubles.until) return HealAll();
    Strike();
    NextBlow();
  });
}

HostId World::AnyHost() { return schedule_.Below(network_.hosts()); }

void World::Strike() {
  const Troubles& troubles = options_.troubles;
  const size_t worker = schedule_.Below(workers_.size());
  const auto freeze = [this](HostId host, absl::Duration most) {
    const absl::Duration length = schedule_.Between(kShortestFreeze, most);
    schedule_.Note("freeze ", network_.name(host), " for ", absl::FormatDuration(length));
    network_.Freeze(host, length);
  };
  switch (schedule_.Below(6)) {
    case 0:
      if (!troubles.kill_workers) return;
      schedule_.Note("kill ", network_.name(worker_hosts_[worker]));
      return KillWorker(worker, schedule_.Between(kShortestAway, kLongestAway));
    case 1:
      if (!troubles.drain_workers || !network_.IsUp(worker_hosts_[worker])) return;
      schedule_.Note("drain ", network_.name(worker_hosts_[worker]));
      return network_.After(workers_[worker]->life(), absl::ZeroDuration(),
                            [process = workers_[worker].get()] { process->Drain(); });
    case 2:
      if (troubles.freeze_workers) freeze(worker_hosts_[worker], kLongestFreeze);
      return;
    case 3:
      if (troubles.freeze_shards) {
        freeze(shard_hosts_[schedule_.Below(shard_hosts_.size())], kShardsFreeze);
      }
      return;
    case 4:
      if (troubles.freeze_chief) freeze(chief_host_, kShardsFreeze);
      return;
    default: {
      if (!troubles.cut_links) return;
      const HostId from = AnyHost();
      const HostId to = AnyHost();
      const absl::Duration length = schedule_.Between(kShortestFreeze, kLongestCut);
      schedule_.Note("cut ", network_.name(from), " to ", network_.name(to), " for ",
                     absl::FormatDuration(length));
      return network_.Cut(from, to, length);
    }
  }
}

void World::HealAll() {
  schedule_.Note("all is well from now on");
  network_.HealAll();
  healed_ = true;
}

// ---- the course ----

bool World::JobIsOver() {
  return chief_ != nullptr &&
         (chief_->state() == v1::JOB_STATE_COMPLETED || chief_->state() == v1::JOB_STATE_FAILED);
}

Verdict World::Run() {
  absl::Duration next_look;
  std::optional<absl::Duration> over;
  while (checks_.violation().empty()) {
    if (!schedule_.RunOne()) {
      checks_.Violate("NeverStuck: nothing happens any more");
      break;
    }
    if (!over && JobIsOver()) over = schedule_.elapsed();
    if (over && schedule_.elapsed() > *over + kAfterwards) break;
    if (!over && schedule_.elapsed() > options_.troubles.until + kPatience) {
      checks_.Violate("NeverStuck: the job does not end");
    }
    if (schedule_.events() > kMostEvents) checks_.Violate("NeverStuck: too much happens");
    if (schedule_.elapsed() < next_look) continue;
    next_look = schedule_.elapsed() + kLookEvery;
    for (const auto& shard : shards_) {
      if (shard != nullptr) checks_.OnCells(shard->Read(), /*at_end=*/false);
    }
  }
  if (checks_.violation().empty()) CheckEnd();
  return {checks_.violation(), schedule_.digest(), schedule_.events(),
          over.value_or(schedule_.elapsed())};
}

void World::CheckEnd() {
  const v1::GetStatusReply status = chief_->Status();
  if (status.state() != v1::JOB_STATE_COMPLETED) {
    return checks_.Violate(absl::StrCat("the job fails: ", status.reason()));
  }
  if (status.examples() != job_.total_examples()) {
    checks_.Violate(absl::StrCat("the chief counts ", status.examples(), " examples of ",
                                 job_.total_examples()));
  }
  Cells all;
  for (const auto& shard : shards_) {
    for (const auto& [cell, value] : shard->Read()) all[cell] = value;
  }
  for (const BatchName& batch : job_.AllBatches()) {
    for (const Cell& cell : job_.CountersOf(batch)) {
      if (!all.contains(cell)) checks_.Violate("at the end a parameter is served by nobody");
    }
  }
  checks_.OnCells(all, /*at_end=*/true);
}

}  // namespace capstan::sim
