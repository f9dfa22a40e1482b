// The chief's process of a simulated world: the real ChiefMachine in a shell without threads.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_CHIEF_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_CHIEF_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"
#include "chief/chief_machine.h"
#include "tests/simulation/sim/cast.h"

namespace capstan::sim {

class ChiefProcess {
 public:
  ChiefProcess(Cast& cast, const Life& life, const chief::ChiefOptions& options);
  ~ChiefProcess();

  // ---- its door ----
  absl::StatusOr<v1::RegisterShardReply> RegisterShard(const v1::RegisterShardRequest& request);
  absl::StatusOr<v1::RegisterWorkerReply> RegisterWorker(const v1::RegisterWorkerRequest& request);
  v1::ShardHeartbeatReply ShardHeartbeat(const v1::ShardHeartbeatRequest& request);
  v1::WorkerHeartbeatReply WorkerHeartbeat(const v1::WorkerHeartbeatRequest& request);
  void Watch(const Life& watcher, std::function<void(const v1::View&)> on_view,
             std::function<void()> on_end);

  v1::GetStatusReply Status() const { return machine_.Status(cast_.schedule().Now()); }
  v1::JobState state() const { return machine_.state(); }

 private:
  struct Watcher {
    std::shared_ptr<Network::Stream> stream;
    std::function<void(const v1::View&)> on_view;
  };
  void Tick();
  void Perform();  // What the machine has asked for.
  void Do(const chief::PublishView& action);
  void Do(const chief::CallShard& action);
  void Do(const chief::StoreState& action);
  void Do(const chief::WriteManifest& action);
  void Do(const chief::ReadManifest&) {}
  void Do(const chief::DeleteCheckpoints&) {}
  void Do(const chief::AnswerCheckpoint&) {}
  void Do(const chief::AppendCurve&) {}
  void Do(const chief::LogEvent& action);
  template <typename Reply, typename Serve>
  void Call(const chief::CallShard& action, const Serve& serve);
  void SendView(const Watcher& watcher, const v1::View& view);
  absl::Time Now() const { return cast_.schedule().Now(); }

  Cast& cast_;
  const Life life_;
  chief::ChiefMachine machine_;
  std::vector<Watcher> watchers_;
};

// The client's side of WatchView: every view until the stream ends, which is told once.
void Watch(Cast& cast, const Life& life, std::function<void(const v1::View&)> on_view,
           std::function<void()> on_end);

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_CHIEF_H_
