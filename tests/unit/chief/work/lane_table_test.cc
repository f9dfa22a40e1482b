#include "chief/work/lane_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

namespace capstan::chief {
namespace {

constexpr uint64_t kBatchSize = 10;
constexpr uint64_t kLanes = 5;
constexpr uint64_t kTasksAnEpoch = 23;  // Of two epochs.

// A table whose lanes are given, reported, released and restored at random.
class ChurnedLanes {
 public:
  explicit ChurnedLanes(uint64_t seed) : random_(seed) {}

  void ChangeSomething() {
    switch (Draw(7)) {
      case 0:
        return lanes_.Assign(SomeTrainers(), generations_);
      case 1:
        return lanes_.Release(TrainerId{1 + Draw(3)});
      case 2:
        return Draw(4) == 0 ? lanes_.ReleaseAll() : Report();
      case 3:
        return TakeCursors();
      case 4:
        return Draw(4) == 0 ? Restore() : Report();
      case 5:
        return Adopt();
      default:
        return Report();
    }
  }

  // Added up lane by lane from what the table says of each.
  WorkTotals Recounted() const {
    v1::TaskProgress saved;
    lanes_.Save(saved);
    std::set<uint32_t> held;
    for (uint64_t trainer = 1; trainer <= 4; ++trainer) {
      for (const v1::Lease& lease : lanes_.LeasesOf(TrainerId{trainer})) held.insert(lease.lane());
    }
    WorkTotals totals{.total = 2 * kTasksAnEpoch};
    for (uint32_t l = 0; l < kLanes; ++l) {
      const v1::LaneProgress& lane = saved.lanes(static_cast<int>(l));
      const uint64_t tasks = (2 * kTasksAnEpoch - l - 1) / kLanes + 1;
      totals.done += lane.tasks_done();
      totals.examples += lane.done_examples() + (lane.cursor() - lane.done_cursor()) * kBatchSize;
      if (held.contains(l) && lane.tasks_done() < tasks) ++totals.doing;
    }
    totals.todo = totals.total - totals.done - totals.doing;
    return totals;
  }
  WorkTotals totals() const { return lanes_.totals(); }

 private:
  uint64_t Draw(uint64_t below) { return random_() % below; }

  std::vector<TrainerId> SomeTrainers() {
    std::vector<TrainerId> trainers;
    for (uint64_t trainer = 1; trainer <= 3; ++trainer) {
      if (Draw(3) > 0) trainers.push_back(TrainerId{trainer});
    }
    return trainers;
  }

  // Of one lane that is held: more batches, sometimes a task that is done, an end or a failure.
  void Report() {
    const TrainerId trainer{1 + Draw(4)};
    const std::vector<v1::Lease> leases = lanes_.LeasesOf(trainer);
    if (leases.empty()) return;
    const v1::Lease& lease = leases[Draw(leases.size())];
    v1::TaskProgress saved;
    lanes_.Save(saved);
    const v1::LaneProgress& lane = saved.lanes(static_cast<int>(lease.lane()));
    v1::LeaseReport report;
    *report.mutable_generation() = lease.generation();
    report.set_batches_done(lane.done_cursor() + Draw(6));
    if (Draw(2) == 0) {
      v1::LaneTaskDone& done = *report.add_lane_tasks_done();
      done.set_ordinal(lane.tasks_done() + (Draw(8) == 0 ? 1 : 0));
      done.set_batches(1 + Draw(3));
      done.set_examples(Draw(30));
    }
    if (Draw(12) == 0) report.set_error("lost its way");
    if (Draw(12) == 0) report.set_finished(true);
    lanes_.Report({&trainer, 1}, report);
  }

  void Adopt() {
    v1::LeaseReport report;
    report.set_kind(v1::LEASE_KIND_LANE);
    report.set_lane(static_cast<uint32_t>(Draw(kLanes)));
    report.set_trainer(4);
    report.mutable_generation()->set_count(1000000 + ++adopted_);
    report.set_batches_done(Draw(4));
    lanes_.Adopt(report);
  }

  void TakeCursors() {
    v1::HoldRoundsReply held;
    for (uint64_t l = 0; l < kLanes; ++l) held.add_lanes()->set_cursor(Draw(40));
    lanes_.TakeCursors(held);
  }

  void Restore() {
    v1::TaskProgress saved;
    lanes_.Save(saved);
    lanes_.ReleaseAll();
    lanes_.Restore(Draw(40) == 0 ? v1::TaskProgress() : saved);
  }

  std::mt19937_64 random_;
  Generations generations_{1};
  uint64_t adopted_ = 0;
  LaneTable lanes_{
      TaskSequence({.epochs = 2}, {std::vector<v1::Task>(kTasksAnEpoch), v1::DataSpec(), 1}),
      kLanes, kBatchSize};
};

TEST(LaneTableTest, ItsTotalsAreThoseOfAllItsLanesWhateverBecomesOfThem) {
  uint64_t most_done = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    ChurnedLanes lanes(seed);
    for (int step = 0; step < 1000; ++step) {
      lanes.ChangeSomething();
      const WorkTotals told = lanes.totals();
      const WorkTotals counted = lanes.Recounted();
      ASSERT_EQ(told.examples, counted.examples) << "seed " << seed << ", step " << step;
      ASSERT_EQ(told.done, counted.done) << "seed " << seed << ", step " << step;
      ASSERT_EQ(told.doing, counted.doing) << "seed " << seed << ", step " << step;
      ASSERT_EQ(told.todo, counted.todo) << "seed " << seed << ", step " << step;
      most_done = std::max(most_done, told.done);
    }
  }
  EXPECT_GT(most_done, kTasksAnEpoch) << "too little happens for this to say anything";
}

TEST(LaneTableTest, OfEachEpochItCountsTheTasksThatItsLanesHaveDone) {
  // Seven tasks an epoch over three lanes: where an epoch ends lies in another lane each time.
  TaskSequence sequence({.epochs = 4}, {std::vector<v1::Task>(7), v1::DataSpec(), /*seed=*/1});
  for (uint64_t a = 0; a <= 10; ++a) {
    for (uint64_t b = 0; b <= 9; b += 3) {
      LaneTable lanes(sequence, /*lanes=*/3, /*batch_size=*/1);
      v1::TaskProgress progress;
      const uint64_t done[] = {a, b, 5};
      std::vector<uint64_t> by_epoch(4, 0);
      for (uint64_t l = 0; l < 3; ++l) {
        progress.add_lanes()->set_tasks_done(done[l]);
        for (uint64_t i = 0; i < done[l]; ++i) ++by_epoch[(l + 3 * i) / 7];
      }
      lanes.Restore(progress);
      uint32_t complete = 0;
      while (complete < 4 && by_epoch[complete] == 7) ++complete;
      EXPECT_EQ(lanes.epochs().epochs_done(), complete) << a << " " << b;
      v1::TaskProgress saved;
      lanes.Save(saved);
      for (const v1::EpochProgress& epoch : saved.epochs()) {
        EXPECT_EQ(epoch.tasks_done(), by_epoch[epoch.data_epoch()]) << a << " " << b;
      }
    }
  }
}

}  // namespace
}  // namespace capstan::chief
