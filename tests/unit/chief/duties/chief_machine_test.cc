// The chief's machine as a whole.
#include "chief/duties/chief_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capstan/security/shard_secret.h"
#include "tests/unit/chief/crew.h"

namespace capstan::chief {
namespace {

TEST(ChiefMachineTest, ACopyGoesOnAsTheOriginalWouldAndLeavesItAsItIs) {
  Crew crew(TenTasks());
  crew.RegisterShards();
  crew.RegisterWorker("w");
  const v1::WorkerHeartbeatReply held = crew.Heartbeat("w");
  ASSERT_FALSE(held.leases().empty());
  const std::string before = crew.Status().DebugString();
  v1::WorkerHeartbeatRequest request = crew.HeartbeatOf("w");
  request.mutable_trainers(0)->set_wants_lease(true);
  for (const v1::Lease& lease : held.leases()) *request.add_leases() = Crew::Done(lease);

  ChiefMachine copy = crew.machine;
  const v1::WorkerHeartbeatReply of_copy = copy.WorkerHeartbeat(request, crew.now);
  EXPECT_EQ(crew.Status().DebugString(), before);
  ASSERT_FALSE(of_copy.leases().empty());
  const v1::WorkerHeartbeatReply of_original = crew.machine.WorkerHeartbeat(request, crew.now);
  EXPECT_EQ(of_copy.DebugString(), of_original.DebugString());
  EXPECT_EQ(copy.Status(crew.now).DebugString(), crew.Status().DebugString());
  EXPECT_NE(crew.Status().DebugString(), before);
}

TEST(ChiefMachineTest, AProcessThatWatchesTheViewAndIsHeardOfKeepsItsPlace) {
  Crew crew(TenTasks());
  crew.RegisterShards();
  const uint64_t timeline = crew.machine.view().timeline();
  EXPECT_EQ(crew.machine.ShardIncarnation(0), 1u);
  EXPECT_EQ(crew.machine.ShardIncarnation(7), 0u);
  v1::RegisterShardRequest other;
  other.set_wire_version(1);
  other.set_index(0);
  other.set_address("elsewhere:1");
  other.set_incarnation(77);
  const absl::Status refused =
      crew.machine.RegisterShard(other, crew.now, /*watched=*/true).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  crew.AnswerCalls();
  EXPECT_EQ(crew.machine.ShardIncarnation(0), 1u);
  EXPECT_EQ(crew.machine.view().timeline(), timeline);
  EXPECT_TRUE(crew.ShardHeartbeat(0).known());

  EXPECT_TRUE(crew.machine.RegisterShard(other, crew.now, /*watched=*/false).ok());
  EXPECT_EQ(crew.machine.ShardIncarnation(0), 77u);
}

TEST(ChiefMachineTest, NobodyIsHeardInTheNameOfAShardWithoutItsSecret) {
  Crew crew(TenTasks());
  v1::RegisterShardRequest own;
  own.set_wire_version(1);
  own.set_index(0);
  own.set_address("ps-0:7000");
  own.set_secret("its own");
  own.set_incarnation(Raw(IncarnationOfSecret(own.secret())));
  ASSERT_TRUE(crew.machine.RegisterShard(own, crew.now).ok());
  v1::ShardHeartbeatRequest leaves;
  leaves.set_incarnation(own.incarnation());
  leaves.set_draining(true);
  for (const char* shown : {"", "another one"}) {
    leaves.set_secret(shown);
    EXPECT_FALSE(crew.machine.ShardHeartbeat(leaves, crew.now).known()) << shown;
    EXPECT_FALSE(crew.machine.MaySpeak(0, own.incarnation(), shown)) << shown;
    EXPECT_FALSE(crew.machine.SeesShardsOff(crew.now)) << shown;
  }
  EXPECT_FALSE(crew.machine.MaySpeak(1, own.incarnation(), own.secret())) << "of another shard";
  EXPECT_TRUE(crew.machine.MaySpeak(0, own.incarnation(), own.secret()));
  EXPECT_TRUE(crew.machine.MaySpeak(0, /*incarnation=*/77, "")) << "of whom nothing is known";
  leaves.set_secret(own.secret());
  EXPECT_TRUE(crew.machine.ShardHeartbeat(leaves, crew.now).known());
  EXPECT_TRUE(crew.machine.SeesShardsOff(crew.now));
}

TEST(ChiefMachineTest, TheStatusOfAJobWithoutReplicasSaysThatItKeepsNone) {
  Crew crew;
  ASSERT_TRUE(crew.Status().has_replicas());
  EXPECT_EQ(crew.Status().replicas().wanted(), 0u);
}

}  // namespace
}  // namespace capstan::chief
