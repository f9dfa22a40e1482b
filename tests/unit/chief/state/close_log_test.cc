#include "chief/state/close_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::chief {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

void Add(size_t closes, CloseLog& log) {
  for (size_t i = 0; i < closes; ++i) log.Add(v1::StreamClose());
}

TEST(CloseLogTest, OfMoreClosesThanTheMostNoneIsKept) {
  CloseLog log;
  Add(CloseLog::kMost, log);
  EXPECT_TRUE(log.whole());
  EXPECT_THAT(log.closes(), SizeIs(CloseLog::kMost));
  Add(1, log);
  EXPECT_FALSE(log.whole());
  EXPECT_THAT(log.closes(), IsEmpty());
  Add(1, log);
  EXPECT_THAT(log.closes(), IsEmpty()) << "it would take what is kept for all";
}

TEST(CloseLogTest, ItIsWholeAgainWithTheNextCheckpointThatIsStored) {
  CloseLog log;
  Add(CloseLog::kMost + 1, log);
  log.BeginCheckpoint({v1::StreamClose()});
  EXPECT_FALSE(log.whole()) << "it is only begun";
  Add(2, log);
  log.OnCheckpointStored();
  EXPECT_TRUE(log.whole());
  EXPECT_THAT(log.closes(), SizeIs(3)) << "what was not confirmed, and what came since";
}

TEST(CloseLogTest, ACheckpointThatIsStoredTooLateDoesNotMakeItWhole) {
  CloseLog log;
  log.BeginCheckpoint({});
  Add(CloseLog::kMost + 1, log);
  log.OnCheckpointStored();
  EXPECT_FALSE(log.whole());
}

TEST(CloseLogTest, WhatIsGivenUpIsNotWhole) {
  CloseLog log;
  Add(2, log);
  log.GiveUp();
  EXPECT_FALSE(log.whole());
  EXPECT_THAT(log.closes(), IsEmpty());
}

}  // namespace
}  // namespace capstan::chief
