// Whom the chief that goes on with a job waits for.
#include "chief/state/takeover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/base/wire_version.h"

namespace capstan::chief {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The predecessor's last view: of the shards 0, 1 and 2, the first two own a partition each, in
// timeline 4; one worker trains.
class TakeoverTest : public testing::Test {
 protected:
  using Shards = Takeover::Shards;

  TakeoverTest() {
    view_.set_timeline(4);
    for (const uint32_t index : {0u, 1u, 2u}) {
      v1::ShardInfo& shard = *view_.add_shards();
      shard.set_index(index);
      shard.set_incarnation(100 + index);
    }
    view_.add_owners(0);
    view_.add_owners(1);
    view_.add_trainers()->set_worker("w");
    table_.Inherit(view_, begin_);
    takeover_ = Takeover(view_, /*patience=*/absl::Seconds(30), begin_);
  }

  void Register(uint32_t index, uint64_t incarnation, uint64_t timeline) {
    v1::RegisterShardRequest request;
    request.set_wire_version(kWireVersion);
    request.set_index(index);
    request.set_address(absl::StrCat("shard-", index, ":1"));
    request.set_incarnation(incarnation);
    request.set_loaded_timeline(timeline);
    CAPSTAN_CHECK(table_.Register(request, begin_).ok());
  }

  const absl::Time begin_ = absl::UnixEpoch() + absl::Hours(1);
  v1::View view_;
  ShardTable table_{/*quorum=*/3, /*most=*/8};
  Takeover takeover_;
};

TEST_F(TakeoverTest, ShardsAreAwaitedThatOwnPartitionsAndNoOthers) {
  EXPECT_EQ(takeover_.shards(table_), Shards::kAwaited);
  EXPECT_THAT(takeover_.Awaited(table_), ElementsAre(0, 1));
  Register(0, 100, 4);
  EXPECT_THAT(takeover_.Awaited(table_), ElementsAre(1));
  Register(1, 101, 4);
  EXPECT_EQ(takeover_.shards(table_), Shards::kBack) << "shard 2 has nothing to bring back";
  EXPECT_FALSE(takeover_.settled()) << "until somebody acts on it";
  takeover_.Settle();
  EXPECT_TRUE(takeover_.settled());
}

TEST_F(TakeoverTest, AnotherProcessHasNothingOfWhatTheViewSaysThoughOthersAreAwaited) {
  Register(0, 555, 4);
  EXPECT_EQ(takeover_.shards(table_), Shards::kChanged);
  EXPECT_THAT(takeover_.Changed(table_), ElementsAre(0));
  EXPECT_THAT(takeover_.Awaited(table_), ElementsAre(1));
}

TEST_F(TakeoverTest, TheSameProcessIsChangedWhereItHasLoadedAnotherTimeline) {
  Register(1, 101, 4);
  for (const uint64_t timeline : {0, 3, 5}) {
    Register(0, 100, timeline);
    EXPECT_THAT(takeover_.Changed(table_), ElementsAre(0)) << timeline;
  }
  Register(0, 100, 4);
  EXPECT_EQ(takeover_.shards(table_), Shards::kBack);
}

TEST_F(TakeoverTest, AllHaveChangedOnlyIfNobodyWhoIsHereHoldsWhatItHad) {
  EXPECT_TRUE(takeover_.AllChanged(table_)) << "nobody is here";
  Register(0, 555, 0);
  EXPECT_TRUE(takeover_.AllChanged(table_));
  Register(1, 101, 4);
  EXPECT_FALSE(takeover_.AllChanged(table_));
}

TEST_F(TakeoverTest, WhereBackupsTakeALostShardsPlaceTheyAreAwaitedAndItIsNot) {
  Register(1, 101, 4);
  Register(2, 102, 4);
  takeover_.Replace(0, {{1, 101}, {2, 102}});
  EXPECT_EQ(takeover_.shards(table_), Shards::kBack);
  Register(2, 777, 0);
  EXPECT_THAT(takeover_.Changed(table_), ElementsAre(2));
}

TEST_F(TakeoverTest, AShardThatIsAwaitedAsOneProcessIsNotAwaitedAsAnotherByTakingAPlace) {
  Register(1, 555, 4);
  takeover_.Replace(0, {{1, 555}});
  EXPECT_THAT(takeover_.Changed(table_), ElementsAre(1)) << "what it had itself is gone";
}

TEST_F(TakeoverTest, AWorkerIsAwaitedUntilItReportsAndNoLongerThanItsLease) {
  const absl::Time over = begin_ + absl::Seconds(30);
  EXPECT_TRUE(takeover_.Awaits("w"));
  EXPECT_FALSE(takeover_.complete(over - absl::Nanoseconds(1)));
  EXPECT_TRUE(takeover_.complete(over));
  EXPECT_TRUE(takeover_.patience_over(over));
  takeover_.OnReport("a stranger");
  EXPECT_FALSE(takeover_.complete(begin_));
  takeover_.OnReport("w");
  EXPECT_FALSE(takeover_.Awaits("w"));
  EXPECT_TRUE(takeover_.complete(begin_));
  EXPECT_FALSE(takeover_.patience_over(begin_)) << "leases of others may run still";
}

TEST_F(TakeoverTest, AChiefThatBeginsAJobWaitsForNobody) {
  const Takeover none;
  EXPECT_TRUE(none.settled());
  EXPECT_TRUE(none.complete(begin_));
  EXPECT_TRUE(none.patience_over(begin_));
  EXPECT_THAT(none.Awaited(table_), IsEmpty());
}

}  // namespace
}  // namespace capstan::chief
