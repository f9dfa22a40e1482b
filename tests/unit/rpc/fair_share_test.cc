#include "capstan/rpc/fair_share.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

TEST(FairShareTest, JudgesNobodyOfAFewCalls) {
  FairShare share;
  for (size_t i = 1; i < FairShare::kFew; ++i) EXPECT_FALSE(share.Takes("a"));
  EXPECT_TRUE(share.Takes("a"));
}

TEST(FairShareTest, ALittleBesideMuchIsNoShare) {
  FairShare share;
  for (int i = 0; i < 1000; ++i) {
    const bool little = i % 10 == 9;
    const bool takes = share.Takes(little ? "little" : "much");
    if (i > 100) {
      EXPECT_EQ(takes, !little);
    }
  }
}

TEST(FairShareTest, EqualPeersAllTakeTheirs) {
  FairShare share;
  for (int i = 0; i < 1000; ++i) {
    const bool takes = share.Takes(absl::StrCat("peer", i % 8));
    if (i > 300) {
      EXPECT_TRUE(takes);
    }
  }
}

TEST(FairShareTest, WhatIsLongAgoIsForgotten) {
  FairShare share;
  for (size_t i = 0; i < FairShare::kWindow; ++i) (void)share.Takes("gone");
  for (size_t i = 0; i < FairShare::kWindow; ++i) (void)share.Takes("here");
  EXPECT_FALSE(share.Takes("gone"));
}

}  // namespace
}  // namespace capstan
