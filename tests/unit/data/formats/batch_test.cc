#include "capstan/data/formats/batch.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(BatchTest, WhatHasGrownFarBeyondItsSizeGivesItsRoomBackAndKeepsWhatItHolds) {
  Batch records;
  records.keys = {1, 2, 3, 4};
  records.keys.reserve(100);
  records.labels = {0, 1, 0, 1};
  records.labels.reserve(6);
  records.features.resize(1);
  records.features[0].keys = {7};
  records.features[0].keys.reserve(10);
  const Batch before = records;
  records.GiveBackRoom();
  EXPECT_EQ(records, before);
  EXPECT_EQ(records.keys.capacity(), 4u);
  EXPECT_EQ(records.features[0].keys.capacity(), 1u);
  EXPECT_EQ(records.labels.capacity(), 6u) << "a half more is not worth a copy";
}

}  // namespace
}  // namespace capstan
