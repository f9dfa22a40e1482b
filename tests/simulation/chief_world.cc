// ChiefWorld: the chief, its store, time, and which moves there are.
#include "tests/simulation/chief_world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/consistency/decisions.h"
#include "tests/simulation/chief_world_worker.h"

namespace capstan::simulation {
namespace {

constexpr double kLeaseSeconds = 3;
constexpr int kManyFaults = 1000;  // The explorer counts them.

SmallWorldOptions SmallOptionsOf(const ChiefWorldOptions& wish) {
  SmallWorldOptions options;
  options.dense = wish.dense;
  options.sparse = wish.sparse;
  options.shards = wish.shards;
  options.lengths = wish.lengths;
  options.timeouts = kManyFaults;
  options.duplicates = kManyFaults;
  options.real_chief = true;
  return options;
}

void SetPolicy(const v1::UpdatePolicy& wished, size_t lanes, v1::UpdatePolicy& policy) {
  policy = wished;
  if (IsSync(wished)) policy.set_lanes(static_cast<uint32_t>(lanes));
}

// Task i has lengths[i] batches of i + 1 records: as the runners read them.
std::vector<v1::Task> TasksOf(const std::vector<uint64_t>& lengths) {
  std::vector<v1::Task> tasks;
  uint64_t begin = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const uint64_t records = lengths[i] * (i + 1);
    v1::Task& task = tasks.emplace_back();
    task.set_index(static_cast<uint32_t>(i));
    task.set_file("train");
    task.set_begin(begin);
    task.set_end(begin + records);
    task.set_by_records(true);
    task.set_expected_records(records);
    begin += records;
  }
  return tasks;
}

chief::JobPlan PlanOf(const ChiefWorldOptions& wish) {
  chief::JobPlan plan;
  v1::JobSpec& spec = plan.spec;
  spec.set_job("world");
  spec.set_seed(1);
  spec.set_partition_count(static_cast<uint32_t>(wish.shards));
  spec.mutable_model()->set_loss(v1::LOSS_LOGISTIC);
  spec.mutable_train()->set_batch_size(1);
  spec.mutable_train()->set_epochs(1);
  spec.mutable_train()->set_compute_threads(1);
  spec.mutable_train()->set_push_window(2);
  spec.mutable_lease()->set_heartbeat_seconds(1);
  spec.mutable_lease()->set_worker_lease_seconds(kLeaseSeconds);
  spec.mutable_checkpoint()->set_uri("/models");
  spec.mutable_checkpoint()->set_every_seconds(1);
  spec.mutable_checkpoint()->set_keep(2);
  spec.set_recovery(v1::RECOVERY_ROLLBACK);
  if (wish.dense) {
    v1::TensorSpec& tensor = *spec.add_tensors();
    tensor.set_name("w");
    tensor.add_shape(1);
    tensor.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
    SetPolicy(*wish.dense, wish.lengths.size(), *spec.mutable_dense_update());
  }
  if (wish.sparse) {
    v1::TableSpec& table = *spec.add_tables();
    table.set_name("features");
    table.set_dim(1);
    table.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
    SetPolicy(*wish.sparse, wish.lengths.size(), *spec.mutable_sparse_update());
  }
  plan.train = TasksOf(wish.lengths);
  return plan;
}

std::string IdOf(const std::string& folder) { return folder.substr(folder.rfind('/') + 1); }

}  // namespace

ChiefWorld::ChiefWorld(const ChiefWorldOptions& options)
    : SmallWorld(SmallOptionsOf(options)), wish_(options), plan_(PlanOf(options)) {
  for (size_t i = 0; i < static_cast<size_t>(options.workers); ++i) {
    workers_.push_back(std::make_unique<Worker>(*this, i));
  }
  processes_.resize(static_cast<size_t>(options.shards));
  store_.state.set_first_timeline(1);
  store_.state.set_state(v1::JOB_STATE_PENDING);
  BeginChief();
}

ChiefWorld::ChiefWorld(const ChiefWorld& other)
    : SmallWorld(other),
      wish_(other.wish_),
      plan_(other.plan_),
      now_(other.now_),
      hurry_(other.hurry_),
      arrived_(other.arrived_),
      chief_(other.chief_),
      store_(other.store_),
      to_store_(other.to_store_),
      orders_(other.orders_),
      processes_(other.processes_),
      leased_(other.leased_) {
  for (const auto& worker : other.workers_) {
    workers_.push_back(std::make_unique<Worker>(*this, *worker));
  }
}

ChiefWorld::~ChiefWorld() = default;

// ---- the chief and its store ----

// As chief/shell/job_claim: the next term is claimed by a write of what is stored.
void ChiefWorld::BeginChief() {
  store_.state.set_term(Term() + 1);
  chief::JobHistory history;
  history.state = store_.state;
  for (const auto& [folder, saved] : store_.checkpoints) {
    if (!saved.manifest) {
      history.garbage.push_back(IdOf(folder));
      continue;
    }
    const auto created = static_cast<int64_t>(saved.manifest->created_unix_seconds());
    history.checkpoints.push_back(chief::FactsOf(*saved.manifest, absl::FromUnixSeconds(created)));
  }
  chief_.emplace(chief::ChiefOptions{.term = Term(),
                                     .run_id = 1,
                                     .seal_key = "the key",
                                     .shards = static_cast<uint32_t>(wish_.shards)},
                 plan_, ChiefTime(), history);
  Perform();
}

