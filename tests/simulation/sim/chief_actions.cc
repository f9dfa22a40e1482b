// ChiefProcess: what the machine asks for.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/placement/view_epoch.h"
#include "tests/simulation/sim/checks.h"
#include "tests/simulation/sim/chief.h"
#include "tests/simulation/sim/shard.h"

namespace capstan::sim {
namespace {

constexpr absl::Duration kShortestWait = absl::Milliseconds(1);

// Where everything is, whoever works.
std::string PlacesIn(v1::View view) {
  view.clear_epoch();
  view.clear_trainers();
  view.clear_state();
  return view.SerializeAsString();
}

}  // namespace

void ChiefProcess::Perform() {
  for (const chief::Action& action : machine_->TakeActions()) {
    std::visit([this](const auto& each) { Do(each); }, action);
  }
  if (machine_->superseded()) return cast_.Exit(life_, "another chief has taken the job over");
  const absl::Time wake = std::max(machine_->NextWake(), Now() + kShortestWait);
  if (wake < wake_at_) Wake(wake);
}

// As ControlLoop: some calls do not wait for the next tick.
void ChiefProcess::Wake(absl::Time at) {
  wake_at_ = at;
  cast_.network().After(life_, at - Now(), [this, at] {
    if (wake_at_ != at) return;
    wake_at_ = absl::InfiniteFuture();
    machine_->Tick(Now());
    Perform();
  });
}

void ChiefProcess::Do(const chief::PublishView& action) {
  cast_.checks().OnView(action.view);
  std::erase_if(watchers_, [](const Watcher& watcher) { return watcher.stream->broken; });
  for (Watcher& watcher : watchers_) SendView(watcher, action.view);
}

// As chief/shell/view_feed: the first view is sent whole.
void ChiefProcess::SendView(Watcher& watcher, const v1::View& view) {
  const auto whole = std::make_shared<const v1::View>(view);
  const auto told = std::exchange(watcher.told, std::make_shared<chief::ToldView>(whole));
  const ViewEpoch before = std::exchange(watcher.told_epoch, EpochOf(view));
  const bool newer = told != nullptr && EpochOf(view) > before;
  cast_.network().Send(watcher.stream, [on_message = watcher.on_message,
                                        message = newer ? told->MessageFor(before, whole) : whole] {
    on_message(*message);
  });
}

// ---- shards ----

chief::ShardRequest ChiefProcess::Distorted(const chief::CallShard& action) const {
  const auto* const order = action.request.As<v1::LoadPartitionsRequest>();
  if (order == nullptr) return action.request;
  v1::LoadPartitionsRequest load = *order;
  if (cast_.lie() == Lie::kNotTold && load.has_partial()) *load.mutable_partial() = {};
  if (cast_.lie() == Lie::kEmptyNewShard && action.shard >= cast_.first_shards()) load.clear_uri();
  return load;
}

void ChiefProcess::Do(const chief::CallShard& action) {
  const auto* const load = action.request.As<v1::LoadPartitionsRequest>();
  if (load != nullptr) cast_.checks().OnLoadOrdered(*load);
  cast_.network().Call<chief::ShardReply>(
      life_, cast_.shard_host(action.shard), action.deadline,
      [&cast = cast_, index = action.shard, order = Distorted(action)](
          const Done<chief::ShardReply>& answer, absl::Time deadline) {
        if (ShardProcess* shard = cast.shard(index)) shard->Order(order, deadline, answer);
      },
      [this, call = action.call](absl::StatusOr<chief::ShardReply> reply) {
        machine_->OnShardReply(call, std::move(reply), Now());
        Perform();
      });
}

// ---- the store ----

template <typename Work, typename Report>
void ChiefProcess::Commit(Work work, Report report) {
  commits_.push_back([this, work = std::move(work), report = std::move(report)] {
    auto result = work();
    if (!cast_.network().Lives(life_)) return;
    report(*machine_, std::move(result), Now());
    Perform();
  });
  if (commits_.size() == 1) CommitNext();
}

void ChiefProcess::CommitNext() {
  commit_ = threads_.Begin([this] {
    while (!commits_.empty() && cast_.network().Lives(life_)) {
      commits_.front()();
      commits_.pop_front();
    }
  });
}

void ChiefProcess::Do(const chief::StoreState& action) {
  const bool moved = PlacesIn(action.state.view()) != stored_places_;
  const bool hasty = cast_.lie() == (moved ? Lie::kHastyView : Lie::kHastyClose);
  if (hasty) {
    cast_.network().After(life_, absl::ZeroDuration(), [this] {
      machine_->OnStateStored(absl::OkStatus(), Now());
      Perform();
    });
  }
  Commit(
      [this, state = action.state] {
        const absl::Status stored = store_->WriteState(state);
        if (stored.ok()) stored_places_ = PlacesIn(state.view());
        return stored;
      },
      [hasty](chief::ChiefMachine& machine, const absl::Status& stored, absl::Time now) {
        if (!hasty) machine.OnStateStored(stored, now);
      });
}

void ChiefProcess::Do(const chief::WriteManifest& action) {
  v1::Manifest manifest = action.manifest;
  manifest.set_created_unix_seconds(static_cast<uint64_t>(absl::ToUnixSeconds(Now())));
  Commit(
      [this, uri = action.uri, manifest]() -> absl::Status {
        CAPSTAN_ASSIGN_OR_RETURN(const auto folder, open_(uri));
        return WriteManifest(*folder, manifest);
      },
      [uri = action.uri](chief::ChiefMachine& machine, const absl::Status& written,
                         absl::Time now) { machine.OnManifestWritten(uri, written, now); });
}

void ChiefProcess::Do(const chief::ReadManifest& action) {
  Commit(
      [this, uri = action.uri]() -> absl::StatusOr<v1::Manifest> {
        CAPSTAN_ASSIGN_OR_RETURN(const auto folder, open_(uri));
        CAPSTAN_ASSIGN_OR_RETURN(v1::Manifest manifest, ReadManifest(*folder));
        if (cast_.lie() == Lie::kForgetOpen) manifest.clear_unclosed();
        return manifest;
      },
      [uri = action.uri](chief::ChiefMachine& machine, absl::StatusOr<v1::Manifest> manifest,
                         absl::Time now) {
        machine.OnManifestRead(uri, std::move(manifest), now);
      });
}

void ChiefProcess::Do(const chief::DeleteCheckpoints& action) {
  cast_.checks().durable().OnDeleteOrdered(action.ids);
  deletes_.push_back(threads_.Begin([this, action] {
    (void)store_->Delete(action.ids);
    (void)store_->DeleteUncompleted(action.uncertain);
  }));
}

void ChiefProcess::Do(const chief::LogEvent& action) {
  std::string text;
  for (const auto& [key, value] : action.fields) absl::StrAppend(&text, " ", key, "=", value);
  cast_.schedule().Note("chief: ", action.message, text);
  if (action.message.starts_with("backups take over")) cast_.checks().OnPromoted();
  // An attempt that it has abandoned meanwhile is none of its checkpoints.
  if (action.message != "checkpoint") return;
  cast_.checks().durable().OnCheckpoint(term_, action.fields.front().second);
}

}  // namespace capstan::sim
