// ChiefWorld: the shards, and what the chief orders of them. As ps/door and ps/transfer, only that
// there is no payload.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/base/wire_version.h"
#include "capstan/consistency/round_commit.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "ps/shard/coordinator_start.h"
#include "tests/simulation/chief_world.h"

namespace capstan::simulation {
namespace {

const v1::RequestHeader& HeaderOf(const chief::ShardRequest& request) {
  const google::protobuf::FieldDescriptor* const field =
      request->GetDescriptor()->FindFieldByName("header");
  return dynamic_cast<const v1::RequestHeader&>(
      request->GetReflection()->GetMessage(*request, field));
}

// Returns whether the state says that task `task` is done.
bool IsDone(const v1::TaskProgress& progress, uint64_t task) {
  const auto& open = progress.open_tasks();
  return task < progress.begun() &&
         std::none_of(open.begin(), open.end(),
                      [task](const v1::OpenTask& each) { return each.task() == task; });
}

}  // namespace

// ---- processes ----

uint64_t ChiefWorld::IncarnationOfShard(size_t shard) const {
  return 100 * (shard + 1) + static_cast<uint64_t>(processes_[shard].life);
}

// A process that has died is there again, without partitions. It hears of the newest view.
void ChiefWorld::TellOfShard(size_t index) {
  ShardProcess& process = processes_[index];
  Shard& shard = shards_.Edit(index);
  if (!process.alive) {
    process.alive = true;
    ++process.life;
  }
  const uint64_t timeline = chief_->view().timeline();
  if (timeline > process.heard_timeline) {
    process.heard_timeline = timeline;
    shard.serves = false;
  }
  v1::ShardHeartbeatRequest heartbeat;
  heartbeat.set_index(static_cast<uint32_t>(index));
  heartbeat.set_incarnation(IncarnationOfShard(index));
  heartbeat.set_loaded_timeline(shard.serves ? Raw(shard.timeline) : 0);
  const bool known = chief_->ShardHeartbeat(heartbeat, ChiefTime()).known();
  Perform();
  if (known) return;
  v1::RegisterShardRequest request;
  request.set_wire_version(kWireVersion);
  request.set_index(heartbeat.index());
  request.set_address(absl::StrCat("ps-", index, ":7000"));
  request.set_incarnation(heartbeat.incarnation());
  request.set_loaded_timeline(heartbeat.loaded_timeline());
  // One that is refused asks again in a second.
  (void)chief_->RegisterShard(request, ChiefTime());
  Perform();
}

void ChiefWorld::KillShard(size_t index) {
  processes_[index].alive = false;
  processes_[index].heard_term = 0;
  processes_[index].heard_timeline = 0;
  Shard& shard = shards_.Edit(index);
  shard.serves = false;
  shard.timeline = Timeline{0};
  shard.partitions.clear();
  shard.log = ps::ClosedLog();
  if (index > 0 || !coordinator_) return;
  coordinator_.reset();
  FailParked();
}

// The coordinator at which calls have waited is gone.
void ChiefWorld::FailParked() {
  std::vector<Message> parked;
  for (const Message& message : messages_) {
    if (message.parked) parked.push_back(message);
  }
  std::erase_if(messages_, [](const Message& message) { return message.parked; });
  for (const Message& message : parked) Fail(message);
  barrier_ = Barrier::kNone;
  AnswerParked(absl::UnavailableError("the coordinator is gone"));
}

// Answers the order that waits for a barrier, if there is one.
void ChiefWorld::AnswerParked(absl::StatusOr<chief::ShardReply> answer) {
  const auto parked =
      std::find_if(orders_.begin(), orders_.end(), [](const Order& order) { return order.parked; });
  if (parked == orders_.end()) return;
  const Order order = std::move(*parked);
  orders_.erase(parked);
  TellChief(order, std::move(answer));
}

// ---- orders ----

// As ps/shard/shard_view.
absl::Status ChiefWorld::CheckOrder(const chief::CallShard& call) {
  ShardProcess& process = processes_[call.shard];
  const Shard& shard = shards_[call.shard];
  const v1::RequestHeader& header = HeaderOf(call.request);
  if (!process.alive) return absl::UnavailableError("there is no process");
  if (header.target_incarnation() != IncarnationOfShard(call.shard)) {
    return absl::FailedPreconditionError("the order is meant for another process");
  }
  if (header.epoch().term() < process.heard_term) {
    return absl::FailedPreconditionError("the order is of an earlier chief");
  }
  process.heard_term = header.epoch().term();
  if (call.request.Is<v1::LoadPartitionsRequest>()) {
    if (header.timeline() >= process.heard_timeline) return absl::OkStatus();
    return absl::FailedPreconditionError("a later timeline has begun");
  }
  if (!shard.serves) return absl::UnavailableError("the shard is loading its partitions");
  if (header.timeline() == Raw(shard.timeline)) return absl::OkStatus();
  return absl::FailedPreconditionError("the order is of another timeline");
}

ChiefWorld::Answered ChiefWorld::ServeOrder(const Order& order) {
  const chief::CallShard& call = order.call;
  if (absl::Status may = CheckOrder(call); !may.ok()) return may;
  const size_t shard = call.shard;
  const chief::ShardRequest& request = call.request;
  if (const auto* hold = request.As<v1::HoldRoundsRequest>()) return Hold(*hold, call.deadline);
  if (const auto* commit = request.As<v1::CommitRoundRequest>()) return Commit(shard, *commit);
  if (const auto* close = request.As<v1::CloseStreamsRequest>()) return CloseAll(shard, *close);
  if (request.Is<v1::FlushRequest>()) {
    for (Partition& each : shards_.Edit(shard).partitions) Note(each, each.machine.Flush());
    return chief::ShardReply(v1::FlushReply());
  }
  if (const auto* save = request.As<v1::SavePartitionsRequest>()) return Save(shard, *save);
  if (const auto* load = request.As<v1::LoadPartitionsRequest>()) return Load(shard, *load);
  return absl::UnimplementedError("partitions do not move in this world");
}

ChiefWorld::Answered ChiefWorld::Hold(const v1::HoldRoundsRequest& request,
                                      absl::Duration deadline) {
  if (!coordinator_) return absl::FailedPreconditionError("there is no coordinator here");
  const absl::Status taken =
      coordinator_->TakeOrder(request.header().epoch().term(), request.number());
  if (!taken.ok()) return taken;
  coordinator_->Forget(kChief);
  if (!request.hold()) {
    AnswerOpens(coordinator_->Release());
    return HoldReply();
  }
  AnswerOpens(coordinator_->Hold(kChief, now_ + deadline));
  if (barrier_ != Barrier::kReached) return std::nullopt;
  barrier_ = Barrier::kNone;
  return HoldReply();
}

absl::StatusOr<chief::ShardReply> ChiefWorld::HoldReply() const {
  v1::HoldRoundsReply reply;
  capstan::ToProto(coordinator_->last_closed(), *reply.mutable_last());
  reply.set_ended(coordinator_->ended());
  for (const ps::CoordinatorState::Lane& lane : coordinator_->state().lanes) {
    v1::LaneCursor& cursor = *reply.add_lanes();
    cursor.set_cursor(lane.cursor);
    cursor.set_ended(lane.ended);
  }
  return chief::ShardReply(std::move(reply));
}

// A barrier has been reached for which the chief waits.
void ChiefWorld::AnswerHolds() {
  if (barrier_ != Barrier::kReached) return;
  barrier_ = Barrier::kNone;
  AnswerParked(HoldReply());
}

// BarrierHolds: at a barrier every partition can be brought to the coordinator's last round.
absl::StatusOr<chief::ShardReply> ChiefWorld::Commit(size_t index,
                                                     const v1::CommitRoundRequest& request) {
  CAPSTAN_ASSIGN_OR_RETURN(const RoundCommit closed, RoundCommitFromProto(request.closed()));
  Shard& shard = shards_.Edit(index);
  shard.log.Learn(closed);
  for (Partition& partition : shard.partitions) {
    CatchUp(shard, partition);
    if (partition.machine.round() < closed.round) {
      Violate("BarrierHolds: a partition cannot be brought to the barrier's round");
    }
  }
  return chief::ShardReply(v1::CommitRoundReply());
}

// ClosesStand: a stream is closed only once the store says that its task is done.
absl::StatusOr<chief::ShardReply> ChiefWorld::CloseAll(size_t index,
                                                       const v1::CloseStreamsRequest& request) {
  Shard& shard = shards_.Edit(index);
  for (const v1::StreamClose& close : request.streams()) {
    if (!IsDone(store_.state.progress(), close.stream())) {
      Violate("ClosesStand: a stream is closed, and the store does not know that its task is done");
    }
    for (Partition& partition : shard.partitions) {
      partition.machine.CloseStream(shard.timeline, StreamId{close.stream()}, close.batches());
    }
  }
  return chief::ShardReply(v1::CloseStreamsReply());
}

// ---- checkpoints ----

// What has been saved of a checkpoint stays as it is.
absl::StatusOr<chief::ShardReply> ChiefWorld::Save(size_t index,
                                                   const v1::SavePartitionsRequest& request) {
  v1::SavePartitionsReply reply;
  Saved& saved = store_.checkpoints[request.uri()];
  for (const Partition& partition : shards_[index].partitions) {
    saved.partitions.try_emplace(partition.index, partition);
    v1::SavedFile& file = *reply.add_files();
    file.set_partition(static_cast<uint32_t>(partition.index));
    file.set_name(absl::StrCat("partition-", partition.index));
    file.set_bytes(1);
  }
  reply.set_done(true);
  reply.set_partitions_saved(shards_[index].partitions.size());
  return chief::ShardReply(std::move(reply));
}

ps::PartitionOptions ChiefWorld::OptionsIn(Timeline timeline) const {
  const v1::UpdatePolicy none;
  return {timeline, options_->dense.value_or(none), options_->sparse.value_or(none), {}, 0};
}

// ViewStands: a timeline begins only once it is stored.
absl::StatusOr<chief::ShardReply> ChiefWorld::Load(size_t index,
                                                   const v1::LoadPartitionsRequest& request) {
  const Timeline timeline{request.header().timeline()};
  if (store_.state.view().timeline() < Raw(timeline)) {
    Violate("ViewStands: a timeline begins that the store does not know of");
  }
  const Saved* saved = nullptr;
  if (!request.uri().empty()) {
    const auto found = store_.checkpoints.find(request.uri());
    if (found == store_.checkpoints.end() || !found->second.manifest) {
      return absl::NotFoundError(request.uri());
    }
    saved = &found->second;
  }
  Shard& shard = shards_.Edit(index);
  v1::LoadPartitionsReply reply;
  reply.set_done(true);
  if (shard.serves && shard.timeline == timeline) return chief::ShardReply(std::move(reply));
  const ps::PartitionOptions options = OptionsIn(timeline);
  std::vector<Partition> partitions;
  for (const uint32_t partition : request.partitions()) {
    if (saved == nullptr) {
      partitions.push_back({partition, ps::PartitionMachine(options)});
      continue;
    }
    Partition& copy = partitions.emplace_back(saved->partitions.at(partition));
    copy.machine = ps::PartitionMachine(options, copy.machine.Snapshot(), now_);
  }
  shard.partitions = std::move(partitions);
  shard.timeline = timeline;
  shard.serves = true;
  processes_[index].heard_timeline = Raw(timeline);
  if (index == 0 && options_->sync()) LoadRounds(index, request);
  return chief::ShardReply(std::move(reply));
}

// The rounds after those of the checkpoint are repeated.
void ChiefWorld::LoadRounds(size_t index, const v1::LoadPartitionsRequest& request) {
  coordinator_.reset();
  FailParked();
  const v1::UpdatePolicy& policy =
      options_->dense && IsSync(*options_->dense) ? *options_->dense : *options_->sparse;
  const auto backups = static_cast<int>(policy.backup_workers());
  ps::CoordinatorState start;
  if (request.has_coordinator()) {
    start = ps::CoordinatorStateFromProto(request.coordinator()).value();
    coordinator_.emplace(backups, start);
  } else {
    coordinator_.emplace(static_cast<int>(wish_.lengths.size()), backups);
  }
  shards_.Edit(index).log = ps::ClosedLog(start.last);
  const uint64_t round = start.last.round;
  std::erase_if(round_commits_, [round](const auto& commit) { return commit.first > round; });
  std::erase_if(computed_, [round](const auto& gradient) { return gradient.first.first > round; });
}

// ---- the end ----

// EndExact, of the model in the store.
void ChiefWorld::CheckModel() {
  const auto model = store_.checkpoints.find(chief_->job().model_uri);
  if (model == store_.checkpoints.end() || !model->second.manifest) {
    return Violate("EndExact: the model is not in the store");
  }
  for (const auto& [index, partition] : model->second.partitions) CheckHolds(partition);
}

}  // namespace capstan::simulation
