#include "chief/shell/control_loop.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <variant>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "capstan/base/check.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/log.h"
#include "capstan/base/status.h"
#include "capstan/base/trace.h"
#include "capstan/base/version.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/message/rpc_method.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/v1/ps.pb.h"
#include "chief/shell/log_event.h"

namespace capstan::chief {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(100);
constexpr absl::Duration kShortestWait = absl::Milliseconds(1);
constexpr absl::Duration kMetricsEvery = absl::Seconds(1);
// More than can ever wait: the machine requests one read or write of each kind at a time.
constexpr size_t kMostCommits = 16;

absl::StatusOr<ShardReply> ReadReply(const google::protobuf::MethodDescriptor& rpc,
                                     absl::StatusOr<EventLoop::Bytes> bytes) {
  if (!bytes.ok()) return std::move(bytes).status();
  std::unique_ptr<google::protobuf::Message> reply = NewMessage(*rpc.output_type());
  CAPSTAN_RETURN_IF_ERROR(EventLoop::ParseInto(*std::move(bytes), *reply));
  return ShardReply(std::move(reply));
}

absl::Status ChiefStops() { return absl::UnavailableError("the chief stops"); }

// The points at which tests crash the chief before it calls a shard.
void ReachFailpointOf(const ShardRequest& request) {
  if (request.Is<v1::HoldRoundsRequest>()) CAPSTAN_FAILPOINT("order.hold_rounds");
  if (request.Is<v1::CommitRoundRequest>()) CAPSTAN_FAILPOINT("order.commit_round");
  if (request.Is<v1::CloseStreamsRequest>()) CAPSTAN_FAILPOINT("order.close_streams");
  if (request.Is<v1::FlushRequest>()) CAPSTAN_FAILPOINT("order.flush");
  if (request.Is<v1::SavePartitionsRequest>()) CAPSTAN_FAILPOINT("order.save");
  if (request.Is<v1::LoadPartitionsRequest>()) CAPSTAN_FAILPOINT("order.load");
  if (request.Is<v1::MovePartitionsRequest>()) {
    CAPSTAN_FAILPOINT("order.move");
    if (request.Get<v1::MovePartitionsRequest>().finish()) CAPSTAN_FAILPOINT("order.move_finish");
  }
}

// Must be called before the view is published.
void TraceView(const v1::View& view) {
  if (!trace::On()) return;
  std::string json;
  if (google::protobuf::util::MessageToJsonString(view, &json).ok()) {
    trace::Write("view", {{"view", json}});
  }
}

}  // namespace

ControlLoop::ControlLoop(ChiefMachine machine, Parts parts)
    : parts_(parts), channels_(parts.tls), machine_(std::move(machine)), commits_(kMostCommits) {
  {
    absl::MutexLock lock(&mu_);
    TakeActions();
  }
  thread_ = std::thread([this] { Loop(); });
}

ControlLoop::~ControlLoop() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  loop_.Post([] {});
  thread_.join();
}

void ControlLoop::Do(absl::FunctionRef<void(ChiefMachine&, absl::Time)> event) {
  absl::MutexLock lock(&mu_);
  event(machine_, parts_.clock.Now());
  TakeActions();
}

void ControlLoop::TakeActions() {
  std::vector<Action> actions = machine_.TakeActions();
  if (trace::On()) traced_.See(machine_.timeline(), machine_.progress(), actions);
  if (actions.empty()) return;
  if (outbox_.empty()) loop_.Post([this] { PerformAll(); });
  std::move(actions.begin(), actions.end(), std::back_inserter(outbox_));
}

void ControlLoop::Loop() {
  absl::Time next_tick = parts_.clock.Now();
  absl::Time next_wake = absl::InfiniteFuture();
  absl::Time next_metrics = next_tick;
  for (;;) {
    loop_.Poll(std::max(std::min(next_tick, next_wake) - parts_.clock.Now(), absl::ZeroDuration()));
    const absl::Time now = parts_.clock.Now();
    {
      absl::MutexLock lock(&mu_);
      if (stopping_) break;
      if (now >= std::min(next_tick, next_wake)) machine_.Tick(now);
      TakeActions();
      next_wake = std::max(machine_.NextWake(), now + kShortestWait);
    }
    if (parts_.liveness != nullptr) parts_.liveness->Turn();
    if (now >= next_tick) next_tick = now + kTick;
    if (now < next_metrics) continue;
    next_metrics = now + kMetricsEvery;
    parts_.metrics.Update(Status());
    parts_.metrics.SetStateFailing(
        Run([](ChiefMachine& chief, absl::Time) { return !chief.last_store().ok(); }));
  }
  PerformAll();
}

void ControlLoop::PerformAll() {
  std::vector<Action> actions;
  {
    absl::MutexLock lock(&mu_);
    actions.swap(outbox_);
  }
  for (Action& action : actions) {
    std::visit([this](auto& each) { Perform(each); }, action);
  }
}

void ControlLoop::Perform(PublishView& action) {
  CAPSTAN_FAILPOINT("view.publish");
  TraceView(action.view);
  parts_.metrics.SetView(action.view);
  parts_.views.Publish(action.view);
  CAPSTAN_FAILPOINT("view.published");
}

