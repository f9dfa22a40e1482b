// The runner of a lane: see runner_machine.h.
#ifndef CAPSTAN_WORKER_MACHINES_LANE_RUNNER_H_
#define CAPSTAN_WORKER_MACHINES_LANE_RUNNER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/machines/runner_base.h"

namespace capstan::worker {

// Confined to the trainer's event loop.
class LaneRunner : public RunnerBase {
 public:
  explicit LaneRunner(const LaneLease& lease) : RunnerBase(lease.options), lease_(lease) {}
  std::unique_ptr<RunnerMachine> Clone() const override;
  std::string DebugString() const override;
  uint64_t needed_batch() const override { return progress_.batches_done; }

 private:
  enum class Stage { kOpening, kReading, kPulling, kComputing, kStaging, kReporting };

  void Handle(const Event& event, const RunnerContext& context) override;
  void Pump(const RunnerContext& context) override;
  std::vector<uint64_t> OpenSteps() const override { return {}; }
  std::vector<const Call*> Calls() const override;
  bool Pushing(ShardIndex shard) const override;
  void NameLease(SendClock& told) const override;

  void OnOpened(const OpenDone& done, const RunnerContext& context);
  void OnRound(const OpenDone& done, const RunnerContext& context);
  void OnRead(const BatchRead& read);
  void OnEnd(const EndOfData& end);
  void OnPulled(const PullDone& done, const RunnerContext& context);
  void OnComputed(const Computed& computed);
  void OnPushed(const PushDone& done, const RunnerContext& context);
  void OnReported(const ReportDone& done, const RunnerContext& context);
  void OnView(const ViewChanged& view);

  void PumpReads();
  void PumpOpen(const RunnerContext& context);
  void PumpPulls(const RunnerContext& context);
  void PumpStages(const RunnerContext& context);
  void PumpReport(const RunnerContext& context);

  void OpenAgain();
  void BeginStaging();
  void StageOn(const std::vector<ShardIndex>& shards);
  bool AtEnd() const;
  void SettleBelow(uint64_t cursor);  // Batches below `cursor` are in round commits.
  LaneName Name() const;

  LaneLease lease_;
  Stage stage_ = Stage::kOpening;
  // The round that was last opened to this runner, and what the round before it consisted of, which
  // its requests share.
  uint64_t round_ = 0;
  std::shared_ptr<const RoundCommit> closed_;
  bool repeated_ = false;  // The coordinator has named `round_` twice.
  bool counted_ = false;   // As far as is known, the open round counts this lane.
  uint64_t next_read_ = 0;
  std::map<uint64_t, BatchRead> read_;  // Batches from the cursor on.
  // The gradient of the batch at the cursor, computed in `round_`. It is kept until a later round
  // opens, so that a round never gets two different computations of a lane.
  std::optional<Computed> gradient_;
  Call open_;
  ShardCalls pulls_;
  ShardCalls stages_;
  Call report_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_MACHINES_LANE_RUNNER_H_