void ChiefWorld::Perform() {
  for (std::vector<chief::Action> actions = chief_->TakeActions(); !actions.empty();
       actions = chief_->TakeActions()) {
    for (chief::Action& action : actions) Do(std::move(action));
  }
  if (chief_->state() == v1::JOB_STATE_FAILED) {
    Violate(absl::StrCat("NeverStuck: the job fails: ", chief_->reason()));
  }
}

void ChiefWorld::Do(chief::Action action) {
  if (auto* call = std::get_if<chief::CallShard>(&action)) {
    orders_.push_back({std::move(*call)});
  } else if (std::holds_alternative<chief::StoreState>(action) ||
             std::holds_alternative<chief::WriteManifest>(action) ||
             std::holds_alternative<chief::ReadManifest>(action)) {
    const bool hasty = IsTakenForStored(action);
    to_store_.push_back(std::move(action));
    if (hasty) chief_->OnStateStored(absl::OkStatus(), ChiefTime());
  } else if (const auto* gone = std::get_if<chief::DeleteCheckpoints>(&action)) {
    for (const std::string& id : gone->ids) {
      store_.checkpoints.erase(chief_->job().checkpoints.checkpointer.UriOf(id));
    }
  }
}

bool ChiefWorld::IsTakenForStored(const chief::Action& action) const {
  const auto* store = std::get_if<chief::StoreState>(&action);
  if (store == nullptr) return false;
  if (wish_.lie == ChiefLie::kHastyStore) return true;
  return wish_.lie == ChiefLie::kHastyClose &&
         store->state.view().timeline() == store_.state.view().timeline();
}

// ManifestWhole: a manifest is written when each partition is saved.
void ChiefWorld::CarryOutNext() {
  chief::Action action = std::move(to_store_.front());
  to_store_.pop_front();
  if (auto* store = std::get_if<chief::StoreState>(&action)) {
    const bool hasty = IsTakenForStored(action);
    store_.state = std::move(store->state);
    if (!hasty) chief_->OnStateStored(absl::OkStatus(), ChiefTime());
  } else if (auto* write = std::get_if<chief::WriteManifest>(&action)) {
    Saved& saved = store_.checkpoints[write->uri];
    if (saved.partitions.size() != shards_.size()) {
      Violate("ManifestWhole: a manifest is written before each partition is saved");
    }
    write->manifest.set_created_unix_seconds(
        static_cast<uint64_t>(absl::ToUnixSeconds(ChiefTime())));
    saved.manifest = write->manifest;
    chief_->OnManifestWritten(write->uri, absl::OkStatus(), ChiefTime());
  } else if (const auto* read = std::get_if<chief::ReadManifest>(&action)) {
    absl::StatusOr<v1::Manifest> manifest = absl::NotFoundError(read->uri);
    const auto found = store_.checkpoints.find(read->uri);
    if (found != store_.checkpoints.end() && found->second.manifest) {
      manifest = *found->second.manifest;
    }
    chief_->OnManifestRead(read->uri, std::move(manifest), ChiefTime());
  }
  Perform();
}

void ChiefWorld::TellChief(const Order& order, absl::StatusOr<chief::ShardReply> reply) {
  if (order.orphan || !chief_) return;
  chief_->OnShardReply(order.call.call, std::move(reply), ChiefTime());
  Perform();
}

// What it has asked of the store is lost, and its calls to shards may still arrive.
void ChiefWorld::KillChief() {
  chief_.reset();
  to_store_.clear();
  std::erase_if(orders_, [](const Order& order) { return order.parked; });
  if (coordinator_) coordinator_->Forget(kChief);
  for (Order& order : orders_) order.orphan = true;
}

void ChiefWorld::Second() {
  now_ += absl::Seconds(1);
  arrived_ = 0;
  if (wish_.lie == ChiefLie::kHurriedClock) hurry_ += absl::Seconds(kLeaseSeconds);
  if (chief_) {
    chief_->Tick(ChiefTime());
    Perform();
  } else {
    BeginChief();
  }
  for (size_t shard = 0; shard < processes_.size(); ++shard) TellOfShard(shard);
  if (coordinator_) AnswerOpens(coordinator_->Tick(now_));
  for (size_t worker = 0; worker < workers_.size(); ++worker) {
    WorkerFacts& facts = workers_[worker]->facts;
    facts.mute_seconds = std::max(facts.mute_seconds - 1, 0);
    if (!facts.alive) {
      facts.alive = true;
      ++facts.life;
    }
    facts.due = true;
    if (!workers_[worker]->registered()) Register(worker);
  }
  for (size_t runner = 0; runner < runners_.size(); ++runner) {
    if (!runners_[runner].alive) continue;
    runners_.Edit(runner).now = now_;
    if (runners_[runner].machine().NextWake() <= now_) Feed(runner, worker::Tick{});
  }
}

