// The state of a partition's protocol goes through a checkpoint whole, or not at all.
#include "ps/partition/machine_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "capstan/v1/partition_state.pb.h"

namespace capstan::ps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr uint64_t kAllOnes = std::numeric_limits<uint64_t>::max();

PartState& PartOf(PartitionState& state, Part part) {
  return state.parts[static_cast<size_t>(part)];
}

// A state whose bytes hold these intervals of closed streams, in the part with rows.
MachineState WithClosed(const std::vector<std::pair<uint64_t, uint64_t>>& intervals) {
  v1::PartitionMachineState proto;
  for (const auto& [first, last] : intervals) {
    v1::StreamInterval& interval = *proto.mutable_sparse()->add_closed();
    interval.set_first(first);
    interval.set_last(last);
  }
  return {1, proto.SerializeAsString()};
}

TEST(MachineStateTest, WhatIsSavedIsWhatIsLoaded) {
  PartitionState saved;
  saved.round = 9;
  PartOf(saved, Part::kDense).version = 4;
  PartState& sparse = PartOf(saved, Part::kSparse);
  sparse.version = kAllOnes;
  sparse.batches = 0;
  sparse.ledger.lost = 3;
  sparse.ledger.alone = true;
  sparse.ledger.told_by = 6;
  sparse.ledger.streams = {
      {StreamId{5}, /*prefix=*/10, /*above=*/uint64_t{1} << 63, {2, 8}, /*suspect_below=*/kAllOnes},
      {StreamId{kAllOnes}, 0, 0, {}, 0}};
  sparse.ledger.closed = {{0, 4}, {6, 6}, {8, kAllOnes}};

  const absl::StatusOr<PartitionState> decoded = DecodeMachineState(EncodeMachineState(saved));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  PartitionState loaded = *decoded;
  EXPECT_EQ(loaded.round, 9u);
  EXPECT_EQ(PartOf(loaded, Part::kDense).version, 4u);
  EXPECT_FALSE(PartOf(loaded, Part::kDense).batches.has_value()) << "nobody has counted them";
  const PartState& part = PartOf(loaded, Part::kSparse);
  EXPECT_EQ(part.version, kAllOnes);
  EXPECT_EQ(part.batches, 0u) << "none is not the same as not counted";
  EXPECT_EQ(part.ledger.lost, 3u);
  EXPECT_TRUE(part.ledger.alone);
  EXPECT_EQ(part.ledger.told_by, 6u);
  ASSERT_EQ(part.ledger.streams.size(), 2u);
  const StreamEntry& open = part.ledger.streams[0];
  EXPECT_EQ(open.stream, StreamId{5});
  EXPECT_EQ(open.prefix, 10u);
  EXPECT_EQ(open.above, uint64_t{1} << 63);
  EXPECT_EQ(open.generation, (Generation{2, 8}));
  EXPECT_EQ(open.suspect_below, kAllOnes);
  EXPECT_EQ(part.ledger.streams[1].stream, StreamId{kAllOnes});
  EXPECT_THAT(part.ledger.closed, ElementsAre(Pair(0u, 4u), Pair(6u, 6u), Pair(8u, kAllOnes)));
}

TEST(MachineStateTest, IntervalsOfClosedStreamsThatOverlapOrRunBackAreDataLoss) {
  EXPECT_TRUE(DecodeMachineState(WithClosed({{1, 3}, {4, 4}})).ok());
  EXPECT_TRUE(absl::IsDataLoss(DecodeMachineState(WithClosed({{1, 3}, {3, 4}})).status()));
  EXPECT_TRUE(absl::IsDataLoss(DecodeMachineState(WithClosed({{5, 6}, {1, 2}})).status()));
  EXPECT_TRUE(absl::IsDataLoss(DecodeMachineState(WithClosed({{3, 2}})).status()));
  EXPECT_TRUE(absl::IsDataLoss(DecodeMachineState(WithClosed({{1, kAllOnes}, {0, 0}})).status()));
}

TEST(MachineStateTest, WhatCannotBeReadIsDataLossAndWhatIsNewerIsToldAsThat) {
  MachineState state = EncodeMachineState({});
  state.bytes = "\xff\xff";
  EXPECT_TRUE(absl::IsDataLoss(DecodeMachineState(state).status()));
  state = EncodeMachineState({});
  ++state.version;
  const absl::Status newer = DecodeMachineState(state).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(newer)) << newer;
  EXPECT_THAT(std::string(newer.message()), HasSubstr("version 2"));
}

TEST(MachineStateTest, WhatAnEarlierReleaseHasWrittenIsAStateWithoutCounts) {
  const absl::StatusOr<PartitionState> empty = DecodeMachineState({1, ""});
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_EQ(empty->round, 0u);
  EXPECT_TRUE(empty->parts[0].ledger.streams.empty());
  EXPECT_FALSE(empty->parts[0].batches.has_value());
}

}  // namespace
}  // namespace capstan::ps
