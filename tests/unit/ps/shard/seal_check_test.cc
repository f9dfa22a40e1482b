#include "ps/shard/seal_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capstan/base/ids.h"
#include "capstan/consistency/generation.h"

namespace capstan::ps {
namespace {

constexpr uint64_t kSealedIn = 3;
constexpr TrainerId kHolder{21};
const Sealer kTestSealer("the key");

class SealCheckTest : public testing::Test {
 protected:
  SealCheckTest() { check_.SetSealer(kTestSealer); }

  // As its trainer asks.
  static v1::RequestHeader HeaderOf(TrainerId trainer) {
    v1::RequestHeader header;
    header.set_timeline(kSealedIn);
    header.set_trainer(Raw(trainer));
    return header;
  }

  // The generation as the chief grants it to the holder of a lane.
  static v1::Generation ForLane(uint32_t lane, uint64_t count) {
    v1::Generation generation;
    generation.set_term(1);
    generation.set_count(count);
    generation.set_seal(
        kTestSealer.OfLane(kSealedIn, kHolder, lane, GenerationFromProto(generation)));
    return generation;
  }

  SealCheck check_{/*lanes=*/2};
};

TEST_F(SealCheckTest, ALaneGoesByTheGenerationThatTheChiefHasGrantedForIt) {
  EXPECT_TRUE(check_.CheckLane(HeaderOf(kHolder), 0, ForLane(0, 7)).ok());
  EXPECT_EQ(check_.CheckLane(HeaderOf(kHolder), 1, ForLane(0, 7)).code(),
            absl::StatusCode::kUnavailable);
  v1::Generation raised = ForLane(0, 7);
  raised.set_count(8);
  EXPECT_EQ(check_.CheckLane(HeaderOf(kHolder), 0, raised).code(), absl::StatusCode::kUnavailable);
}

TEST_F(SealCheckTest, ALaneThatTheJobHasNotIsBadInputWhateverItsSeal) {
  const absl::Status refused = check_.CheckLane(HeaderOf(kHolder), 2, ForLane(2, 7));
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), testing::HasSubstr("lane 2: the job has 2"));
}

TEST_F(SealCheckTest, AWrongSealPutsTheKeyInDoubtOnceAndAMissingOneDoesNot) {
  v1::Generation bare = ForLane(0, 7);
  bare.clear_seal();
  EXPECT_FALSE(check_.CheckLane(HeaderOf(kHolder), 0, bare).ok());
  EXPECT_FALSE(check_.TakeDoubt());
  v1::Generation wrong = ForLane(0, 7);
  wrong.set_seal(wrong.seal() + 1);
  EXPECT_FALSE(check_.CheckLane(HeaderOf(kHolder), 0, wrong).ok());
  EXPECT_TRUE(check_.TakeDoubt());
  EXPECT_FALSE(check_.TakeDoubt());
}

TEST_F(SealCheckTest, BeforeTheKeyIsKnownEverythingIsBelieved) {
  const SealCheck open(/*lanes=*/1);
  v1::Generation bare;
  bare.set_count(9);
  EXPECT_TRUE(open.CheckLane(HeaderOf(kHolder), 0, bare).ok());
}

TEST_F(SealCheckTest, AStageUnderOneGenerationMayPushAStreamUnderNoOther) {
  v1::PushRequest head;
  *head.mutable_header() = HeaderOf(kHolder);
  head.mutable_stage()->set_lane(1);
  *head.mutable_stage()->mutable_generation() = ForLane(1, 7);
  head.mutable_stream()->set_stream(StreamId::Task(0, 4).value);
  *head.mutable_stream()->mutable_generation() = ForLane(1, 7);
  EXPECT_TRUE(check_.CheckPush(head).ok());
  head.mutable_stream()->mutable_generation()->set_count(8);
  EXPECT_EQ(check_.CheckPush(head).code(), absl::StatusCode::kUnavailable);
}

TEST_F(SealCheckTest, ALeaseServesTheTrainerAloneToWhomTheChiefHasGrantedIt) {
  v1::PushRequest head;
  head.mutable_stage()->set_lane(1);
  *head.mutable_stage()->mutable_generation() = ForLane(1, 7);
  for (const TrainerId other : {TrainerId{0}, TrainerId{22}}) {
    *head.mutable_header() = HeaderOf(other);
    EXPECT_EQ(check_.CheckPush(head).code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(check_.CheckLane(HeaderOf(other), 1, ForLane(1, 7)).code(),
              absl::StatusCode::kUnavailable);
  }
}

TEST_F(SealCheckTest, AClockIsToldUnderALeaseOrNotAtAll) {
  v1::PushRequest head;
  *head.mutable_header() = HeaderOf(kHolder);
  EXPECT_TRUE(check_.CheckPush(head).ok());
  head.mutable_header()->set_clock(5);
  EXPECT_EQ(check_.CheckPush(head).code(), absl::StatusCode::kUnavailable);
  head.mutable_stream()->set_stream(StreamId::Session(7).value);
  const absl::Status refused = check_.CheckPush(head);
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(),
              testing::HasSubstr("the clock of trainer 21, told under no lease"));
  EXPECT_TRUE(SealCheck(/*lanes=*/2).CheckPush(head).ok()) << "the key is not known";
}

TEST_F(SealCheckTest, AClosedRoundIsThatOfTheCoordinator) {
  RoundCommit closed;
  closed.round = 5;
  closed.seal = check_.OfRound(kSealedIn, closed);
  EXPECT_TRUE(check_.CheckRound(kSealedIn, closed).ok());
  EXPECT_EQ(check_.CheckRound(kSealedIn + 1, closed).code(), absl::StatusCode::kUnavailable);
}

TEST_F(SealCheckTest, ProgressThatTheChiefHasNotToldCountsForNothing) {
  v1::PushRequest head;
  head.mutable_header()->set_timeline(kSealedIn);
  head.set_progress_examples(1000);
  head.set_progress_seal(kTestSealer.OfExamples(kSealedIn, 1000));
  EXPECT_EQ(check_.ProgressOf(head), 1000u);
  head.set_progress_examples(uint64_t{1} << 50);
  EXPECT_EQ(check_.ProgressOf(head), 0u);
}

}  // namespace
}  // namespace capstan::ps
