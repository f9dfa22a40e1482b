// The chief's process of a simulated world: the real ChiefMachine, JobStore and ClaimJob in a shell
// without threads (chief/shell/chief_process, control_loop and chief_service).
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_CHIEF_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_CHIEF_H_

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/base/ids.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"
#include "chief/duties/chief_machine.h"
#include "chief/shell/job_store.h"
#include "chief/shell/told_view.h"
#include "tests/simulation/sim/cast.h"
#include "tests/simulation/sim/threads.h"

namespace capstan::sim {

struct ChiefSetup {
  uint64_t run_id = 0;
  uint64_t term = 1;  // Where nothing is stored; otherwise the next one is claimed.
  uint32_t shards = 1;
};

class ChiefProcess {
 public:
  ChiefProcess(Cast& cast, const Life& life, const ChiefSetup& setup);
  // It has been killed: whoever watches finds out.
  void OnKilled();

  // ---- its door ----

  // Nothing is served before the job has been claimed.
  bool serves() const { return machine_.has_value(); }
  // The others REQUIRE serves().
  absl::StatusOr<v1::RegisterShardReply> RegisterShard(const v1::RegisterShardRequest& request);
  absl::StatusOr<v1::RegisterWorkerReply> RegisterWorker(const v1::RegisterWorkerRequest& request);
  v1::ShardHeartbeatReply ShardHeartbeat(const v1::ShardHeartbeatRequest& request);
  v1::WorkerHeartbeatReply WorkerHeartbeat(const v1::WorkerHeartbeatRequest& request);
  // `shard`: the incarnation of the shard that watches; 0: it is not a shard. `on_message`: views
  // as ViewReader reads them.
  void Watch(const Life& watcher, uint64_t shard, std::function<void(const v1::View&)> on_message,
             std::function<void()> on_end);
  void TakeCheckpoint();
  void Rebalance();
  void OnShardGone(uint32_t index, uint64_t incarnation);  // As its failure detector has it.

  const Life& life() const { return life_; }
  v1::GetStatusReply Status() const { return machine_->Status(cast_.schedule().Now()); }
  uint64_t term() const { return serves() ? term_ : 0; }
  v1::JobState state() const;
  const v1::View& view() const { return machine_->view(); }
  bool stored() const { return machine_ && machine_->stored(); }

 private:
  struct Watcher {
    std::shared_ptr<Network::Stream> stream;
    uint64_t shard = 0;
    std::function<void(const v1::View&)> on_message;
    // What was sent last; null: nothing yet.
    std::shared_ptr<chief::ToldView> told;
    ViewEpoch told_epoch;
  };
  void Claim();
  void Begin(uint64_t term, chief::JobHistory history);
  void Tick();
  void Perform();  // What the machine has asked for.
  void Wake(absl::Time at);
  void Do(const chief::PublishView& action);
  void Do(const chief::CallShard& action);
  void Do(const chief::StoreState& action);
  void Do(const chief::WriteManifest& action);
  void Do(const chief::ReadManifest& action);
  void Do(const chief::DeleteCheckpoints& action);
  void Do(const chief::AnswerCheckpoint&) {}
  void Do(const chief::AppendCurve&) {}
  void Do(const chief::LogEvent& action);
  // As ControlLoop: one job after the other, each in the order in which it was asked for.
  template <typename Work, typename Report>
  void Commit(Work work, Report report);
  void CommitNext();
  void Reassign(v1::Lease& lease) const;
  // What the shard gets: as the chief sends it, unless it lies.
  chief::ShardRequest Distorted(const chief::CallShard& action) const;
  void SendView(Watcher& watcher, const v1::View& view);
  bool IsWatching(uint64_t shard) const;  // As chief/shell/view_feed.
  absl::Time Now() const { return cast_.schedule().Now(); }

  Cast& cast_;
  const Life life_;
  const ChiefSetup setup_;
  SimThreads threads_;
  const StoreOpener open_;
  std::unique_ptr<chief::JobStore> store_;  // Null: nothing is stored.
  uint64_t term_ = 0;
  std::string stored_places_;  // Of the last state that it has stored.
  std::optional<chief::ChiefMachine> machine_;
  std::vector<Watcher> watchers_;
  uint64_t askers_ = 0;
  absl::Time wake_at_ = absl::InfiniteFuture();
  std::deque<std::function<void()>> commits_;
  // Last, as their ends still need what stands above: the end of a claim may begin commits, and the
  // end of a commit may begin to delete.
  std::deque<std::unique_ptr<Background::Work>> deletes_;
  std::unique_ptr<Background::Work> commit_;
  std::unique_ptr<Background::Work> claim_;
};

// A call to whatever chief there is: `serve(chief, answer)` runs there.
template <typename Reply>
void CallChief(Cast& cast, const Life& life, absl::Duration timeout,
               std::function<void(ChiefProcess&, const Done<Reply>&)> serve, Done<Reply> done) {
  const HostId host = cast.chief_host();
  cast.network().Call<Reply>(
      life, host, timeout,
      [&cast, host, serve = std::move(serve)](const Done<Reply>& answer, absl::Time) {
        ChiefProcess* const chief = cast.chief(host);
        if (chief == nullptr || !chief->serves()) {
          return answer(absl::UnavailableError("the chief does not serve yet"));
        }
        serve(*chief, answer);
      },
      std::move(done));
}

// The client's side of WatchView: every view until the stream ends, which is told once.
void Watch(Cast& cast, const Life& life, uint64_t shard,
           std::function<void(const v1::View&)> on_view, std::function<void()> on_end);

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_CHIEF_H_
