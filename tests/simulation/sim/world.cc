#include "tests/simulation/sim/world.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/hash.h"
#include "tests/simulation/sim/model.h"
#include "tests/simulation/sim/nemesis.h"

namespace capstan::sim {
namespace {

// Without troubles every job of these ends well within this.
constexpr absl::Duration kPatience = absl::Seconds(300);
// After its end, for whatever is still under way.
constexpr absl::Duration kAfterwards = absl::Seconds(20);
constexpr absl::Duration kLookEvery = absl::Milliseconds(500);
constexpr absl::Duration kRestart = absl::Seconds(1);
constexpr uint64_t kMostEvents = 3'000'000;
constexpr double kToTheOldChief = 0.3;  // Calls, while there are two.
constexpr uint32_t kMostShards = 4;
// That a process has ended, by those who look at its port.
constexpr absl::Duration kSoonestFound = absl::Milliseconds(50);
constexpr absl::Duration kLatestFound = absl::Seconds(3);

}  // namespace

World::World(const WorldOptions& options)
    : options_(options),
      schedule_(options.seed, options.trace),
      network_(schedule_),
      store_(
          schedule_,
          [this](const std::string& key, const std::string& bytes) {
            checks_.durable().OnWritten(key, bytes);
          },
          [this](const std::string& key) { checks_.durable().OnDamaged(key); }),
      job_(options.job),
      checks_(*this),
      chief_hosts_{network_.AddHost("chief"), network_.AddHost("chief'")},
      wished_(options.shards) {
  schedule_.Note("seed ", options.seed, " ", NameOf(options.job.policy), ", ", options.shards,
                 " shards, ", options.workers, " workers, ", job_.total_batches(), " batches",
                 options.job.uri.empty() ? "" : ", durable");
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
  store_.SetWeather(options.troubles.store_weather);
  NextBlow();
}

World::~World() = default;

uint64_t World::NewIncarnation() { return Mix64(options_.seed) + ++incarnations_; }

// ---- processes ----

// Where nothing is stored, a chief's term is the time at which it begins.
uint64_t World::TermOfNow() {
  const auto now = static_cast<uint64_t>(absl::ToUnixSeconds(schedule_.Now()));
  return last_term_ = std::max(last_term_ + 1, now);
}

void World::StartChief() {
  const Life life = network_.Boot(chief_hosts_[ruling_]);
  ++chiefs_begun_;
  schedule_.Note(network_.name(life.host), " starts");
  chiefs_[ruling_].reset();
  chiefs_[ruling_] = std::make_unique<ChiefProcess>(
      *this, life, ChiefSetup{.run_id = NewIncarnation(), .term = TermOfNow(), .shards = wished_});
}

void World::ReplaceChief() {
  ruling_ = 1 - ruling_;
  End(chief_hosts_[ruling_]);
  StartChief();
}

void World::Grow() {
  if (shard_count() > options_.shards) return;
  AddShard();
  wished_ = shard_count();
  Kill(ruling_chief_host(), kRestart);
}

void World::AddShard() {
  const uint32_t index = shard_count();
  shard_hosts_.push_back(network_.AddHost(absl::StrCat("ps-", index)));
  shards_.resize(index + 1);
  StartShard(index);
}

void World::Join() {
  if (!left_under_.empty()) {
    const uint32_t index = left_under_.begin()->first;
    left_under_.erase(index);
    leaving_.erase(index);
    return StartShard(index);
  }
  if (shard_count() < std::min(kMostShards, options_.job.partitions)) AddShard();
}

void World::Leave(uint32_t shard) {
  if (!network_.IsUp(shard_hosts_[shard]) || leaving_.size() + 1 >= shard_count()) return;
  if (!leaving_.insert(shard).second) return;
  schedule_.Note(network_.name(shard_hosts_[shard]), " is to leave");
  network_.After(shards_[shard]->life(), absl::ZeroDuration(),
                 [process = shards_[shard].get()] { process->Drain(); });
}

// What has left stays away, and what was ended before it could leave is started again.
void World::StartAgain(uint32_t shard) {
  if (left_under_.contains(shard)) return;
  leaving_.erase(shard);
  StartShard(shard);
}

HostId World::chief_host() {
  const HostId other = chief_hosts_[1 - ruling_];
  if (network_.IsUp(other) && schedule_.Chance(kToTheOldChief)) return other;
  return ruling_chief_host();
}

ChiefProcess* World::chief(HostId host) {
  for (size_t i = 0; i < chief_hosts_.size(); ++i) {
    if (chief_hosts_[i] == host) return chiefs_[i].get();
  }
  return nullptr;
}

void World::StartShard(uint32_t index) {
  const Life life = network_.Boot(shard_hosts_[index]);
  schedule_.Note(network_.name(life.host), " starts");
  shards_[index].reset();
  shards_[index] = std::make_unique<ShardProcess>(*this, life, index);
}

void World::StartWorker(size_t index) {
  const Life life = network_.Boot(worker_hosts_[index]);
  schedule_.Note(network_.name(worker_hosts_[index]), " starts");
  workers_[index] =
      std::make_unique<WorkerProcess>(*this, life, network_.name(worker_hosts_[index]),
                                      options_.troubles.false_words && index == 0);
  const double slowness = Draw(options_.seed, 3, index) % 4 == 0 ? 6 : 1;
  workers_[index]->SetSlowness(slowness);
}

// A chief that has been replaced does not come again.
void World::Start(HostId host) {
  if (network_.IsUp(host)) return;
  if (host == ruling_chief_host()) return StartChief();
  for (uint32_t i = 0; i < shard_hosts_.size(); ++i) {
    if (shard_hosts_[i] == host) return StartAgain(i);
  }
  for (size_t i = 0; i < worker_hosts_.size(); ++i) {
    if (worker_hosts_[i] == host) return StartWorker(i);
  }
}

void World::Exit(const Life& life, std::string_view why) {
  if (!network_.Lives(life)) return;
  schedule_.Note(network_.name(life.host), " ends: ", std::string(why));
  for (const uint32_t shard : leaving_) {
    if (shard_hosts_[shard] != life.host || !shards_[shard]->may_leave()) continue;
    left_under_[shard] = ruling_chief()->term();
  }
  Kill(life.host, kRestart);
}

void World::End(HostId host) {
  network_.Kill(host);
  ChiefProcess* const chief = this->chief(host);
  if (chief != nullptr) chief->OnKilled();
}

void World::Kill(HostId host, absl::Duration away) {
  if (!network_.IsUp(host)) return;
  if (options_.troubles.notice_ends) TellOfEnd(host);
  End(host);
  // Not within what the process is doing just now.
  schedule_.After(away, [this, host] { Start(host); });
}

// As chief/shell/failure_detector does: where somebody listens again there is nothing to find.
void World::TellOfEnd(HostId host) {
  const auto at = std::find(shard_hosts_.begin(), shard_hosts_.end(), host);
  if (at == shard_hosts_.end()) return;
  const auto index = static_cast<uint32_t>(at - shard_hosts_.begin());
  for (const std::unique_ptr<ChiefProcess>& chief : chiefs_) {
    if (chief == nullptr || !network_.Lives(chief->life())) continue;
    network_.After(
        chief->life(), schedule_.Between(kSoonestFound, kLatestFound),
        [this, host, index, chief = chief.get(), incarnation = shards_[index]->incarnation()] {
          if (!network_.IsUp(host)) chief->OnShardGone(index, incarnation);
        });
  }
}

// ---- the course ----

void World::NextBlow() {
  const absl::Duration wait =
      schedule_.Between(absl::ZeroDuration(), 2 * options_.troubles.between);
  schedule_.After(wait, [this] {
    if (schedule_.elapsed() >= options_.troubles.until) return HealAll();
    Strike(*this, options_);
    NextBlow();
  });
}

void World::HealAll() {
  schedule_.Note("all is well from now on");
  network_.HealAll();
  store_.Heal();
  End(chief_hosts_[1 - ruling_]);
}

bool World::JobIsOver() {
  const v1::JobState state = ruling_chief()->state();
  return state == v1::JOB_STATE_COMPLETED || state == v1::JOB_STATE_FAILED;
}

void World::FollowEnd() {
  const ChiefProcess& chief = *ruling_chief();
  if (!over_ && JobIsOver()) {
    over_ = schedule_.elapsed();
    failed_ = chief.state() == v1::JOB_STATE_FAILED;
    NoteServers();
    if (failed_) CheckFailure(chief.Status().reason());
  }
  // The next chief tries again what has failed.
  if (failed_ && chief.serves() && !JobIsOver()) {
    over_.reset();
    failed_ = false;
  }
}

void World::NoteServers() {
  ended_with_.clear();
  for (const v1::ShardInfo& shard : ruling_chief()->view().shards()) {
    if (network_.IsUp(shard_hosts_[shard.index()])) ended_with_.insert(shard.incarnation());
  }
}

// Where nothing sound is left there is nothing to go on from.
void World::CheckFailure(const std::string& reason) {
  const DurableChecks& durable = checks_.durable();
  if (durable.MayFail()) return;
  checks_.Violate(
      absl::StrCat("NeverStuck: the job fails: ", reason, " (", durable.DamageText(), ")"));
}

Verdict World::Run() {
  absl::Duration next_look;
  while (checks_.violation().empty()) {
    if (!schedule_.RunOne()) {
      checks_.Violate("NeverStuck: nothing happens any more");
      break;
    }
    const absl::Duration now = schedule_.elapsed();
    FollowEnd();
    if (over_ && now > std::max(*over_, options_.troubles.until) + kAfterwards) break;
    if (!over_ && now > options_.troubles.until + kPatience) {
      checks_.Violate("NeverStuck: the job does not end");
    }
    if (schedule_.events() > kMostEvents) checks_.Violate("NeverStuck: too much happens");
    if (now < next_look) continue;
    next_look = now + kLookEvery;
    Look();
  }
  if (checks_.violation().empty()) CheckEnd();
  const bool serves = ruling_chief() != nullptr && ruling_chief()->serves();
  const v1::GetStatusReply status = serves ? ruling_chief()->Status() : v1::GetStatusReply();
  return {.violation = checks_.violation(),
          .digest = schedule_.digest(),
          .events = schedule_.events(),
          .length = over_.value_or(schedule_.elapsed()),
          .timelines = checks_.timelines(),
          .terms = chiefs_begun_,
          .manifests = checks_.durable().manifests(),
          .losses = static_cast<uint64_t>(status.losses_size()),
          .shards = static_cast<uint64_t>(status.shards_size()),
          .moved = checks_.moved(),
          .promotions = checks_.promotions()};
}

void World::Look() {
  SeeToShards();
  for (const auto& shard : shards_) {
    if (shard != nullptr) checks_.OnCells(shard->Read().cells, /*at_end=*/false);
  }
}

// Those that a chief was told of when it began stay away only when they have left under it, and
// there was a map.
void World::SeeToShards() {
  const ChiefProcess* const chief = ruling_chief();
  const bool has_map = chief->state() != v1::JOB_STATE_PENDING;
  for (uint32_t i = 0; i < wished_; ++i) {
    const auto left = left_under_.find(i);
    if (left == left_under_.end() || !chief->serves() || (has_map && left->second == chief->term()))
      continue;
    left_under_.erase(left);
    leaving_.erase(i);
    StartShard(i);
  }
}

void World::CheckEnd() {
  if (!JobIsOver()) return checks_.Violate("NeverStuck: the job is not over any more");
  const v1::GetStatusReply status = ruling_chief()->Status();
  if (status.state() == v1::JOB_STATE_FAILED) return CheckFailure(status.reason());
  const bool all_read = options_.job.max_steps == 0;
  // Where the steps end in the middle of the data, a batch that its holder has not told of yet is
  // counted as a full one, and some lines have not been read.
  const uint64_t unknown =
      all_read ? 0 : uint64_t{options_.job.tasks} * options_.job.epochs * (Job::kExamples - 1);
  if (status.examples() < job_.total_examples() ||
      status.examples() > job_.total_examples() + unknown) {
    checks_.Violate(absl::StrCat("the chief counts ", status.examples(), " examples of ",
                                 job_.total_examples()));
  }
  if (status.bad_records() > job_.bad_records() ||
      (all_read && status.bad_records() != job_.bad_records())) {
    checks_.Violate(absl::StrCat("BadRecordsExact: the chief counts ", status.bad_records(), " of ",
                                 job_.bad_records()));
  }
  return options_.job.uri.empty() ? CheckShards() : CheckModel(status);
}

// A process that has ended since the job was over has taken its partitions with it: nobody asks for
// them.
void World::CheckShards() {
  const v1::View& view = ruling_chief()->view();
  Cells all;
  std::set<uint32_t> gone;
  for (const uint32_t owner : std::set<uint32_t>(view.owners().begin(), view.owners().end())) {
    ShardProcess& process = *shards_[owner];
    if (network_.IsUp(shard_hosts_[owner]) && ended_with_.contains(process.incarnation())) {
      Reading served = process.Read(view);
      if (!served.status.ok()) {
        return checks_.Violate(
            absl::StrCat("EndExact: shard ", owner, ", which owns partitions of ",
                         "the completed job, cannot be read: ", served.status.ToString()));
      }
      all.merge(served.cells);
      continue;
    }
    for (int i = 0; i < view.owners_size(); ++i) {
      if (view.owners(i) == owner) gone.insert(static_cast<uint32_t>(i));
    }
  }
  checks_.OnCells(all, /*at_end=*/true, gone);
}

void World::CheckModel(const v1::GetStatusReply& status) {
  const std::string& uri = status.model_uri();
  const absl::StatusOr<Cells> model = ReadCheckpoint(job_, uri, store_.TruthOpener());
  const bool damaged = checks_.durable().IsDamaged(uri.substr(uri.rfind('/') + 1));
  if (damaged && !absl::IsDataLoss(model.status())) {
    return checks_.Violate(
        absl::StrCat("DamageIsNoticed: reading ", uri, " says ", model.status().ToString()));
  }
  if (damaged) return;
  if (!model.ok()) {
    return checks_.Violate(absl::StrCat("the model: ", model.status().ToString()));
  }
  const absl::StatusOr<uint64_t> open = OpenStreamsIn(job_, uri, store_.TruthOpener());
  if (!open.ok() || *open > 0) {
    return checks_.Violate(absl::StrCat("LedgersEmpty: ", open.value_or(0),
                                        " streams of tasks are open in the model"));
  }
  if (job_.spec().recovery() != v1::RECOVERY_PARTIAL) {
    return checks_.OnCells(*model, /*at_end=*/true);
  }
  uint64_t told = 0;
  for (const v1::RecoveryLoss& loss : status.losses()) told += loss.batches();
  checks_.OnEndOfPartial(*model, told);
}

}  // namespace capstan::sim
