// The holder of a lane: see holder_machine.h.
#ifndef CAPSTAN_WORKER_LANE_HOLDER_H_
#define CAPSTAN_WORKER_LANE_HOLDER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/holder_base.h"

namespace capstan::worker {

// Confined to the member's event loop.
class LaneHolder : public HolderBase {
 public:
  explicit LaneHolder(const LaneLease& lease) : HolderBase(lease.options), lease_(lease) {}
  std::unique_ptr<HolderMachine> Clone() const override;
  std::string DebugString() const override;

 private:
  enum class Stage { kOpening, kReading, kPulling, kComputing, kStaging, kReporting };

  void Handle(const Event& event, const HolderContext& context) override;
  void Pump(const HolderContext& context) override;
  std::vector<uint64_t> OpenSteps() const override { return {}; }
  std::vector<const Call*> Calls() const override;
  bool Pushing(ShardIndex shard) const override;

  void OnOpened(const OpenDone& done, const HolderContext& context);
  void OnRound(const OpenDone& done, const HolderContext& context);
  void OnRead(const BatchRead& read);
  void OnEnd(const EndOfData& end);
  void OnPulled(const PullDone& done, const HolderContext& context);
  void OnComputed(const Computed& computed);
  void OnPushed(const PushDone& done, const HolderContext& context);
  void OnReported(const ReportDone& done, const HolderContext& context);
  void OnView(const ViewChanged& view);

  void PumpReads();
  void PumpOpen(const HolderContext& context);
  void PumpPulls(const HolderContext& context);
  void PumpStages(const HolderContext& context);
  void PumpReport(const HolderContext& context);

  void OpenAgain();
  void BeginStaging();
  bool AtEnd() const;
  void SettleBelow(uint64_t cursor);  // Batches below it are held by closed sets.
  LaneName Name() const;

  LaneLease lease_;
  Stage stage_ = Stage::kOpening;
  uint64_t round_ = 0;     // The round last opened to this holder,
  ClosedSet closed_;       // and what the one before consisted of.
  bool repeated_ = false;  // The keeper has named `round_` twice.
  uint64_t next_read_ = 0;
  std::map<uint64_t, BatchRead> read_;  // From the cursor on.
  // The gradient of the batch at the cursor, computed in `round_`. A round sees one computation of
  // a lane, so it is kept until a later round opens.
  std::optional<Computed> gradient_;
  Call open_;
  ShardCalls pulls_;
  ShardCalls stages_;
  Call report_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_LANE_HOLDER_H_
