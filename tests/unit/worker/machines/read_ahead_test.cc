#include "worker/machines/read_ahead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace capstan::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A lease asks for the batch that it works on and for two beyond it, as a runner does.
class ReadAheadTest : public testing::Test {
 protected:
  ReadAheadTest() {
    for (const char& lease : leases_) {
      ahead_.Join(&lease, [this, &lease](uint64_t batch) {
        begun_.push_back(absl::StrCat(std::string(1, lease), batch));
      });
    }
  }

  void AskForThree(const char& lease) {
    for (const uint64_t batch : {0, 1, 2}) ahead_.Ask(&lease, batch);
  }
  std::vector<std::string> TakeBegun() { return std::exchange(begun_, {}); }

  ReadAhead ahead_{{.batches = 4, .bytes = 100}};
  const char leases_[3] = {'a', 'b', 'c'};
  const char& a_ = leases_[0];
  const char& b_ = leases_[1];
  const char& c_ = leases_[2];
  std::vector<std::string> begun_;
};

TEST_F(ReadAheadTest, WhatIsNeededNowIsReadAtOnceAndMoreOnceTheSizeIsKnown) {
  AskForThree(a_);
  AskForThree(b_);
  EXPECT_THAT(TakeBegun(), ElementsAre("a0", "b0"));
  ahead_.OnRead(&a_, 0, 10);
  EXPECT_THAT(TakeBegun(), ElementsAre("a1", "b1", "a2", "b2")) << "what is needed soonest first";
}

TEST_F(ReadAheadTest, AllLeasesTogetherReadNoMoreBatchesAheadThanAreAllowedHoweverSmallTheyAre) {
  AskForThree(a_);
  AskForThree(b_);
  AskForThree(c_);
  EXPECT_THAT(TakeBegun(), ElementsAre("a0", "b0", "c0"));
  ahead_.OnRead(&a_, 0, 1);
  EXPECT_THAT(TakeBegun(), ElementsAre("a1", "b1", "c1", "a2"));
  ahead_.OnRead(&a_, 1, 1);
  EXPECT_THAT(TakeBegun(), IsEmpty()) << "a batch that is read is ahead still";
  ahead_.Reach(&a_, 1);
  EXPECT_THAT(TakeBegun(), ElementsAre("b2"));
  ahead_.Leave(&b_);
  EXPECT_THAT(TakeBegun(), ElementsAre("c2"));
}

TEST_F(ReadAheadTest, AllLeasesTogetherReadAheadLessThanTheBoundAndOneBatch) {
  AskForThree(a_);
  AskForThree(b_);
  AskForThree(c_);
  EXPECT_THAT(TakeBegun(), ElementsAre("a0", "b0", "c0"));
  ahead_.OnRead(&a_, 0, 60);
  EXPECT_THAT(TakeBegun(), ElementsAre("a1", "b1")) << "each being read counts as much";
  ahead_.OnRead(&a_, 1, 60);
  ahead_.OnRead(&b_, 1, 39);
  EXPECT_THAT(TakeBegun(), ElementsAre("c1")) << "99 bytes are read";
  ahead_.OnRead(&c_, 1, 60);
  EXPECT_THAT(TakeBegun(), IsEmpty());
  ahead_.Reach(&a_, 1);
  EXPECT_THAT(TakeBegun(), ElementsAre("a2")) << "it works on batch 1, which is ahead no more";
}

TEST_F(ReadAheadTest, ALeaseIsNeverKeptFromTheBatchThatItNeeds) {
  AskForThree(a_);
  AskForThree(b_);
  ahead_.OnRead(&a_, 0, 1000);
  EXPECT_THAT(TakeBegun(), ElementsAre("a0", "b0", "a1"));
  ahead_.Reach(&b_, 1);
  EXPECT_THAT(TakeBegun(), ElementsAre("b1"));
  ahead_.Reach(&b_, 2);
  EXPECT_THAT(TakeBegun(), ElementsAre("b2"));
}

TEST_F(ReadAheadTest, ALeaseThatLeavesOrEndsMakesRoom) {
  AskForThree(a_);
  AskForThree(b_);
  AskForThree(c_);
  ahead_.OnRead(&a_, 0, 1000);
  EXPECT_THAT(TakeBegun(), ElementsAre("a0", "b0", "c0", "a1"));
  ahead_.Leave(&a_);
  EXPECT_THAT(TakeBegun(), ElementsAre("b1"));
  ahead_.OnRead(&a_, 1, 1000);
  ahead_.Reach(&a_, 2);
  ahead_.Leave(&a_);
  EXPECT_THAT(TakeBegun(), IsEmpty()) << "it has left";
  ahead_.OnEnd(&b_, 1);
  EXPECT_THAT(TakeBegun(), ElementsAre("c1")) << "there is no batch 1 that would take memory";
}

TEST_F(ReadAheadTest, AReadMayBeAnsweredWithinTheCallAndEndTheLease) {
  const char hasty = 'h';
  int reads = 0;
  ahead_.Join(&hasty, [&](uint64_t batch) {
    ++reads;
    ahead_.OnRead(&hasty, batch, 10);
    ahead_.Reach(&hasty, batch + 1);
    if (batch == 1000) ahead_.Leave(&hasty);
  });
  for (uint64_t batch = 0; batch <= 1000; ++batch) ahead_.Ask(&hasty, batch);
  EXPECT_EQ(reads, 1001);
}

}  // namespace
}  // namespace capstan::worker
