#include "chief/state/shard_table.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/security/shard_secret.h"

namespace capstan::chief {
namespace {

const absl::Time kNow = absl::UnixEpoch();

v1::RegisterShardRequest Registration(uint32_t index, uint64_t incarnation) {
  v1::RegisterShardRequest request;
  request.set_index(index);
  request.set_address("ps:7000");
  request.set_incarnation(incarnation);
  return request;
}

TEST(ShardTableTest, AnAddressIsAHostAndAPort) {
  ShardTable table(1, 1);
  for (const char* address :
       {"", "ps", "ps:", "ps:0", "ps:65536", ":7000", "ps:x", "unix:/a", "ps:7000/x"}) {
    v1::RegisterShardRequest request = Registration(0, 1);
    request.set_address(address);
    EXPECT_EQ(table.Register(request, kNow).status().code(), absl::StatusCode::kInvalidArgument)
        << address;
  }
  for (const char* address : {"ps:7000", "10.0.0.1:7000", "[::1]:7000"}) {
    v1::RegisterShardRequest request = Registration(0, 1);
    request.set_address(address);
    EXPECT_TRUE(table.Register(request, kNow).ok()) << address;
  }
}

TEST(ShardTableTest, AProcessThatWasGivenUpIsNeverListenedToAgain) {
  ShardTable table(1, 8);
  ASSERT_TRUE(table.Register(Registration(0, 1), kNow).ok());
  table.GiveUp(0);
  EXPECT_EQ(table.Find(0), nullptr);
  EXPECT_EQ(table.Register(Registration(0, 1), kNow).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(table.Register(Registration(0, 2), kNow).ok()) << "another one in its place";
  table.Forget(0);
  EXPECT_TRUE(table.Register(Registration(0, 2), kNow).ok()) << "who is not missed may come back";
}

TEST(ShardTableTest, MergesTheStalenessOfAllShards) {
  ShardTable table(2, 8);
  for (uint32_t index : {0u, 1u}) {
    ASSERT_TRUE(table.Register(Registration(index, index + 1), kNow).ok());
    v1::ShardHeartbeatRequest heartbeat;
    // Shard 0: ten of 0. Shard 1: eleven of 4 or 5.
    for (uint64_t count : {index == 0 ? 10 : 0, 0, 0, 0, index == 0 ? 0 : 11}) {
      heartbeat.mutable_report()->add_staleness_counts(count);
    }
    heartbeat.mutable_report()->set_max_staleness(index == 0 ? 0 : 5);
    ShardTable::Hear(*table.Find(index, Incarnation{index + 1}), heartbeat, kNow);
  }
  EXPECT_EQ(table.StalenessMedian(), 4u);
  EXPECT_EQ(table.StalenessMax(), 5u);
}

TEST(ShardTableTest, TheCpuShareIsAnAverageOfWhatWasUsedOfWhatMayBeUsed) {
  ShardTable table(1, 8);
  ASSERT_TRUE(table.Register(Registration(0, 1), kNow).ok());
  Shard& shard = *table.Find(0, Incarnation{1});
  const auto hear = [&shard](double cpu_seconds, double cores, double second) {
    v1::ShardHeartbeatRequest heartbeat;
    heartbeat.mutable_report()->set_cpu_seconds(cpu_seconds);
    heartbeat.mutable_report()->set_cpu_cores(cores);
    ShardTable::Hear(shard, heartbeat, kNow + absl::Seconds(second));
  };
  hear(500, 4, 1);  // Since it started, and nobody knows when that was.
  EXPECT_EQ(shard.cpu_share, 0);
  for (int second = 2; second <= 101; ++second) hear(500 + 2.0 * (second - 1), 4, second);
  EXPECT_NEAR(shard.cpu_share, 0.5, 0.001);
  // A tenth of a second in which it used ten times what it may is no more than all of it.
  hear(704, 4, 101.1);
  EXPECT_LT(shard.cpu_share, 0.51);
  for (const double odd : {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN()}) {
    hear(odd, odd, 110);
    EXPECT_GE(shard.cpu_share, 0);
    EXPECT_LE(shard.cpu_share, 1);
  }
}

TEST(ShardTableTest, OfAReportOfManyMegabytesLittleIsKept) {
  ShardTable table(1, 8);
  ASSERT_TRUE(table.Register(Registration(0, 1), kNow).ok());
  v1::ShardHeartbeatRequest heartbeat;
  v1::ShardReport& report = *heartbeat.mutable_report();
  report.mutable_staleness_counts()->Resize(1 << 20, 1);
  report.mutable_row_staleness_counts()->Resize(1 << 20, 1);
  for (int i = 0; i < 100000; ++i) report.add_tables();
  for (int i = 0; i < 100000; ++i) report.add_memory()->set_what(absl::StrCat(i));
  report.mutable_memory(0)->set_what(std::string(1 << 20, 'x'));
  report.GetReflection()->MutableUnknownFields(&report)->AddLengthDelimited(
      1000, std::string(1 << 20, 'x'));
  Shard& shard = *table.Find(0, Incarnation{1});
  ShardTable::Hear(shard, heartbeat, kNow);
  EXPECT_LT(shard.report.SpaceUsedLong(), size_t{1} << 20);
}

TEST(ShardTableTest, NoCharacterOfSeveralBytesOfItsWordsIsCut) {
  ShardTable table(1, 8);
  ASSERT_TRUE(table.Register(Registration(0, 1), kNow).ok());
  std::string what = "x";
  while (what.size() < 1000) what += "\xC3\xA9";
  v1::ShardHeartbeatRequest heartbeat;
  heartbeat.mutable_report()->add_memory()->set_what(what);
  Shard& shard = *table.Find(0, Incarnation{1});
  ShardTable::Hear(shard, heartbeat, kNow);
  EXPECT_EQ(shard.report.memory(0).what(), what.substr(0, 255));
}

TEST(ShardTableTest, RefusesAnIndexBeyondThePartitionsAndRegistrationsWithoutAnIdentity) {
  ShardTable table(2, 4);
  EXPECT_TRUE(table.Register(Registration(3, 1), kNow).ok());
  EXPECT_EQ(table.Register(Registration(4, 1), kNow).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(table.Register(Registration(0, 0), kNow).status().code(),
            absl::StatusCode::kInvalidArgument);
  v1::RegisterShardRequest homeless = Registration(0, 1);
  homeless.clear_address();
  EXPECT_EQ(table.Register(homeless, kNow).status().code(), absl::StatusCode::kInvalidArgument);
  v1::RegisterShardRequest far = Registration(0, 1);
  far.set_zone(std::string(1000, 'z'));
  EXPECT_EQ(table.Register(far, kNow).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ShardTableTest, WhoRegistersAgainSaysAgainWhereItIsAndWhatItMayUse) {
  ShardTable table(1, 8);
  v1::View view;
  v1::ShardInfo& info = *view.add_shards();
  info.set_index(0);
  info.set_incarnation(7);
  table.Inherit(view, kNow);
  v1::RegisterShardRequest request = Registration(0, 7);
  request.set_zone("a");
  request.set_memory_bytes(1 << 20);
  ASSERT_TRUE(table.Register(request, kNow).ok());
  EXPECT_EQ(table.Find(0)->zone, "a");
  EXPECT_EQ(table.LeastMemory(), uint64_t{1} << 20);
}

TEST(ShardTableTest, WhoLeavesDoesNotStayBecauseAnEarlierHeartbeatComesLate) {
  ShardTable table(1, 8);
  ASSERT_TRUE(table.Register(Registration(0, 7), kNow).ok());
  v1::ShardHeartbeatRequest leaves;
  leaves.set_draining(true);
  ShardTable::Hear(*table.Find(0), leaves, kNow);
  ShardTable::Hear(*table.Find(0), v1::ShardHeartbeatRequest(), kNow);
  EXPECT_TRUE(table.Find(0)->draining);
  ASSERT_TRUE(table.Register(Registration(0, 8), kNow).ok());
  EXPECT_FALSE(table.Find(0)->draining) << "another process has come";
}

TEST(ShardTableTest, TellsARepeatedRegistrationFromANewProcess) {
  ShardTable table(1, 8);
  EXPECT_EQ(*table.Register(Registration(0, 7), kNow), ShardTable::Arrival::kNew);
  EXPECT_EQ(*table.Register(Registration(0, 7), kNow), ShardTable::Arrival::kSame);
  EXPECT_EQ(*table.Register(Registration(0, 8), kNow), ShardTable::Arrival::kReplaced);
  EXPECT_EQ(table.Find(0, Incarnation{7}), nullptr);
}

// The registration of the process that has this secret.
v1::RegisterShardRequest WithSecret(uint32_t index, const std::string& secret) {
  v1::RegisterShardRequest request = Registration(index, Raw(IncarnationOfSecret(secret)));
  request.set_secret(secret);
  return request;
}

TEST(ShardTableTest, WhoKnowsOnlyTheIncarnationOfAShardIsNotTakenForIt) {
  ShardTable table(1, 8);
  const v1::RegisterShardRequest own = WithSecret(0, "its own");
  ASSERT_EQ(*table.Register(own, kNow), ShardTable::Arrival::kNew);
  for (const char* shown : {"", "another one"}) {
    v1::RegisterShardRequest stolen = own;
    stolen.set_address("elsewhere:1");
    stolen.set_secret(shown);
    EXPECT_EQ(table.Register(stolen, kNow).status().code(), absl::StatusCode::kPermissionDenied)
        << shown;
    EXPECT_FALSE(ShardTable::IsOwnSecret(*table.Find(0), shown)) << shown;
  }
  EXPECT_EQ(table.Find(0)->address, "ps:7000");
  EXPECT_EQ(*table.Register(own, kNow), ShardTable::Arrival::kSame);
  EXPECT_TRUE(ShardTable::IsOwnSecret(*table.Find(0), "its own"));
  EXPECT_EQ(*table.Register(WithSecret(0, "of the next"), kNow), ShardTable::Arrival::kReplaced);
}

TEST(ShardTableTest, NobodyComesWithASecretThatIsNotOfHisIncarnationOrWithAnothersIncarnation) {
  ShardTable table(1, 8);
  v1::RegisterShardRequest wrong = Registration(0, 7);
  wrong.set_secret("of no incarnation 7");
  EXPECT_EQ(table.Register(wrong, kNow).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(table.Find(0), nullptr);
  ASSERT_TRUE(table.Register(Registration(0, 7), kNow).ok());
  EXPECT_EQ(table.Register(Registration(1, 7), kNow).status().code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(table.Find(1), nullptr);
}

TEST(ShardTableTest, AProcessOfAReleaseWithoutSecretsIsHeardWithoutOne) {
  ShardTable table(1, 8);
  ASSERT_TRUE(table.Register(Registration(0, 7), kNow).ok());
  EXPECT_TRUE(ShardTable::IsOwnSecret(*table.Find(0), ""));
  EXPECT_EQ(*table.Register(Registration(0, 7), kNow), ShardTable::Arrival::kSame);
}

TEST(ShardTableTest, TheNextChiefTakesNobodyForAShardWithoutTheSecretThatTheOneBeforeWasShown) {
  const std::string secret = "its own";
  v1::View view;
  v1::ShardInfo& info = *view.add_shards();
  info.set_incarnation(Raw(IncarnationOfSecret(secret)));
  info.set_shows_secret(true);
  ShardTable table(1, 8);
  table.Inherit(view, kNow);
  EXPECT_FALSE(ShardTable::IsOwnSecret(*table.Find(0), ""));
  EXPECT_EQ(table.Register(Registration(0, info.incarnation()), kNow).status().code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(*table.Register(WithSecret(0, secret), kNow), ShardTable::Arrival::kSame);
}

// The chief before was of a release without secrets.
TEST(ShardTableTest, AShardIsKnownByItsSecretOnceOneHeartbeatHasShownIt) {
  const std::string secret = "its own";
  v1::View view;
  view.add_shards()->set_incarnation(Raw(IncarnationOfSecret(secret)));
  ShardTable table(1, 8);
  table.Inherit(view, kNow);
  v1::ShardHeartbeatRequest heartbeat;
  heartbeat.set_secret(secret);
  ASSERT_TRUE(ShardTable::IsOwnSecret(*table.Find(0), secret));
  ShardTable::Hear(*table.Find(0), heartbeat, kNow);
  EXPECT_FALSE(ShardTable::IsOwnSecret(*table.Find(0), ""));
}

TEST(ShardTableTest, ShardsAreThereSinceTheLastOfThemCameAndOnlyWhileAllAreHeardOf) {
  const absl::Duration patience = absl::Seconds(10);
  ShardTable table(2, 8);
  const auto since = [&](absl::Time now) { return table.ThereSince({0, 1}, patience, now); };
  ASSERT_TRUE(table.Register(Registration(0, 1), kNow).ok());
  EXPECT_EQ(since(kNow), absl::InfiniteFuture());
  const absl::Time came = kNow + absl::Seconds(5);
  ASSERT_TRUE(table.Register(Registration(1, 2), came).ok());
  EXPECT_EQ(since(came), came);
  EXPECT_EQ(since(kNow + patience), came);
  EXPECT_EQ(since(came + patience), absl::InfiniteFuture()) << "shard 0 is silent";
  ShardTable::Hear(*table.Find(0), {}, came + patience);
  EXPECT_EQ(since(came + patience), came) << "it has been there all the while";
  ASSERT_TRUE(table.Register(Registration(0, 3), came + patience).ok());
  EXPECT_EQ(since(came + patience), came + patience) << "another process has come";
}

TEST(ShardTableTest, AShardOfTheChiefBeforeIsThereOnceThisOneHearsOfIt) {
  v1::View view;
  view.add_shards()->set_index(0);
  ShardTable table(1, 1);
  table.Inherit(view, kNow);
  EXPECT_EQ(table.ThereSince({0}, absl::Seconds(10), kNow), absl::InfiniteFuture());
  const absl::Time came = kNow + absl::Seconds(5);
  ShardTable::Hear(*table.Find(0), {}, came);
  EXPECT_EQ(table.ThereSince({0}, absl::Seconds(10), came), came);
}

}  // namespace
}  // namespace capstan::chief
