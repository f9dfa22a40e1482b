// Lanes of a synchronous job. Lane l of N takes the places l, l+N, l+2N ... of the sequence of
// tasks, whoever holds it; lanes are assigned evenly over the trainers and move only when that is
// needed.
#ifndef CAPSTAN_CHIEF_WORK_LANE_TABLE_H_
#define CAPSTAN_CHIEF_WORK_LANE_TABLE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "capstan/base/ids.h"
#include "capstan/v1/checkpoint.pb.h"
#include "capstan/v1/chief.pb.h"
#include "chief/work/epoch_counter.h"
#include "chief/work/generations.h"
#include "chief/work/holder_changes.h"
#include "chief/work/task_sequence.h"
#include "chief/work/work_report.h"

namespace capstan::chief {

// Thread-compatible.
class LaneTable {
 public:
  // `sequence` may hold fewer tasks than there are lanes: the rest of the lanes are empty, and
  // leased all the same, for the coordinator must be told of their end.
  LaneTable(TaskSequence sequence, uint32_t lanes, uint32_t batch_size);

  // Assigns the lanes that have not ended over `trainers`, so that no two of them differ by more
  // than one lane; those named first get the odd ones. Moves as few as possible; a lane that gets a
  // holder gets a new generation. `in_place` names who is to get a lane in place of the trainer
  // that it would be given to, also if that makes the assignment less even, or nobody. Changes
  // nothing while neither trainers nor holders change.
  using InPlace = std::function<std::optional<TrainerId>(const WorkName&, TrainerId)>;
  void Assign(std::span<const TrainerId> trainers, Generations& generations,
              const InPlace& in_place = nullptr);

  // What a lease of one of these is of. Nothing: they do not hold it.
  std::optional<WorkName> NameOf(std::span<const TrainerId> trainers, const Generation& generation);
  std::optional<WorkName> NameOfAdopted(const v1::LeaseReport& report) const;

  // A report by the worker of `trainers`. Generations that are not the present ones change nothing.
  ReportResult Report(std::span<const TrainerId> trainers, const v1::LeaseReport& report);

  // What the coordinator says at a barrier of rounds, of every lane: its holder may tell of it
  // later. How many rounds are closed is then what it says, whatever workers have told.
  void TakeCursors(const v1::HoldRoundsReply& held);

  // A report of a lease that an earlier chief granted, of which this one does not know: the lane is
  // that worker's, unless another has it.
  ReportResult Adopt(const v1::LeaseReport& report);

  // What a checkpoint or the chief's state keeps. Restore REQUIRES that no lane has a holder.
  void Save(v1::TaskProgress& progress) const;
  void Restore(const v1::TaskProgress& progress);
  // The task of this stream is done.
  bool IsDone(StreamId stream);

  void Release(TrainerId trainer);  // Its lanes are orphans until the next Assign.
  void ReleaseAll();

  // Leases of the lanes that `trainer` holds, without their tasks.
  std::vector<v1::Lease> LeasesOf(TrainerId trainer) const;

  // Adds to one of these the next tasks of its lane, from the first that is not known to be done.
  void NameTasks(v1::Lease& lease);

  bool Holds(TrainerId trainer) const;
  HolderChanges& changes() { return changes_; }  // See Work.

  // True if the holder of this generation, one of these, has been told of fewer tasks than it may
  // soon need.
  bool NeedsTasks(std::span<const TrainerId> trainers, const v1::LeaseReport& report) const;

  size_t lanes() const { return lanes_.size(); }
  bool all_done() const { return ended_ == lanes_.size(); }
  uint64_t todo() const;
  WorkTotals totals() const;
  const EpochCounter& epochs() const { return epochs_; }

 private:
  // What a lane adds to the totals.
  struct Share {
    uint64_t done = 0;
    uint64_t doing = 0;
    uint64_t examples = 0;
  };
  struct Lane {
    std::optional<TrainerId> holder;
    Generation generation;
    uint64_t tasks = 0;          // Length of the lane.
    uint64_t done = 0;           // Tasks done, and
    uint64_t done_cursor = 0;    // the batches and
    uint64_t done_examples = 0;  // examples they had.
    uint64_t cursor = 0;         // As reported: closed rounds that held the lane.
    uint64_t examples = 0;       // Reported under this generation.
    double loss_sum = 0;
    int failures = 0;  // Since the last task done.
    bool ended = false;
    Share counted;  // In sums_.
  };

  // The only way in which a lane comes to a holder or loses it.
  void SetHolder(size_t lane, std::optional<TrainerId> holder);
  // Brings the sums up to date with the lane: after every change of what its share consists of.
  void Count(size_t lane);
  // Whose number lanes_ has. Nothing: none of these holds it.
  std::optional<size_t> Find(std::span<const TrainerId> trainers,
                             const Generation& generation) const;
  WorkName NameOf(size_t lane) const { return {v1::LEASE_KIND_LANE, lane, lanes_[lane].done}; }
  absl::Status CheckReport(size_t lane, const v1::LeaseReport& report);
  absl::Status CheckRound(size_t lane, const v1::LeaseReport& report);
  uint64_t MostCursor(size_t lane, uint64_t asked);
  Place PlaceOf(size_t lane, uint64_t ordinal);
  uint64_t TasksUntil(size_t lane, uint32_t epoch) const;
  void TakeDone(size_t lane, const v1::LaneTaskDone& done, ReportResult& result);

  TaskSequence sequence_;
  uint64_t batch_size_;
  std::vector<Lane> lanes_;
  absl::flat_hash_map<TrainerId, std::set<size_t>> held_;  // Lanes by holder; of none: no entry.
  HolderChanges changes_;
  EpochCounter epochs_;
  size_t ended_ = 0;
  Share sums_;           // The sums over all lanes.
  uint64_t rounds_ = 0;  // That are closed, as somebody has told.
  // Rounds that a checkpoint tells of and that its lanes have not done.
  uint64_t rounds_without_batches_ = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_LANE_TABLE_H_