void ControlLoop::Perform(CallShard& action) {
  ReachFailpointOf(action.request);
  const google::protobuf::MethodDescriptor* const rpc = &MethodOf(*action.request->GetDescriptor());
  Channel& shard = shards_[action.shard];
  shard = channels_.To(action.address, action.incarnation);
  loop_.Call(shard, PathOf(*rpc), EventLoop::Serialize(*action.request), action.deadline,
             [this, call = action.call, rpc](absl::StatusOr<EventLoop::Bytes> bytes) {
               absl::StatusOr<ShardReply> reply = ReadReply(*rpc, std::move(bytes));
               absl::MutexLock lock(&mu_);
               machine_.OnShardReply(call, std::move(reply), parts_.clock.Now());
               TakeActions();
             });
}

template <typename Work, typename Report>
void ControlLoop::Commit(Work work, Report report) {
  const bool posted = commits_.Post([this, work = std::move(work), report]() mutable {
    auto result = work();
    Run([&](ChiefMachine& chief, absl::Time now) { report(chief, std::move(result), now); });
  });
  CAPSTAN_CHECK(posted);
}

void ControlLoop::Perform(StoreState& action) {
  Commit(
      [this, state = std::move(action.state)] {
        absl::Status stored = parts_.store->WriteState(state);
        if (stored.ok()) trace::Write("stored", {});
        return stored;
      },
      [](ChiefMachine& chief, const absl::Status& stored, absl::Time now) {
        chief.OnStateStored(stored, now);
      });
}

void ControlLoop::Perform(WriteManifest& action) {
  action.manifest.set_written_by(std::string(Version()));
  action.manifest.set_created_unix_seconds(static_cast<uint64_t>(absl::ToUnixSeconds(absl::Now())));
  std::string uri = action.uri;
  Commit(
      [action = std::move(action)]() -> absl::Status {
        CAPSTAN_ASSIGN_OR_RETURN(const auto folder, OpenObjectStore(action.uri));
        CAPSTAN_RETURN_IF_ERROR(CAPSTAN_FAILPOINT_STATUS("manifest.write"));
        CAPSTAN_RETURN_IF_ERROR(capstan::WriteManifest(*folder, action.manifest));
        TraceSaved(action.manifest);
        return CAPSTAN_FAILPOINT_STATUS("manifest.written");
      },
      [uri = std::move(uri)](ChiefMachine& chief, const absl::Status& written, absl::Time now) {
        chief.OnManifestWritten(uri, written, now);
      });
}

void ControlLoop::Perform(ReadManifest& action) {
  Commit(
      [uri = action.uri]() -> absl::StatusOr<v1::Manifest> {
        CAPSTAN_ASSIGN_OR_RETURN(const auto folder, OpenObjectStore(uri));
        return capstan::ReadManifest(*folder);
      },
      [uri = action.uri](ChiefMachine& chief, absl::StatusOr<v1::Manifest> manifest,
                         absl::Time now) { chief.OnManifestRead(uri, std::move(manifest), now); });
}

void ControlLoop::Perform(DeleteCheckpoints& action) {
  const bool posted = parts_.housekeeping.Post([store = parts_.store, action = std::move(action)] {
    const JobStore::Deletion done = store->Delete(action.ids);
    const JobStore::Deletion uncompleted = store->DeleteUncompleted(action.uncertain);
    if (!done.deleted.empty() || !uncompleted.deleted.empty()) {
      log::Info("checkpoints that are not needed any more are deleted",
                {{"checkpoints", absl::StrJoin(done.deleted, " ")},
                 {"those not completed", absl::StrJoin(uncompleted.deleted, " ")}});
    }
    absl::Status status = done.status;
    status.Update(uncompleted.status);
    if (!status.ok()) log::Warn("old checkpoints cannot be deleted", {{"error", status}});
  });
  if (!posted) log::Warn("old checkpoints stay: the store is too slow");
}

void ControlLoop::TakeCheckpoint(OnCheckpoint done) {
  {
    absl::MutexLock lock(&mu_);
    if (!askers_answered_) {
      askers_[++last_asker_] = std::move(done);
      machine_.TakeCheckpoint(last_asker_, parts_.clock.Now());
      TakeActions();
      return;
    }
  }
  // The server that ends waits for each call that has come.
  done(ChiefStops());
}

void ControlLoop::AnswerAskers() {
  std::map<uint64_t, OnCheckpoint> askers;
  {
    absl::MutexLock lock(&mu_);
    askers.swap(askers_);
    askers_answered_ = true;
  }
  for (auto& [asker, done] : askers) done(ChiefStops());
}

void ControlLoop::Perform(AnswerCheckpoint& action) {
  OnCheckpoint done;
  {
    absl::MutexLock lock(&mu_);
    const auto asker = askers_.find(action.asker);
    if (asker == askers_.end()) return;
    done = std::move(asker->second);
    askers_.erase(asker);
  }
  done(action.uri);
}

void ControlLoop::Perform(AppendCurve& action) { parts_.curve.Append(action); }

void ControlLoop::Perform(LogEvent& action) { WriteLog(action); }

}  // namespace capstan::chief
