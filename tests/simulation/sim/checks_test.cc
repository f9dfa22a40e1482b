// The rules do not take what nobody could read for what is right.
#include "tests/simulation/sim/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "absl/strings/str_cat.h"
#include "tests/simulation/sim/world.h"

namespace capstan::sim {
namespace {

using ::testing::HasSubstr;

// All parameters as they are before the first push.
Cells InitialCells(const Job& job) {
  Cells cells;
  for (const NamedBatch& batch : job.AllBatches()) {
    for (const auto& [cell, value] : job.Touched(batch)) cells[cell] = value;
  }
  return cells;
}

TEST(ChecksTest, AModelOfWhichNobodyTellsAnythingIsNotExactWhateverThePolicy) {
  for (const Policy policy : kAllPolicies) {
    WorldOptions options;
    options.job.policy = policy;
    World world(options);
    world.checks().OnCells({}, /*at_end=*/false);
    EXPECT_EQ(world.checks().violation(), "") << "shards may be away for a while";
    world.checks().OnCells({}, /*at_end=*/true);
    EXPECT_THAT(world.checks().violation(), HasSubstr("EndExact: nobody tells")) << NameOf(policy);
  }
}

TEST(ChecksTest, AJobThatMayLoseUpdatesDoesNotLosePartitions) {
  World world({});
  world.checks().OnEndOfPartial({}, /*told_lost=*/1'000'000);
  EXPECT_THAT(world.checks().violation(), HasSubstr("EndExact: nobody tells"));
}

TEST(ChecksTest, OneParameterThatIsNotToldIsNoticedUnlessItsPartitionIsGone) {
  for (const bool gone : {false, true}) {
    WorldOptions options;
    options.job.max_steps = 1;  // Whether a batch is missing is not looked at.
    World world(options);
    Cells cells = InitialCells(world.job());
    const Cell untold = cells.begin()->first;
    const uint32_t partition = world.job().PartitionOf(untold);
    cells.erase(untold);
    world.checks().OnCells(cells, /*at_end=*/true,
                           gone ? std::set<uint32_t>{partition} : std::set<uint32_t>());
    EXPECT_THAT(world.checks().violation(),
                gone ? HasSubstr("") : HasSubstr(absl::StrCat("of partition ", partition)));
    EXPECT_EQ(world.checks().violation().empty(), gone);
  }
}

TEST(ChecksTest, WhereABatchIsTrainedByNobodyItIsMissing) {
  World world({});
  world.checks().OnCells(InitialCells(world.job()), /*at_end=*/true);
  EXPECT_THAT(world.checks().violation(), HasSubstr("is missing in"));
}

}  // namespace
}  // namespace capstan::sim
