// Senders whose view is older or newer than the shard's: what counts is whether the partition is
// here, in the timeline that the request names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/integration/shard/raw_shard.h"

namespace capstan {
namespace {

using testing::Each;

v1::ViewEpoch Epoch(uint64_t term, uint64_t n) {
  v1::ViewEpoch epoch;
  epoch.set_term(term);
  epoch.set_n(n);
  return epoch;
}

// The shard's own view has an epoch between the others.
const std::vector<v1::ViewEpoch>& Epochs() {
  static const auto& epochs =
      *new std::vector<v1::ViewEpoch>{Epoch(0, 0), Epoch(1, 1), Epoch(1, 99), Epoch(7, 0)};
  return epochs;
}

class ViewsTest : public RawShardTest {
 protected:
  ViewsTest() : RawShardTest(/*shards=*/2) { shards_.SetTrainers({}); }

  // The first key whose partition the shard of this index has.
  uint64_t KeyOf(uint32_t shard) const {
    uint64_t key = 0;
    while (shards_.view().owners(static_cast<int>(HomeOf(key))) != shard) ++key;
    return key;
  }

  v1::PushRequest PushOf(uint64_t key, const v1::ViewEpoch& epoch, uint64_t seq) const {
    v1::PushRequest push = GoodPush();
    *push.mutable_header()->mutable_epoch() = epoch;
    push.mutable_stream()->set_seq(seq);
    push.mutable_partitions(0)->set_partition(HomeOf(key));
    Rows(push).set_keys(Packed(std::vector<uint64_t>{key}));
    return push;
  }

  v1::PullRequest PullOf(uint64_t key, const v1::ViewEpoch& epoch) const {
    v1::PullRequest pull = GoodPull();
    *pull.mutable_header()->mutable_epoch() = epoch;
    pull.mutable_partitions(0)->set_partition(HomeOf(key));
    Keys(pull).set_keys(Packed(std::vector<uint64_t>{key}));
    return pull;
  }
};

TEST_F(ViewsTest, WhatIsHereIsServedToWhoKnowsAnOlderOrANewerView) {
  const uint64_t key = KeyOf(0);
  uint64_t seq = 0;
  for (const v1::ViewEpoch& epoch : Epochs()) {
    EXPECT_EQ(OutcomeOf(PushOf(key, epoch, seq++)), v1::OUTCOME_APPLIED) << epoch.DebugString();
    EXPECT_TRUE(Send(PullOf(key, epoch)).ok()) << epoch.DebugString();
  }
  EXPECT_THAT(RowOf(key), Each(-4));
}

TEST_F(ViewsTest, WhatIsElsewhereIsRefusedToWhoKnowsAnOlderOrANewerView) {
  const uint64_t key = KeyOf(1);
  for (const v1::ViewEpoch& epoch : Epochs()) {
    EXPECT_EQ(OutcomeOf(PushOf(key, epoch, 0)), v1::OUTCOME_NOT_OWNER);
    EXPECT_EQ(Send(PullOf(key, epoch)).code(), absl::StatusCode::kFailedPrecondition);
  }
}

TEST_F(ViewsTest, AViewOfALaterTimelineEndsServingAndNoRequestDoes) {
  const uint64_t key = KeyOf(0);
  v1::PushRequest later = PushOf(key, Epoch(7, 0), 0);
  later.mutable_header()->set_timeline(2);
  ExpectRefused(later, absl::StatusCode::kFailedPrecondition, "session");
  EXPECT_EQ(OutcomeOf(PushOf(key, Epoch(1, 1), 0)), v1::OUTCOME_APPLIED)
      << "the sender may be mistaken";
  const v1::PushRequest mine = PushOf(key, Epoch(1, 1), 1);
  shards_.SetTimeline(2);
  EXPECT_EQ(Send(mine).code(), absl::StatusCode::kUnavailable) << "it has nothing to serve yet";
  EXPECT_EQ(Send(later).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace capstan
