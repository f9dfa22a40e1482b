#include "worker/shell/grouped_examples.h"

#include <gtest/gtest.h>

#include "capstan/base/hash.h"

namespace capstan::worker {
namespace {

// Adds `count` examples, each of a group of its own.
void AddExamples(uint64_t count, v1::GroupSample& sample) {
  for (uint64_t i = 0; i < count; ++i) {
    sample.add_groups(Mix64(i + 1));
    sample.add_logits(0);
    sample.add_weights(1);
    sample.add_positives(false);
  }
}

TEST(GroupedExamplesTest, NothingIsLeftOutWhileAllEvaluationsTogetherHaveRoom) {
  GroupedExamples grouped(1000);
  v1::EvaluationResult large, small;
  grouped.Add(large);
  grouped.Add(small);
  AddExamples(900, *large.mutable_groups());
  AddExamples(100, *small.mutable_groups());
  grouped.Shrink();
  EXPECT_EQ(large.groups().groups_size(), 900);
  EXPECT_EQ(small.groups().groups_size(), 100);
}

TEST(GroupedExamplesTest, WithoutRoomAllAreHalvedAlikeAndSoAreThoseOfLabels) {
  GroupedExamples grouped(1000);
  v1::EvaluationResult one, two;
  grouped.Add(one);
  grouped.Add(two);
  AddExamples(900, *one.mutable_groups());
  AddExamples(700, *two.add_labels()->mutable_groups());
  AddExamples(700, *two.add_labels()->mutable_groups());
  grouped.Shrink();
  const v1::GroupSample& label = two.labels(0).groups();
  EXPECT_LE(one.groups().groups_size() + 2 * label.groups_size(), 1000);
  EXPECT_GT(one.groups().groups_size(), 0);
  EXPECT_GT(label.groups_size(), 0);
  EXPECT_LE(one.groups().halvings() - label.halvings(), 1u);
}

TEST(GroupedExamplesTest, WhatHasBeenToldMakesRoom) {
  GroupedExamples grouped(1000);
  v1::EvaluationResult told, now;
  grouped.Add(told);
  AddExamples(1000, *told.mutable_groups());
  grouped.Remove(told);
  grouped.Add(now);
  AddExamples(1000, *now.mutable_groups());
  grouped.Shrink();
  EXPECT_EQ(now.groups().halvings(), 0u);
}

TEST(GroupedExamplesTest, OneGroupThatIsTooLargeStaysWhole) {
  GroupedExamples grouped(10);
  v1::EvaluationResult sums;
  grouped.Add(sums);
  for (int i = 0; i < 20; ++i) {
    v1::GroupSample& sample = *sums.mutable_groups();
    sample.add_groups(0);
    sample.add_logits(0);
    sample.add_weights(1);
    sample.add_positives(false);
  }
  grouped.Shrink();
  EXPECT_EQ(sums.groups().groups_size(), 20);
}

}  // namespace
}  // namespace capstan::worker
