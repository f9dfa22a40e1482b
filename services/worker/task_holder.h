// The holder of a task: see holder_machine.h.
#ifndef CAPSTAN_WORKER_TASK_HOLDER_H_
#define CAPSTAN_WORKER_TASK_HOLDER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "worker/holder_base.h"

namespace capstan::worker {

// Confined to the member's event loop.
class TaskHolder : public HolderBase {
 public:
  explicit TaskHolder(const TaskLease& lease);
  std::unique_ptr<HolderMachine> Clone() const override;
  std::string DebugString() const override;

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
  struct Settled {  // Above the prefix.
    uint32_t examples = 0;
    double loss_sum = 0;
  };

  void Handle(const Event& event, const HolderContext& context) override;
  void Pump(const HolderContext& context) override;
  std::vector<uint64_t> OpenSteps() const override;
  std::vector<const Call*> Calls() const override;
  bool Pushing(ShardIndex shard) const override;

  void OnRead(const BatchRead& read);
  void OnEnd(const EndOfData& end);
  void OnPulled(const PullDone& done, const HolderContext& context);
  void OnComputed(const Computed& computed);
  void OnPushed(const PushDone& done, const HolderContext& context);
  void OnView(const ViewChanged& view);

  void PumpReads();
  bool MayPull(uint64_t number) const;
  void PumpPulls(const HolderContext& context);
  void PumpCompute();
  void PumpPushes(const HolderContext& context);
  void PumpEnd(const HolderContext& context);
  void BeginPushes(Batch& batch);
  void Settle(uint64_t number, const HolderContext& context);
  bool Trains() const { return !lease_.evaluation; }

  TaskLease lease_;
  uint64_t next_read_;
  uint64_t next_compute_;
  bool computing_ = false;
  std::map<uint64_t, Batch> batches_;    // Not settled yet.
  std::map<uint64_t, Settled> settled_;  // Settled above the prefix, progress_.batches_done.
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_TASK_HOLDER_H_