bool ChiefWorld::done() const {
  return chief_ && chief_->state() == v1::JOB_STATE_COMPLETED && chief_->stored();
}

// ---- moves ----

Move ChiefWorld::Calm() const {
  if (!to_store_.empty()) return {Move::Kind::kStore};
  for (size_t i = 0; i < orders_.size(); ++i) {
    if (!orders_[i].orphan && !orders_[i].parked) return {Move::Kind::kAnswer, i};
  }
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i]->facts.due && MayBeat(i)) return {Move::Kind::kBeat, i};
  }
  for (size_t i = 0; arrived_ < wish_.pace && i < messages_.size(); ++i) {
    if (messages_[i].orphan || messages_[i].parked) continue;
    return {Move::Kind::kStep, 0, {Step::Kind::kDeliver, i}};
  }
  return {Move::Kind::kSecond};
}

std::vector<Move> ChiefWorld::Others() const {
  const Move calm = Calm();
  std::vector<Move> moves;
  const auto add = [&](Move::Kind kind, size_t index) {
    if (kind != calm.kind || index != calm.index) moves.push_back({kind, index});
  };
  for (size_t i = 0; i < orders_.size(); ++i) {
    if (orders_[i].orphan) add(Move::Kind::kLateCall, i);
    if (orders_[i].orphan || orders_[i].parked) continue;
    add(Move::Kind::kAnswer, i);
    add(Move::Kind::kLoseCall, i);
    add(Move::Kind::kRepeatCall, i);
    const bool holds = orders_[i].call.request.Is<v1::HoldRoundsRequest>();
    if (!holds) add(Move::Kind::kLoseAnswer, i);
  }
  for (size_t i = 0; i < workers_.size(); ++i) {
    const WorkerFacts& worker = workers_[i]->facts;
    if (MayBeat(i)) add(Move::Kind::kBeat, i);
    if (MayBeat(i)) add(Move::Kind::kLoseBeat, i);
    if (chief_ && worker.last) add(Move::Kind::kRepeatBeat, i);
    if (worker.mute_seconds == 0 && Works(i)) add(Move::Kind::kMute, i);
    if (worker.alive) add(Move::Kind::kKillWorker, i);
  }
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i].alive) add(Move::Kind::kKillShard, i);
  }
  if (chief_) add(Move::Kind::kKillChief, 0);
  std::vector<Step> steps;
  AddNetworkSteps(steps);
  for (const Step& step : steps) {
    const bool in_turn = calm.kind == Move::Kind::kStep && calm.step.kind == step.kind &&
                         calm.step.index == step.index;
    if (!in_turn) moves.push_back({Move::Kind::kStep, 0, step});
  }
  add(Move::Kind::kSecond, 0);
  return moves;
}

void ChiefWorld::Take(const Move& move) {
  switch (move.kind) {
    case Move::Kind::kStore:
      CarryOutNext();
      break;
    case Move::Kind::kAnswer:
    case Move::Kind::kLoseCall:
    case Move::Kind::kLoseAnswer:
    case Move::Kind::kLateCall: {
      Order order = std::move(orders_[move.index]);
      orders_.erase(orders_.begin() + static_cast<std::ptrdiff_t>(move.index));
      const Answered lost = absl::UnavailableError("the call, or its answer, is lost");
      Answered answered = move.kind == Move::Kind::kLoseCall ? lost : ServeOrder(order);
      if (move.kind == Move::Kind::kLoseAnswer) answered = lost;
      if (answered) {
        TellChief(order, *std::move(answered));
      } else if (!order.orphan) {
        order.parked = true;
        orders_.push_back(std::move(order));
      }
      break;
    }
    case Move::Kind::kRepeatCall: {
      Order copy = orders_[move.index];
      copy.orphan = true;
      orders_.push_back(std::move(copy));
      break;
    }
    case Move::Kind::kBeat:
    case Move::Kind::kLoseBeat:
      Beat(move.index, /*answered=*/move.kind == Move::Kind::kBeat);
      break;
    case Move::Kind::kRepeatBeat:
      RepeatBeat(move.index);
      break;
    case Move::Kind::kMute:
      workers_[move.index]->facts.mute_seconds = static_cast<int>(kLeaseSeconds) + 2;
      break;
    case Move::Kind::kKillWorker:
      KillWorker(move.index);
      break;
    case Move::Kind::kKillShard:
      KillShard(move.index);
      break;
    case Move::Kind::kKillChief:
      KillChief();
      break;
    case Move::Kind::kStep:
      if (move.step.kind == Step::Kind::kDeliver) ++arrived_;
      SmallWorld::Take(move.step);
      break;
    case Move::Kind::kSecond:
      Second();
      break;
  }
  AnswerHolds();
  if (done()) CheckModel();
}

}  // namespace capstan::simulation
