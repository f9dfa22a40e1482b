// The shell around a runner machine: worker/shell/lease_runner without threads, files and sockets.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_RUNNER_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_RUNNER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"
#include "tests/simulation/sim/cast.h"
#include "tests/simulation/sim/feed.h"
#include "tests/simulation/sim/messages.h"
#include "worker/machines/runner_machine.h"
#include "worker/session/lease_lifecycle.h"
#include "worker/session/lease_work.h"
#include "worker/session/map_watch.h"

namespace capstan::sim {

// What the leases of a trainer share. All of it outlives them.
struct RunnerContext {
  Cast& cast;
  Life life;
  TrainerId trainer{};
  worker::TrainerClock& clock;
  const v1::View& view;
  absl::Time& busy_until;  // Of the trainer's compute thread.
  const double& slowness;
  const absl::Time& data_come;  // Nothing is read before.
  std::function<void()> wake;   // Something has changed.
};

class Runner final : public worker::LeaseWork {
 public:
  // Begins at once. `context` must outlive the runner.
  Runner(const RunnerContext& context, v1::Lease lease);
  ~Runner() override { *alive_ = false; }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  void Deliver(worker::Event event) override;
  void Extend(const v1::Lease& lease) override;
  void OnView(const std::vector<ShardIndex>& restarted) override;
  absl::Time NextWake() const override {
    return lifecycle_.machine_over() ? absl::InfiniteFuture() : lifecycle_.machine().NextWake();
  }
  bool over() const override { return lifecycle_.over(); }
  bool HasNews() const override { return lifecycle_.HasNews(); }
  v1::LeaseReport Report() override;

 private:
  void Do(const worker::ReadBatch& action);
  void Do(const worker::SendPull& action);
  void Do(const worker::Compute& action);
  void Do(const worker::SendPush& action);
  struct Push;
  void SendChunks(const std::shared_ptr<Push>& push);
  void SendChunk(const std::shared_ptr<Push>& push, size_t chunk);
  void Do(const worker::SendClock& action);
  void Do(const worker::SendOpen& action);
  void Do(const worker::SendReport& action);
  void Do(const worker::Forget& action);
  void Do(const worker::Finished& action);
  void Later(absl::Duration wait, std::function<void()> event);
  void ServeReads();
  void FailToRead(absl::Duration wait);
  void EndIfRead();
  uint32_t coordinator() const { return context_.view.owners(0); }
  const v1::Lease& lease() const { return lifecycle_.lease(); }
  void Handle(const worker::Event& event);
  bool evaluates() const { return lease().kind() == v1::LEASE_KIND_EVALUATION; }
  std::vector<ShardIndex> PlanOf(const NamedBatch& batch) const;
  template <typename Callback>
  auto Guard(Callback callback);
  absl::Time Now() const { return context_.cast.schedule().Now(); }

  const RunnerContext& context_;
  Feed feed_;
  worker::LeaseLifecycle lifecycle_;
  worker::MapWatch map_;
  std::deque<uint64_t> reads_;  // Asked for, and not answered.
  bool read_under_way_ = false;
  std::map<uint64_t, std::shared_ptr<Step>> steps_;
  // Pulls sent, by batch and shard: a later one takes the place of the one before.
  std::map<std::pair<uint64_t, ShardIndex>, uint64_t> pulls_;
  std::map<std::pair<uint64_t, ShardIndex>, std::shared_ptr<Push>> pushes_;  // Likewise.
  bool reading_to_end_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // Shared with calls under way.
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_RUNNER_H_
