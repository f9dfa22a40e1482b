#include "tests/unit/chief/crew.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"
#include "capstan/base/overloaded.h"
#include "capstan/message/rpc_method.h"
#include "capstan/model/auc.h"

namespace capstan::chief {
namespace {

// Returns the name by which the tests know a call; the name of its RPC, where they have none.
std::string NameOf(const ShardRequest& request) {
  if (const auto* hold = request.As<v1::HoldRoundsRequest>()) {
    return hold->hold() ? "Hold" : "Release";
  }
  if (const auto* commit = request.As<v1::CommitRoundRequest>()) {
    return absl::StrCat("Commit ", commit->closed().round());
  }
  if (request.Is<v1::CloseStreamsRequest>()) return "Close";
  if (request.Is<v1::SavePartitionsRequest>()) return "Save";
  if (const auto* load = request.As<v1::LoadPartitionsRequest>()) {
    return absl::StrCat(load->partitions().empty() ? "Join " : "Load ", load->header().timeline());
  }
  if (const auto* move = request.As<v1::MovePartitionsRequest>()) {
    return move->finish() ? "Finish" : "Copy";
  }
  return MethodOf(*request->GetDescriptor()).name();
}

}  // namespace

Crew::Crew(const CrewOptions& options)
    : Crew(options, NewHistory(options), absl::UnixEpoch() + absl::Hours(1), /*term=*/1) {}

Crew::Crew(const CrewOptions& options, const JobHistory& history, absl::Time at, uint64_t term)
    : now(at),
      machine({.term = term,
               .run_id = 0xC0FFEE,
               .seal_key = "the key",
               .shards = options.shards,
               .unnumbered_shards = options.unnumbered_shards,
               .move_batch = options.move_batch},
              PlanOf(options), now, history),
      shards_(options.shards),
      shard_memory_(options.shard_memory) {
  AnswerCalls();
}

Crew Crew::Successor(const CrewOptions& options, const Crew& before, absl::Duration gap) {
  JobHistory history;
  history.state = before.states.back();
  const uint64_t term = history.state->term() + 1;
  for (const WriteManifest& written : before.manifests) {
    const auto created = static_cast<int64_t>(written.manifest.created_unix_seconds());
    history.checkpoints.push_back(FactsOf(written.manifest, absl::FromUnixSeconds(created)));
  }
  Crew crew(options, history, before.now + gap, term);
  crew.manifests = before.manifests;
  crew.shards = before.shards;
  return crew;
}

absl::Status Crew::RegisterShard(uint32_t index, uint64_t incarnation) {
  v1::RegisterShardRequest request;
  request.set_wire_version(1);
  request.set_index(index);
  request.set_address(absl::StrCat("ps-", index, ":7000"));
  Process& process = shards[index];
  if (incarnation == 0) incarnation = process.incarnation != 0 ? process.incarnation : index + 1;
  if (process.incarnation != incarnation) process = {.incarnation = incarnation};
  request.set_incarnation(incarnation);
  request.set_memory_bytes(shard_memory_);
  request.set_loaded_timeline(process.loaded_timeline);
  request.set_secret(process.secret);
  const absl::Status status = machine.RegisterShard(request, now).status();
  AnswerCalls();
  return status;
}

void Crew::RegisterShards() {
  for (uint32_t i = 0; i < shards_; ++i) (void)RegisterShard(i);
}

void Crew::ShardsHeartbeat() {
  for (const auto& [index, process] : shards) {
    (void)ShardHeartbeat(index, draining.contains(index));
  }
}

void Crew::Kill(uint32_t index) {
  const uint64_t incarnation = shards.at(index).incarnation;
  Stop(index);
  machine.OnShardGone(index, incarnation, now);
  AnswerCalls();
}

v1::ShardHeartbeatReply Crew::ShardHeartbeat(uint32_t index, bool draining) {
  v1::ShardHeartbeatRequest request;
  request.set_index(index);
  request.set_incarnation(shards[index].incarnation);
  request.set_loaded_timeline(shards[index].loaded_timeline);
  request.set_secret(shards[index].secret);
  request.set_draining(draining);
  *request.mutable_report() = reports[index];
  v1::ShardHeartbeatReply reply = machine.ShardHeartbeat(request, now);
  AnswerCalls();
  return reply;
}

absl::StatusOr<v1::Manifest> Crew::ManifestAt(const std::string& uri) const {
  if (const auto why = damaged.find(uri); why != damaged.end()) return why->second;
  for (const WriteManifest& written : manifests) {
    if (written.uri == uri) return written.manifest;
  }
  return absl::NotFoundError(uri);
}

void Crew::Perform(Action& action, std::vector<CallShard>& calls) {
  std::visit(Overloaded{
                 [&](const PublishView& view) { views.push_back(view.view); },
                 [&](const CallShard& call) { calls.push_back(call); },
                 [&](const AppendCurve& point) { curve.push_back(point); },
                 [&](const LogEvent& line) { log.push_back(line); },
                 [&](const DeleteCheckpoints& gone) {
                   deleted.insert(deleted.end(), gone.ids.begin(), gone.ids.end());
                 },
                 [&](const AnswerCheckpoint& answer) { checkpoint_answers.push_back(answer); },
                 [&](const StoreState& store) {
                   if (state_status.ok()) states.push_back(store.state);
                   if (!hold_states) machine.OnStateStored(state_status, now);
                 },
                 [&](const ReadManifest& read) {
                   machine.OnManifestRead(read.uri, ManifestAt(read.uri), now);
                 },
                 [&](WriteManifest& write) {
                   write.manifest.set_created_unix_seconds(
                       static_cast<uint64_t>(absl::ToUnixSeconds(now)));
                   if (manifest_status.ok()) manifests.push_back(write);
                   if (!hold_manifests) machine.OnManifestWritten(write.uri, manifest_status, now);
                 },
             },
             action);
}

void Crew::TakeActions(std::vector<CallShard>& calls) {
  for (std::vector<Action> actions = machine.TakeActions(); !actions.empty();
       actions = machine.TakeActions()) {
    for (Action& action : actions) Perform(action, calls);
  }
}

void Crew::AnswerCalls() {
  for (;;) {
    std::vector<CallShard> calls;
    TakeActions(calls);
    if (calls.empty()) return;
    for (const CallShard& call : calls) {
      if (hold_calls) {
        held.push_back(call);
      } else {
        Answer(call);
      }
    }
  }
}

void Crew::TakeCheckpoint() {
  machine.TakeCheckpoint(/*asker=*/1, now);
  AnswerCalls();
}

void Crew::Answer(const CallShard& call) {
  absl::StatusOr<ShardReply> reply = ReplyTo(call.shard, call.request);
  if (reply.ok()) {
    const std::string name = NameOf(call.request);
    ++answered[name];
    if (!call.request.Is<v1::LoadPartitionsRequest>()) order.push_back(name);
  }
  machine.OnShardReply(call.call, std::move(reply), now);
}

absl::StatusOr<ShardReply> Crew::ReplyTo(uint32_t shard, const ShardRequest& request) {
  if (request.Is<v1::HoldRoundsRequest>()) return Held();
  if (const auto* close = request.As<v1::CloseStreamsRequest>()) return ReplyOf(shard, *close);
  if (const auto* save = request.As<v1::SavePartitionsRequest>()) return ReplyOf(shard, *save);
  if (const auto* load = request.As<v1::LoadPartitionsRequest>()) return ReplyOf(shard, *load);
  if (const auto* move = request.As<v1::MovePartitionsRequest>()) return ReplyOf(shard, *move);
  return ShardReply(NewMessage(*MethodOf(*request->GetDescriptor()).output_type()));
}

v1::HoldRoundsReply Crew::Held() const {
  v1::HoldRoundsReply reply;
  reply.mutable_last()->set_round(round);
  for (uint64_t cursor : lane_cursors) reply.add_lanes()->set_cursor(cursor);
  return reply;
}

v1::CloseStreamsReply Crew::ReplyOf(uint32_t shard, const v1::CloseStreamsRequest& close) {
  for (const v1::StreamClose& stream : close.streams()) {
    closed[shard][stream.stream()] = stream.batches();
  }
  return {};
}

absl::StatusOr<v1::SavePartitionsReply> Crew::ReplyOf(uint32_t shard,
                                                      const v1::SavePartitionsRequest& save) {
  saves.push_back(save);
  if (!save_status.ok()) return save_status;
  v1::SavePartitionsReply reply;
  int& asked = saves_asked_[{save.id(), shard}];
  reply.set_done(++asked >= saves_until_done);
  reply.set_partitions_saved(static_cast<uint64_t>(asked * partitions_saved_each));
  v1::SavedFile& file = *reply.add_files();
  file.set_name(absl::StrCat("partition-", shard));
  file.set_delta(!save.parent().empty());
  return reply;
}

absl::StatusOr<v1::LoadPartitionsReply> Crew::ReplyOf(uint32_t shard,
                                                      const v1::LoadPartitionsRequest& load) {
  loads.push_back(load);
  if (const auto why = damaged_parts.find(load.uri()); why != damaged_parts.end()) {
    return why->second;
  }
  shards[shard].loaded_timeline = load.header().timeline();
  v1::LoadPartitionsReply reply;
  reply.set_done(true);
  if (load.has_partial()) reply.set_batches_lost(batches_lost);
  return reply;
}

absl::StatusOr<v1::MovePartitionsReply> Crew::ReplyOf(uint32_t shard,
                                                      const v1::MovePartitionsRequest& move) {
  move_orders.emplace_back(shard, move);
  if (!move_status.ok()) return move_status;
  const bool done = ++moves_asked_[{move.id().n(), shard, move.finish()}] >= moves_until_done;
  v1::MovePartitionsReply reply;
  reply.set_copied(done || move.finish());
  reply.set_done(done && move.finish());
  return reply;
}

uint64_t Crew::RegisterWorker(const std::string& name, uint64_t incarnation,
                              const std::vector<uint64_t>& trainers, const std::string& peer) {
  v1::RegisterWorkerRequest request;
  request.set_wire_version(1);
  request.set_name(name);
  request.set_incarnation(incarnation != 0 ? incarnation : ++incarnations_);
  for (uint64_t trainer : trainers) request.add_trainers(trainer);
  const auto reply = machine.RegisterWorker(request, now, peer);
  if (!reply.ok()) return 0;
  workers_[name] = {request.incarnation(), {reply->trainers().begin(), reply->trainers().end()}};
  AnswerCalls();
  return request.incarnation();
}

v1::WorkerHeartbeatRequest Crew::HeartbeatOf(const std::string& name) const {
  const auto& [incarnation, trainers] = workers_.at(name);
  v1::WorkerHeartbeatRequest request;
  request.set_name(name);
  request.set_incarnation(incarnation);
  for (uint64_t id : trainers) request.add_trainers()->set_trainer(id);
  return request;
}

v1::WorkerHeartbeatReply Crew::Heartbeat(const std::string& name,
                                         const std::vector<v1::LeaseReport>& reports, bool wants,
                                         bool draining) {
  v1::WorkerHeartbeatRequest request = HeartbeatOf(name);
  request.set_draining(draining);
  for (v1::TrainerReport& trainer : *request.mutable_trainers()) {
    trainer.set_wants_lease(wants && !draining);
  }
  for (const v1::LeaseReport& report : reports) *request.add_leases() = report;
  v1::WorkerHeartbeatReply reply = machine.WorkerHeartbeat(request, now);
  AnswerCalls();
  return reply;
}

std::vector<v1::LeaseReport> Crew::CloseRounds(const v1::WorkerHeartbeatReply& held,
                                               uint64_t rounds) {
  round = rounds;
  lane_cursors.assign(static_cast<size_t>(held.leases_size()), rounds);
  std::vector<v1::LeaseReport> reports;
  for (const v1::Lease& lease : held.leases()) {
    reports.push_back(Partly(lease, rounds));
    reports.back().set_round(rounds + 1);
  }
  return reports;
}

v1::LeaseReport Crew::Partly(const v1::Lease& lease, uint64_t batches) {
  v1::LeaseReport report;
  *report.mutable_generation() = lease.generation();
  report.set_timeline(lease.timeline());
  report.set_trainer(lease.trainer());
  report.set_lane(lease.lane());
  report.set_stream(StreamId::Task(lease.data_epoch(), lease.task().index()).value);
  report.set_kind(lease.kind());
  const uint64_t first = lease.kind() == v1::LEASE_KIND_LANE && lease.lane_tasks_size() > 0
                             ? lease.lane_tasks(0).first_cursor()
                             : lease.first_batch();
  report.set_batches_done(first + batches);
  report.set_examples(batches * kCrewBatchSize);
  report.set_loss_sum(0.5 * static_cast<double>(batches * kCrewBatchSize));
  if (lease.kind() == v1::LEASE_KIND_LANE) report.set_lane_tasks_known(~uint64_t{0});
  return report;
}

v1::LeaseReport Crew::Done(const v1::Lease& lease) {
  if (lease.kind() == v1::LEASE_KIND_EVALUATION) {
    v1::LeaseReport report = Partly(lease, 0);
    report.set_finished(true);
    report.mutable_evaluation()->set_examples(2);
    report.mutable_evaluation()->set_loss_sum(1);
    report.mutable_evaluation()->mutable_positives()->Resize(kLogitBins, 0);
    report.mutable_evaluation()->mutable_negatives()->Resize(kLogitBins, 0);
    report.mutable_evaluation()->set_positives(kLogitBins - 1, 1);
    report.mutable_evaluation()->set_negatives(0, 1);
    return report;
  }
  if (lease.kind() == v1::LEASE_KIND_TASK) {
    // Somebody may have told of more batches than there are.
    const uint64_t left = kCrewBatches - std::min(kCrewBatches, lease.first_batch());
    v1::LeaseReport report = Partly(lease, left);
    report.set_finished(true);
    report.set_total_batches(kCrewBatches);
    report.set_total_examples(kCrewBatches * kCrewBatchSize);
    return report;
  }
  v1::LeaseReport report = Partly(lease, kCrewBatches * lease.lane_tasks_size());
  for (const v1::LaneTask& task : lease.lane_tasks()) {
    v1::LaneTaskDone& done = *report.add_lane_tasks_done();
    done.set_ordinal(task.ordinal());
    done.set_batches(kCrewBatches);
    done.set_examples(kCrewBatches * kCrewBatchSize);
  }
  report.set_lane_tasks_known(0);
  report.set_finished(lease.lane_tasks_complete());
  return report;
}

void Crew::WorkToTheEnd(const std::vector<std::string>& names, int rounds) {
  std::map<std::string, std::vector<v1::LeaseReport>> reports;
  for (int i = 0; i < rounds && machine.state() == v1::JOB_STATE_RUNNING; ++i) {
    for (const std::string& name : names) {
      const v1::WorkerHeartbeatReply reply = Heartbeat(name, reports[name]);
      reports[name].clear();
      for (const v1::Lease& lease : reply.leases()) {
        reports[name].push_back(Done(lease));
        if (lease.kind() == v1::LEASE_KIND_LANE) {
          round = std::max(round, reports[name].back().batches_done());
        }
      }
    }
    Advance(absl::Milliseconds(100));
  }
}

void Crew::Advance(absl::Duration by) {
  const absl::Time until = now + by;
  while (now < until) {
    now = std::min(until, now + absl::Milliseconds(500));
    ShardsHeartbeat();
    machine.Tick(now);
    AnswerCalls();
  }
}

}  // namespace capstan::chief
