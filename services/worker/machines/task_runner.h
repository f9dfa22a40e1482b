// The runner of a task: see runner_machine.h.
#ifndef CAPSTAN_WORKER_MACHINES_TASK_RUNNER_H_
#define CAPSTAN_WORKER_MACHINES_TASK_RUNNER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/machines/runner_base.h"

namespace capstan::worker {

// Confined to the trainer's event loop.
class TaskRunner : public RunnerBase {
 public:
  explicit TaskRunner(const TaskLease& lease);
  std::unique_ptr<RunnerMachine> Clone() const override;
  std::string DebugString() const override;
  uint64_t needed_batch() const override { return next_compute_; }

 private:
  enum class Stage { kReading, kRead, kPulling, kPulled, kComputing, kComputed, kPushing };
  struct Batch {
    Stage stage = Stage::kReading;
    uint32_t examples = 0;
    std::vector<ShardIndex> shards;
    uint64_t step = 0;  // From kPulling on.
    double loss_sum = 0;
    bool nonfinite = false;
    ShardCalls pulls;
    ShardCalls pushes;
  };
  struct Settled {  // A settled batch above the settled prefix.
    uint32_t examples = 0;
    double loss_sum = 0;
  };

  void Handle(const Event& event, const RunnerContext& context) override;
  void Pump(const RunnerContext& context) override;
  std::vector<uint64_t> OpenSteps() const override;
  std::vector<const Call*> Calls() const override;
  bool Pushing(ShardIndex shard) const override;
  void NameLease(SendClock& told) const override;

  void OnRead(const BatchRead& read);
  void OnEnd(const EndOfData& end);
  void OnPulled(const PullDone& done, const RunnerContext& context);
  void OnComputed(const Computed& computed);
  void OnPushed(const PushDone& done, const RunnerContext& context);
  void OnView(const ViewChanged& view);
  void TellShards(const std::vector<ShardIndex>& shards);

  void PumpReads();
  bool MayPull(uint64_t number, const RunnerContext& context) const;
  void PumpPulls(const RunnerContext& context);
  void PumpCompute();
  void PumpPushes(const RunnerContext& context);
  void OnDrain();
  // Returns true if the batch was handed over before a drain, behind one that was being computed.
  bool GivenUp(uint64_t number) const;
  void PumpEnd(const RunnerContext& context);
  void BeginPushes(Batch& batch);
  void Settle(uint64_t number, const RunnerContext& context);
  bool Trains() const { return !lease_.evaluation; }

  TaskLease lease_;
  uint64_t next_read_;
  uint64_t next_compute_;
  std::map<uint64_t, Batch> batches_;      // Not settled yet.
  std::map<uint64_t, Settled> settled_;    // Settled, with numbers above progress_.batches_done.
  std::optional<uint64_t> last_computed_;  // Set by a drain: later batches are not waited for.
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_MACHINES_TASK_RUNNER_H_
