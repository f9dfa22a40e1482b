// The chief's machine: who is in the job, and what becomes of those who leave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/base/ids.h"
#include "tests/unit/chief/crew.h"

namespace capstan::chief {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ChiefMembershipTest, MakesTheMapWhenTheLastShardOfTheQuorumArrives) {
  Crew crew({.shards = 2});
  ASSERT_TRUE(crew.RegisterShard(1).ok());
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_PENDING);
  EXPECT_THAT(crew.machine.view().owners(), IsEmpty());
  ASSERT_TRUE(crew.RegisterShard(0).ok());
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_THAT(crew.machine.view().owners(), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
}

TEST(ChiefMembershipTest, PublishesANewEpochForEveryChangeAndNoneWithoutOne) {
  Crew crew;
  crew.RegisterShards();
  crew.RegisterWorker("w");
  crew.Heartbeat("w");
  const size_t published = crew.views.size();
  crew.Heartbeat("w");
  crew.Advance(absl::Seconds(1));
  EXPECT_THAT(crew.views, SizeIs(published));
  for (size_t i = 1; i < crew.views.size(); ++i) {
    EXPECT_GT(crew.views[i].epoch().n(), crew.views[i - 1].epoch().n());
  }
}

TEST(ChiefMembershipTest, AnswersARepeatedRegistrationWithTheSameTrainers) {
  Crew crew({.threads = 2});
  v1::RegisterWorkerRequest request;
  request.set_wire_version(1);
  request.set_name("w");
  request.set_incarnation(5);
  const auto first = crew.machine.RegisterWorker(request, crew.now);
  const auto again = crew.machine.RegisterWorker(request, crew.now);
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_THAT(first->trainers(), SizeIs(2));
  EXPECT_EQ(first->SerializeAsString(), again->SerializeAsString());
}

TEST(ChiefMembershipTest, ASecondProcessOfTheNameReplacesTheFirst) {
  Crew crew({.tasks = 1});
  crew.RegisterShards();
  crew.RegisterWorker("w", 5);
  const v1::WorkerHeartbeatReply before = crew.Heartbeat("w");
  ASSERT_THAT(before.leases(), SizeIs(1));
  crew.Advance(absl::Seconds(4));  // More than three heartbeats.
  crew.RegisterWorker("w", 6);
  const v1::WorkerHeartbeatReply after = crew.Heartbeat("w");
  ASSERT_THAT(after.leases(), SizeIs(1));
  EXPECT_GT(after.leases(0).generation().count(), before.leases(0).generation().count());
  EXPECT_NE(after.leases(0).trainer(), before.leases(0).trainer());

  v1::WorkerHeartbeatRequest old = crew.HeartbeatOf("w");
  old.set_incarnation(5);
  EXPECT_FALSE(crew.machine.WorkerHeartbeat(old, crew.now).known());
  EXPECT_EQ(crew.RegisterWorker("w", 5), 0u) << "an old incarnation must not come back";
}

TEST(ChiefMembershipTest, AWorkerWhoseTrainersAreAnotherChiefsIsNotKnown) {
  Crew crew({.tasks = 1});
  crew.RegisterShards();
  crew.RegisterWorker("w", 5);
  v1::WorkerHeartbeatRequest request = crew.HeartbeatOf("w");
  const uint64_t given = request.trainers(0).trainer();
  request.mutable_trainers(0)->set_trainer(given + 1);
  request.mutable_trainers(0)->set_wants_lease(true);
  const v1::WorkerHeartbeatReply reply = crew.machine.WorkerHeartbeat(request, crew.now);
  EXPECT_FALSE(reply.known());
  EXPECT_THAT(reply.leases(), IsEmpty()) << "nobody would work on it";
  // It is told whose trainers it should have, and begins anew.
  crew.RegisterWorker("w", 5, {given + 1});
  EXPECT_EQ(crew.HeartbeatOf("w").trainers(0).trainer(), given);
  EXPECT_THAT(crew.Heartbeat("w").leases(), SizeIs(1));
}

