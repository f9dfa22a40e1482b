#include "chief/shell/chief_door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "capstan/base/wire_version.h"
#include "chief/shell/refusal.h"
#include "tests/unit/chief/crew.h"
#include "tests/unit/chief/crew_access.h"
#include "tests/unit/chief/watch_call.h"

namespace capstan::chief {
namespace {

using ::testing::HasSubstr;

// A chief whose certificates are of the job ctr, and who calls it.
class ChiefDoorTest : public testing::Test {
 protected:
  static ChiefCaller Plain(const std::string& host = "ipv4:10.0.0.1") {
    return {.host = host, .text = absl::StrCat(host, ":1234")};
  }
  static ChiefCaller Certified(const std::vector<std::string>& names) {
    ChiefCaller caller = Plain();
    caller.names = names;
    return caller;
  }
  // A shard's certificate: of any, or with this number.
  static ChiefCaller OfAnyShard() { return Certified({"ps.ctr.capstan"}); }
  static ChiefCaller OfShard(uint32_t number) {
    return Certified({"ps.ctr.capstan", absl::StrCat("ctr-ps-", number, ".ps.ctr.capstan")});
  }

  absl::Status RegisterShard(const ChiefCaller& caller, uint32_t index, uint64_t incarnation) {
    v1::RegisterShardRequest request;
    request.set_wire_version(kWireVersion);
    request.set_index(index);
    request.set_address("127.0.0.1:7000");
    request.set_incarnation(incarnation);
    return door_.RegisterShard(caller, request).status();
  }
  absl::Status ShardHeartbeat(const ChiefCaller& caller, uint32_t index, uint64_t incarnation) {
    v1::ShardHeartbeatRequest request;
    request.set_index(index);
    request.set_incarnation(incarnation);
    return door_.ShardHeartbeat(caller, request).status();
  }
  // Whether the caller, who says that it is this process of the shard, watches as it.
  bool WatchesAsShard(const ChiefCaller& caller, uint32_t index, uint64_t incarnation) {
    v1::WatchViewRequest request;
    request.set_shard(index);
    request.set_shard_incarnation(incarnation);
    const WatchCall call(door_.WatchView(caller, request), /*is_shard=*/true,
                         /*differences=*/false);
    return feed_.IsWatching(incarnation);
  }
  absl::Status RegisterWorker(const std::string& host, const std::string& name,
                              uint64_t incarnation = 1) {
    v1::RegisterWorkerRequest request;
    request.set_wire_version(kWireVersion);
    request.set_name(name);
    request.set_incarnation(incarnation);
    return door_.RegisterWorker(Plain(host), request).status();
  }

  Crew crew_;
  FakeClock clock_;
  ViewFeed feed_{8};
  ModelIntake models_{clock_};
  CrewAccess access_{crew_, feed_};
  ChiefDoor door_{{.views = feed_,
                   .models = models_,
                   .clock = clock_,
                   .job = "ctr",
                   .registrations_at_once = 2}};
};

TEST_F(ChiefDoorTest, ACertificateWithANumberIsOfNoUseForAnotherShard) {
  door_.Open(access_);
  EXPECT_TRUE(RegisterShard(OfShard(1), 1, 11).ok());
  for (const absl::Status& refused :
       {RegisterShard(OfShard(1), 0, 10), ShardHeartbeat(OfShard(0), 1, 11)}) {
    EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("of another shard than "));
  }
  EXPECT_FALSE(WatchesAsShard(OfShard(0), 1, 11));
  EXPECT_TRUE(WatchesAsShard(OfShard(1), 1, 11));
}

TEST_F(ChiefDoorTest, OnceAShardHasShownItsNumberNobodyIsBelievedToBeItWithout) {
  door_.Open(access_);
  ASSERT_TRUE(RegisterShard(OfAnyShard(), 0, 10).ok()) << "nobody has shown the number yet";
  ASSERT_TRUE(RegisterShard(OfShard(0), 0, 11).ok()) << "nobody watches as the one before";
  testing::internal::CaptureStderr();
  for (const absl::Status& refused :
       {RegisterShard(OfAnyShard(), 0, 12), ShardHeartbeat(OfAnyShard(), 0, 11)}) {
    EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("carries no number"));
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("acts for a shard with a certificate without its number shard=0 by="));
  EXPECT_FALSE(WatchesAsShard(OfAnyShard(), 0, 11));
  EXPECT_EQ(crew_.machine.ShardIncarnation(0), 11u);
  EXPECT_TRUE(RegisterShard(OfShard(0), 0, 12).ok());
  EXPECT_TRUE(RegisterShard(OfAnyShard(), 1, 13).ok()) << "that is another shard";
}

