// update: the policy of a part, and which settings belong to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/config/config.h"
#include "tests/unit/config/refusals.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

v1::UpdatePolicy DensePolicy(const std::string& policy, uint32_t default_lanes = 0) {
  const auto job =
      ParseJob({.text = capstan::Job(absl::StrCat("update: {dense: {", policy, "}}\n"))},
               {.default_lanes = default_lanes});
  EXPECT_TRUE(job.ok()) << policy << ": " << job.status();
  return job.value_or(v1::JobSpec()).dense_update();
}

std::string WhyNoPolicy(const std::string& policy) {
  return RefusalOf(absl::StrCat("update: {dense: {", policy, "}}"));
}

TEST(ReadUpdateTest, OnlyASynchronousPartHasLanes) {
  EXPECT_EQ(DensePolicy("policy: sync, lanes: 4").lanes(), 4u);
  EXPECT_EQ(DensePolicy("policy: sync", /*default_lanes=*/6).lanes(), 6u);
  EXPECT_EQ(DensePolicy("policy: sync, lanes: 4", /*default_lanes=*/6).lanes(), 4u);
  EXPECT_EQ(DensePolicy("policy: async", /*default_lanes=*/6).lanes(), 0u);
  EXPECT_EQ(DensePolicy("policy: ssp, staleness: 2", /*default_lanes=*/6).lanes(), 0u);
  EXPECT_THAT(WhyNoPolicy("policy: async, lanes: 4"),
              HasSubstr("update.dense.lanes: is only for policy: sync"));
}

TEST(ReadUpdateTest, BackupWorkersAreFewerThanTheLanesAlsoThoseOfTheOptions) {
  EXPECT_EQ(DensePolicy("policy: sync, backup_workers: 5", 6).backup_workers(), 5u);
  const auto job =
      ParseJob({.text = capstan::Job("update: {dense: {policy: sync, backup_workers: 6}}\n")},
               {.default_lanes = 6});
  EXPECT_THAT(std::string(job.status().message()),
              HasSubstr("update.dense.backup_workers: 6 is not less than lanes, 6"));
  EXPECT_THAT(WhyNoPolicy("policy: async, backup_workers: 1"),
              HasSubstr("update.dense.backup_workers: is only for policy: sync"));
}

TEST(ReadUpdateTest, WhatIsDoneWithStaleGradientsHasItsOwnSettings) {
  const v1::UpdatePolicy dropped =
      DensePolicy("policy: ssp, staleness: 3, stale_gradients: drop, drop_above: 2");
  EXPECT_EQ(dropped.stale_gradients(), v1::STALE_GRADIENTS_DROP);
  EXPECT_EQ(dropped.drop_above(), 2u);
  EXPECT_THAT(WhyNoPolicy("stale_gradients: compensate, drop_above: 2"),
              HasSubstr("update.dense.drop_above: is only for stale_gradients: drop"));
  EXPECT_THAT(WhyNoPolicy("stale_gradients: drop, drop_above: 2, lambda: 0.5"),
              HasSubstr("update.dense.lambda: is only for stale_gradients: compensate"));
  EXPECT_EQ(DensePolicy("stale_gradients: compensate, lambda: 0.5").compensate_lambda(), 0.5f);
}

}  // namespace
}  // namespace capstan