TEST(ChiefMembershipTest, AWorkerSilentForALeaseLosesItsWorkToOthersAtItsPrefix) {
  Crew crew({.tasks = 1});
  crew.RegisterShards();
  crew.RegisterWorker("dies");
  crew.RegisterWorker("lives");
  const v1::Lease lease = crew.Heartbeat("dies").leases(0);
  crew.Heartbeat("dies", {Crew::Partly(lease, 1)});
  crew.Advance(absl::Seconds(6));
  EXPECT_THAT(crew.Heartbeat("lives").leases(), IsEmpty());
  crew.Advance(absl::Seconds(5));
  const v1::WorkerHeartbeatReply reply = crew.Heartbeat("lives");
  ASSERT_THAT(reply.leases(), SizeIs(1));
  EXPECT_EQ(reply.leases(0).first_batch(), 1u);
  EXPECT_GT(reply.leases(0).generation().count(), lease.generation().count());
  EXPECT_FALSE(crew.Heartbeat("dies").known());
  EXPECT_EQ(crew.Status().tasks().expirations(), 1u);
  EXPECT_EQ(crew.Status().workers(1).state(), "lost");
}

TEST(ChiefMembershipTest, ADrainingWorkerGetsNothingAndLeavesInSilence) {
  Crew crew({.tasks = 2, .ssp = true});
  crew.RegisterShards();
  crew.RegisterWorker("w");
  const v1::Lease lease = crew.Heartbeat("w").leases(0);
  v1::LeaseReport report = Crew::Partly(lease, 1);
  report.set_returned(true);
  const v1::WorkerHeartbeatReply reply =
      crew.Heartbeat("w", {report}, /*wants=*/true, /*draining=*/true);
  EXPECT_THAT(reply.leases(), IsEmpty());
  EXPECT_THAT(crew.machine.view().trainers(), IsEmpty());
  EXPECT_EQ(crew.Status().workers(0).state(), "draining");
  crew.Advance(absl::Seconds(11));
  EXPECT_THAT(crew.Status().workers(), IsEmpty()) << "it left in order, it is not lost";
}

TEST(ChiefMembershipTest, ASilentShardIsWaitedFor) {
  Crew crew;
  crew.RegisterShards();
  crew.RegisterWorker("w");
  crew.Heartbeat("w");
  EXPECT_EQ(crew.Status().waiting_for(), "");
  for (int second = 0; second < 600; ++second) {
    crew.now += absl::Seconds(1);
    (void)crew.ShardHeartbeat(1);
    crew.machine.Tick(crew.now);
  }
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(crew.Status().shards(0).state(), "lost");
  EXPECT_EQ(crew.Status().waiting_for(), "shard 0");
  (void)crew.ShardHeartbeat(0);
  EXPECT_EQ(crew.Status().waiting_for(), "");
}

