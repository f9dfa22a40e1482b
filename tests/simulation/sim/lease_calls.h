// Carries out the work on one lease in a simulated worker, as worker/shell/lease_calls does in a
// real one: with messages of the simulated network (lease_calls.cc), and the data and the
// arithmetic of the job (lease_data.cc).
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_LEASE_CALLS_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_LEASE_CALLS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"
#include "tests/simulation/sim/cast.h"
#include "tests/simulation/sim/feed.h"
#include "tests/simulation/sim/messages.h"
#include "worker/session/lease_shell.h"

namespace capstan::sim {

// What the leases of a trainer work with. All of it outlives them.
struct TrainerContext {
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

class LeaseCalls final : public worker::LeaseShell {
 public:
  // `trainer` must outlive the object.
  LeaseCalls(const TrainerContext& trainer, const v1::Lease& lease);
  ~LeaseCalls() override { *alive_ = false; }
  LeaseCalls(const LeaseCalls&) = delete;
  LeaseCalls& operator=(const LeaseCalls&) = delete;

  void Begin(worker::LeaseEvents& events) override { events_ = &events; }

  absl::Time Now() const override { return cast_.schedule().Now(); }
  double Random() override { return cast_.schedule().Random(); }
  const v1::View& view() const override { return trainer_.view; }
  worker::TasksRead& tasks() override { return feed_; }

  void Do(const worker::ReadBatch& action) override;
  void Do(const worker::SendPull& action) override;
  void Do(const worker::Compute& action) override;
  void Do(const worker::SendPush& action) override;
  void Do(const worker::SendClock& action) override;
  void Do(const worker::SendReport& action) override;
  void Do(const worker::Forget& action) override { steps_.erase(action.batch); }
  void Open(const worker::SendOpen& action, absl::Time asked,
            std::optional<worker::WaitingTurns::Turn> turn) override;

  // Leaves the calls under way alone: no runner may depend on their being cancelled.
  std::vector<worker::BatchRead> Replan() override;
  bool Needs(uint64_t batch, ShardIndex shard) const override;
  void Extend(const v1::Lease& lease) override;
  void ReadToEnd(uint64_t batches) override;
  void OnHandled(const worker::Event& event, const worker::RunnerMachine& machine) override;
  void OnFinished(bool lost) override;
  void AddResults(v1::LeaseReport& report) const override;

 private:
  struct Push;

  void SendChunks(const std::shared_ptr<Push>& push);
  void SendChunk(const std::shared_ptr<Push>& push, size_t chunk);
  v1::RequestHeader HeaderTo(uint32_t shard, uint64_t clock = 0) const;
  template <typename Reply, typename Request>
  void Call(uint32_t shard, std::shared_ptr<Request> request, absl::Duration timeout,
            Done<Reply> done);
  // The same for a request that may be for a round and carries the commit of the round before: it
  // is left out, as capstan/client does, towards a shard that asks for what it lacks.
  template <typename Reply, typename Request>
  void CallOfRound(uint32_t shard, std::shared_ptr<Request> request, Done<Reply> done);
  void Later(absl::Duration wait, std::function<void()> event);
  void ServeReads();
  void FailToRead(absl::Duration wait);
  void EndIfRead();
  std::vector<ShardIndex> PlanOf(const NamedBatch& batch) const;
  bool evaluates() const { return lease_.kind() == v1::LEASE_KIND_EVALUATION; }
  template <typename Callback>
  auto Guard(Callback callback);

  const TrainerContext& trainer_;
  Cast& cast_;
  const v1::Lease lease_;
  worker::LeaseEvents* events_ = nullptr;
  Feed feed_;
  std::deque<uint64_t> reads_;  // Asked for, and not answered.
  bool read_under_way_ = false;
  std::optional<uint64_t> read_to_end_;  // How many batches the lane has.
  std::map<uint64_t, std::shared_ptr<Step>> steps_;
  // Pulls sent, by batch and shard: a later one takes the place of the one before.
  std::map<std::pair<uint64_t, ShardIndex>, uint64_t> pulls_;
  std::map<std::pair<uint64_t, ShardIndex>, std::shared_ptr<Push>> pushes_;  // Likewise.
  std::map<worker::Ticket, worker::WaitingTurns::Turn> turns_;               // Of opens under way.
  std::set<uint64_t> asking_;  // Incarnations of shards that have said that they ask for commits.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // Shared with calls under way.
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_LEASE_CALLS_H_
