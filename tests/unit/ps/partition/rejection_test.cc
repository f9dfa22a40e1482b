#include "ps/partition/rejection.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "capstan/metrics/registry.h"
#include "ps/partition/shard_metrics.h"

namespace capstan::ps {
namespace {

TEST(RejectionTest, EachReasonHasALabelOfItsOwn) {
  std::set<std::string_view> labels;
  for (size_t i = 0; i < kRejections; ++i) labels.insert(LabelOf(static_cast<Rejection>(i)));
  EXPECT_EQ(labels.size(), kRejections);
  EXPECT_FALSE(labels.contains(""));
  EXPECT_EQ(LabelOf(Rejection::kShape), "shape");
  EXPECT_EQ(LabelOf(Rejection::kDuplicate), "duplicate");
  EXPECT_EQ(LabelOf(Rejection::kOutsideWindow), "outside_window");
  EXPECT_EQ(LabelOf(Rejection::kSeal), "seal");
}

TEST(RejectionTest, AReasonThatIsNotedComesBeforeTheCode) {
  EXPECT_EQ(ReasonOf(WithReason(absl::InvalidArgumentError("infinity"), Rejection::kNan)),
            Rejection::kNan);
  EXPECT_EQ(ReasonOf(NoRoom("pushes take all bytes")), Rejection::kMemory);
  EXPECT_EQ(ReasonOf(absl::InvalidArgumentError("three rows")), Rejection::kShape);
  EXPECT_EQ(ReasonOf(absl::NotFoundError("no such table")), Rejection::kUnknown);
  EXPECT_EQ(ReasonOf(absl::UnavailableError("another life")), Rejection::kSession);
}

TEST(RejectionTest, WhatWasAppliedOrWillBeIsNoRejection) {
  EXPECT_EQ(ReasonOf(v1::OUTCOME_APPLIED), std::nullopt);
  EXPECT_EQ(ReasonOf(v1::OUTCOME_QUEUED), std::nullopt);
  EXPECT_EQ(ReasonOf(v1::OUTCOME_STAGED), std::nullopt);
  EXPECT_EQ(ReasonOf(v1::OUTCOME_DROPPED), Rejection::kStale);
  EXPECT_EQ(ReasonOf(v1::OUTCOME_OUTSIDE_WINDOW), Rejection::kOutsideWindow);
}

TEST(RejectionTest, EveryReasonAndEveryOutcomeCanBeCounted) {
  metrics::Registry registry;
  ShardMetrics metrics(registry);
  for (size_t i = 0; i < kRejections; ++i) metrics.CountRejected(static_cast<Rejection>(i));
  for (int i = 0; i < v1::Outcome_ARRAYSIZE; ++i) {
    if (v1::Outcome_IsValid(i)) metrics.CountOutcome(static_cast<v1::Outcome>(i));
  }
  v1::ShardReport report;
  metrics.Report(report);
  EXPECT_EQ(report.gradients_refused(), kRejections);
  EXPECT_EQ(report.gradients_dropped(), 1u);
}

}  // namespace
}  // namespace capstan::ps