TEST(ChiefMembershipTest, AShardInWhosePlaceAnotherHasComeIsRefused) {
  Crew crew;
  crew.RegisterShards();
  ASSERT_TRUE(crew.RegisterShard(1, 77).ok());
  EXPECT_EQ(crew.RegisterShard(1, 2).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(crew.machine.view().shards(1).incarnation(), 77u);
}

TEST(ChiefMembershipTest, AnUnknownShardIsToldToRegister) {
  Crew crew;
  v1::ShardHeartbeatRequest request;
  request.set_incarnation(5);
  EXPECT_FALSE(crew.machine.ShardHeartbeat(request, crew.now).known());
}

TEST(ChiefMembershipTest, ATrainerJoinsTheQuorumAtTheSlowestClock) {
  Crew crew({.tasks = 8, .ssp = true});
  crew.RegisterShards();
  crew.RegisterWorker("slow");
  const v1::Lease lease = crew.Heartbeat("slow").leases(0);
  v1::WorkerHeartbeatRequest request = crew.HeartbeatOf("slow");
  *request.add_leases() = Crew::Partly(lease, 1);
  request.mutable_trainers(0)->set_clock(40);
  crew.machine.WorkerHeartbeat(request, crew.now);
  crew.RegisterWorker("joins");
  const v1::WorkerHeartbeatReply reply = crew.Heartbeat("joins");
  ASSERT_FALSE(reply.leases().empty());
  EXPECT_EQ(reply.leases(0).start_clock(), 40u);
  ASSERT_THAT(crew.machine.view().trainers(), SizeIs(2));
  EXPECT_EQ(crew.machine.view().trainers(0).worker(), "joins");
  EXPECT_EQ(crew.machine.view().trainers(0).start_clock(), 40u);
}

TEST(ChiefMembershipTest, TrainersThatEndOneSoonAfterTheOtherLeaveTheQuorumTogether) {
  Crew crew({.tasks = 4, .ssp = true});
  crew.RegisterShards();
  std::map<std::string, v1::Lease> leases;
  for (const char* name : {"a", "b", "c", "d"}) crew.RegisterWorker(name);
  for (const char* name : {"a", "b", "c", "d"}) leases[name] = crew.Heartbeat(name).leases(0);
  ASSERT_THAT(crew.machine.view().trainers(), SizeIs(4));
  crew.Heartbeat("a", {Crew::Done(leases["a"])});
  EXPECT_THAT(crew.machine.view().trainers(), SizeIs(3)) << "the first one at once";
  const uint64_t before = crew.machine.view().epoch().n();
  crew.Heartbeat("b", {Crew::Done(leases["b"])});
  crew.Heartbeat("c", {Crew::Done(leases["c"])});
  EXPECT_EQ(crew.machine.view().epoch().n(), before);
  crew.now += absl::Milliseconds(100);
  crew.machine.Tick(crew.now);
  EXPECT_EQ(crew.machine.view().epoch().n(), before + 1);
  ASSERT_THAT(crew.machine.view().trainers(), SizeIs(1));
  EXPECT_EQ(crew.machine.view().trainers(0).worker(), "d");
}

TEST(ChiefMembershipTest, WhereNobodyWaitsForTheSlowestAThousandWorkersThatJoinMakeNoView) {
  for (const bool ssp : {false, true}) {
    Crew crew({.tasks = 3000, .ssp = ssp});
    crew.RegisterShards();
    const uint64_t before = crew.machine.view().epoch().n();
    for (int i = 0; i < 1000; ++i) {
      const std::string name = absl::StrCat("w", i);
      crew.RegisterWorker(name);
      ASSERT_FALSE(crew.Heartbeat(name).leases().empty());
    }
    EXPECT_EQ(crew.machine.view().epoch().n(), ssp ? before + 1000 : before) << ssp;
  }
}

TEST(ChiefMembershipTest, ShardsBeyondTheLastPartitionAreTold) {
  Crew crew({.tasks = 10, .shards = 2});
  crew.RegisterShards();
  crew.RegisterWorker("w");
  crew.Heartbeat("w");
  EXPECT_FALSE(crew.RegisterShard(8).ok());
  EXPECT_FALSE(crew.RegisterShard(9).ok());
  crew.Stop(8);
  crew.Stop(9);
  crew.Advance(absl::Seconds(1));
  ASSERT_THAT(crew.Status().warnings(), testing::SizeIs(1));
  EXPECT_THAT(crew.Status().warnings(0),
              testing::HasSubstr("ps-8, ps-9 are of no use: the job has 8 partitions"));
  crew.Advance(absl::Seconds(20));
  EXPECT_THAT(crew.Status().warnings(), testing::IsEmpty()) << "they ask no longer";
}

TEST(ChiefMembershipTest, MoreWorkersThanTasksAreToldInTheStatus) {
  Crew crew({.tasks = 2});
  crew.RegisterShards();
  for (const char* name : {"a", "b", "c"}) crew.RegisterWorker(name);
  crew.Advance(absl::Seconds(1));
  ASSERT_THAT(crew.Status().warnings(), testing::SizeIs(1));
  EXPECT_THAT(crew.Status().warnings(0),
              testing::HasSubstr("3 workers share 2 tasks of an epoch, so 1 of them"));
  crew.Heartbeat("c", {}, /*wants=*/false, /*draining=*/true);
  crew.Advance(absl::Seconds(11));
  EXPECT_THAT(crew.Status().warnings(), testing::IsEmpty()) << "silent for longer than its lease";
}

}  // namespace
}  // namespace capstan::chief
