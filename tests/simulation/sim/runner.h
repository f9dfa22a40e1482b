// The shell around a holder machine: worker/lease_runner without threads, files and sockets.
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
#include "worker/holder_machine.h"
#include "worker/lease_work.h"

namespace capstan::sim {

// What the leases of a member share. All of it outlives them.
struct RunnerContext {
  Cast& cast;
  Life life;
  MemberId member{};
  worker::MemberClock& clock;
  const v1::View& view;
  absl::Time& busy_until;  // Of the member's compute thread.
  const double& slowness;
  std::function<void()> wake;  // Something has changed.
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
    return machine_over_ ? absl::InfiniteFuture() : machine_->NextWake();
  }
  bool over() const override { return over_; }
  bool HasNews() const override { return false; }  // A heartbeat is early enough here.
  v1::LeaseReport Report() override;

 private:
  void Do(const worker::ReadBatch& action);
  void Do(const worker::SendPull& action);
  void Do(const worker::Compute& action);
  void Do(const worker::SendPush& action);
  void Do(const worker::SendClock& action);
  void Do(const worker::SendOpen& action);
  void Do(const worker::SendReport& action);
  void Do(const worker::RefreshView&) {}
  void Do(const worker::Forget& action);
  void Do(const worker::Finished& action);
  void Later(absl::Duration wait, std::function<void()> event);
  void ServeReads();
  void EndIfRead();
  uint32_t keeper() const { return context_.view.owners(0); }
  bool evaluates() const { return lease_.kind() == v1::LEASE_KIND_EVALUATION; }
  std::vector<ShardIndex> PlanOf(const BatchName& batch) const;
  template <typename Callback>
  auto Guard(Callback callback);
  absl::Time Now() const { return context_.cast.schedule().Now(); }

  const RunnerContext& context_;
  const v1::Lease lease_;
  const Generation generation_;
  std::unique_ptr<worker::HolderMachine> machine_;
  Feed feed_;
  std::deque<worker::Event> events_;
  bool delivering_ = false;
  std::deque<uint64_t> reads_;  // Asked for, and not answered.
  bool read_under_way_ = false;
  std::map<uint64_t, std::shared_ptr<Step>> steps_;
  // Pulls sent, by batch and shard: a later one takes the place of the one before.
  std::map<std::pair<uint64_t, ShardIndex>, uint64_t> pulls_;
  std::vector<v1::LaneTaskDone> tasks_done_;
  uint64_t round_ = 0;
  uint64_t closed_ = 0;
  bool machine_over_ = false;
  bool reading_to_end_ = false;
  bool over_ = false;
  bool lost_ = false;
  bool returned_ = false;
  std::string failure_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // Shared with calls under way.
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_RUNNER_H_
