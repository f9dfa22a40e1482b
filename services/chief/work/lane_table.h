// The lanes of a synchronous job. Lane l of N has the tasks at the places l, l+N, l+2N ... of the
// sequence, whoever holds it. Lanes are assigned evenly over the trainers, and change their holder
// only when necessary.
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
  // `sequence` may hold fewer tasks than there are `lanes`. Lanes without tasks are leased as well,
  // because the coordinator must be told that they have ended.
  LaneTable(TaskSequence sequence, uint32_t lanes, uint32_t batch_size);

  // Assigns the lanes that have not ended to `trainers`; see AssignLanes. A lane that changes its
  // holder gets a new generation. Changes nothing if neither trainers nor holders have changed.
  //
  // `in_place` can change the assignment: it is called with each lane and the trainer that would
  // get it, and may return another trainer that should have it. Then a lane with a holder keeps its
  // holder, and a lane without one goes to the returned trainer, even if that makes the assignment
  // less even. nullopt: the assignment stands.
  using InPlace = std::function<std::optional<TrainerId>(const WorkName&, TrainerId)>;
  void Assign(std::span<const TrainerId> trainers, Generations& generations,
              const InPlace& in_place = nullptr);

  // Returns the work of the lease with `generation`; nullopt if none of `trainers` holds it.
  std::optional<WorkName> NameOf(std::span<const TrainerId> trainers, const Generation& generation);
  // Returns the work of a lease that may be adopted (see Adopt); nullopt if the job has no such
  // lane.
  std::optional<WorkName> NameOfAdopted(const v1::LeaseReport& report) const;

  // Takes in a report by the worker of `trainers`. Ignored unless one of them holds the lease. A
  // report with numbers that the lane cannot have reached counts as a failure.
  ReportResult Report(std::span<const TrainerId> trainers, const v1::LeaseReport& report);

  // Takes in the coordinator's cursor of every lane at a round barrier. The lane's holder may
  // report the same only later. The number of closed rounds becomes the coordinator's, whatever
  // workers have reported.
  void TakeCursors(const v1::HoldRoundsReply& held);

  // Takes in a report of a lease that an earlier chief has granted and this one does not know. The
  // trainer becomes the lane's holder, unless the lane has another holder or has ended.
  ReportResult Adopt(const v1::LeaseReport& report);

  // Write to and read from the progress in a checkpoint or the chief's state. Restore REQUIRES that
  // no lane has a holder.
  void Save(v1::TaskProgress& progress) const;
  void Restore(const v1::TaskProgress& progress);
  // Returns true if the task of `stream` is done.
  bool IsDone(StreamId stream);

  void Release(TrainerId trainer);  // Its lanes have no holder until the next Assign.
  void ReleaseAll();

  // Returns the leases of the lanes that `trainer` holds, without their tasks.
  std::vector<v1::Lease> LeasesOf(TrainerId trainer) const;

  // Adds to such a lease the next tasks of its lane, starting at the first that is not done.
  void NameTasks(v1::Lease& lease);

  bool Holds(TrainerId trainer) const;
  HolderChanges& changes() { return changes_; }  // See Work.

  // Returns true if one of `trainers` holds the reported lane and its worker may soon need more
  // tasks of the lane than it has been told.
  bool NeedsTasks(std::span<const TrainerId> trainers, const v1::LeaseReport& report) const;

  size_t lanes() const { return lanes_.size(); }
  bool all_done() const { return ended_ == lanes_.size(); }
  uint64_t todo() const;
  WorkTotals totals() const;
  const EpochCounter& epochs() const { return epochs_; }

 private:
  // What a lane contributes to the totals.
  struct Share {
    uint64_t done = 0;
    uint64_t doing = 0;
    uint64_t examples = 0;
  };
  struct Lane {
    std::optional<TrainerId> holder;
    Generation generation;
    uint64_t tasks = 0;          // How many tasks the lane has.
    uint64_t done = 0;           // How many of them are done,
    uint64_t done_cursor = 0;    // how many batches these had,
    uint64_t done_examples = 0;  // and how many examples.
    uint64_t cursor = 0;         // As reported: in how many closed rounds the lane took part.
    uint64_t examples = 0;       // As reported under this generation.
    double loss_sum = 0;
    int failures = 0;  // Since its last task was finished.
    bool ended = false;
    Share counted;  // What sums_ contains of the lane.
  };

  // Gives the lane to `holder`, or to nobody. Nothing else changes the holder of a lane.
  void SetHolder(size_t lane, std::optional<TrainerId> holder);
  // Updates sums_ for the lane. Must be called after each change of done, done_cursor,
  // done_examples, cursor or holder.
  void Count(size_t lane);
  // Returns the lane whose lease has `generation`; nullopt if none of `trainers` holds it.
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
  absl::flat_hash_map<TrainerId, std::set<size_t>> held_;  // Lanes by holder; no set is empty.
  HolderChanges changes_;
  EpochCounter epochs_;
  size_t ended_ = 0;
  Share sums_;           // The sums over all lanes.
  uint64_t rounds_ = 0;  // Closed rounds, as far as reported.
  // For a restored checkpoint: the closed rounds minus the batches of all its lanes.
  uint64_t rounds_without_batches_ = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_LANE_TABLE_H_