TEST_F(ChiefDoorTest, AHeartbeatShowsTheNumberToo) {
  door_.Open(access_);
  ASSERT_TRUE(RegisterShard(OfAnyShard(), 0, 10).ok());
  ASSERT_TRUE(ShardHeartbeat(OfShard(0), 0, 9).ok()) << "it is not known, and registers";
  EXPECT_TRUE(crew_.machine.MayBeUnnumbered(0));
  ASSERT_TRUE(ShardHeartbeat(OfShard(0), 0, 10).ok());
  EXPECT_FALSE(crew_.machine.MayBeUnnumbered(0));
}

TEST_F(ChiefDoorTest, WhatIsRefusedShowsNoNumber) {
  door_.Open(access_);
  EXPECT_FALSE(RegisterShard(OfShard(0), 0, /*incarnation=*/0).ok());
  EXPECT_TRUE(crew_.machine.MayBeUnnumbered(0));
}

TEST_F(ChiefDoorTest, WithoutTlsThereAreNoNumbers) {
  door_.Open(access_);
  ASSERT_TRUE(RegisterShard(Plain(), 0, 10).ok());
  EXPECT_TRUE(RegisterShard(Plain(), 0, 11).ok());
  EXPECT_TRUE(WatchesAsShard(Plain(), 0, 11));
}

TEST_F(ChiefDoorTest, AnAddressTakesNumbersForTrainersNoFasterThanItMay) {
  door_.Open(access_);
  ASSERT_TRUE(RegisterWorker("a", "w0").ok());
  ASSERT_TRUE(RegisterWorker("a", "w1").ok());
  EXPECT_TRUE(absl::IsResourceExhausted(RegisterWorker("a", "w2")));
  EXPECT_TRUE(RegisterWorker("b", "w3").ok()) << "that is another address";
  clock_.Advance(absl::Seconds(1));
  EXPECT_TRUE(RegisterWorker("a", "w2").ok());
}

TEST_F(ChiefDoorTest, BeforeTheChiefHasItsJobEachCallSaysSo) {
  EXPECT_EQ(door_.Status().status(), absl::UnavailableError("the chief is starting"));
  door_.Tell(RefusedStatus("ctr", absl::UnavailableError("the store is away")));
  const absl::Status why = absl::UnavailableError("the chief has no job yet: the store is away");
  EXPECT_EQ(RegisterShard(OfShard(0), 0, 1), why);
  EXPECT_EQ(ShardHeartbeat(OfShard(0), 0, 1), why);
  EXPECT_EQ(RegisterWorker("a", "w0"), why);
  EXPECT_EQ(door_.WorkerHeartbeat({}).status(), why);
  EXPECT_EQ(door_.StopJob(Plain(), {}), why);
  EXPECT_EQ(door_.Rebalance(Plain(), {}).status(), why);
  std::optional<absl::Status> checkpoint;
  door_.TakeCheckpoint(Plain(), [&checkpoint](const auto& uri) { checkpoint = uri.status(); });
  EXPECT_EQ(checkpoint, why);
  EXPECT_EQ(door_.Status()->waiting_for(), "the store is away");
  EXPECT_TRUE(WatchesAsShard(OfShard(0), 0, 1)) << "secrets and numbers are not known yet";
  EXPECT_FALSE(WatchesAsShard(OfShard(1), 0, 1));
}

}  // namespace
}  // namespace capstan::chief
