#include "chief/work/lane_table.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace capstan::chief {
namespace {

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
