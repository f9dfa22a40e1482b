// The chief's machine: workers whose data do not come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/chief/crew.h"

namespace capstan::chief {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kFile[] = "/data/train.csv";

// A heartbeat of a worker that has been in one read for so long, and holds these leases.
v1::WorkerHeartbeatReply Stall(Crew& crew, const std::string& name, double seconds,
                               const std::vector<v1::LeaseReport>& reports = {}) {
  v1::WorkerHeartbeatRequest request = crew.HeartbeatOf(name);
  for (v1::TrainerReport& trainer : *request.mutable_trainers()) trainer.set_wants_lease(true);
  for (const v1::LeaseReport& report : reports) *request.add_leases() = report;
  request.mutable_report()->set_stalled_seconds(seconds);
  request.mutable_report()->set_stalled_on(kFile);
  v1::WorkerHeartbeatReply reply = crew.machine.WorkerHeartbeat(request, crew.now);
  crew.AnswerCalls();
  return reply;
}

TEST(ChiefStallTest, TheTasksOfAWorkerThatIsStuckGoToAnother) {
  Crew crew({.tasks = 2, .data_stall = 30});
  crew.RegisterShards();
  crew.RegisterWorker("stuck");
  const v1::WorkerHeartbeatReply granted = crew.Heartbeat("stuck");
  ASSERT_THAT(granted.leases(), SizeIs(2));
  const std::vector<v1::LeaseReport> held = {Crew::Partly(granted.leases(0), 1),
                                             Crew::Partly(granted.leases(1), 0)};
  EXPECT_THAT(Stall(crew, "stuck", 29, held).revoked(), IsEmpty());
  EXPECT_THAT(Stall(crew, "stuck", 30, held).revoked(), SizeIs(2));
  EXPECT_THAT(Stall(crew, "stuck", 31).leases(), IsEmpty());
  crew.RegisterWorker("other");
  const v1::WorkerHeartbeatReply taken = crew.Heartbeat("other");
  ASSERT_THAT(taken.leases(), SizeIs(2));
  EXPECT_EQ(taken.leases(0).first_batch(), 1u);  // Where it stood.
}

TEST(ChiefStallTest, AWorkerThatCanReadAgainGetsWorkAgain) {
  Crew crew({.tasks = 1, .data_stall = 30});
  crew.RegisterShards();
  crew.RegisterWorker("w");
  Stall(crew, "w", 100);
  EXPECT_EQ(crew.Status().workers(0).state(), "stuck");
  EXPECT_THAT(crew.Heartbeat("w").leases(), SizeIs(1));
  EXPECT_EQ(crew.Status().workers(0).state(), "active");
}

TEST(ChiefStallTest, LanesGoToThoseWhoCanRead) {
  Crew crew({.tasks = 8, .lanes = 2, .data_stall = 30});
  crew.RegisterShards();
  crew.RegisterWorker("stuck");
  crew.RegisterWorker("other");
  crew.Heartbeat("other");
  const v1::WorkerHeartbeatReply granted = crew.Heartbeat("stuck");
  ASSERT_THAT(granted.leases(), SizeIs(1));
  EXPECT_THAT(Stall(crew, "stuck", 40, {Crew::Partly(granted.leases(0), 0)}).revoked(), SizeIs(1));
  EXPECT_THAT(crew.Heartbeat("other").leases(), SizeIs(2));
}

// The report of the evaluation's task that is among the leases granted, not done yet.
std::vector<v1::LeaseReport> EvaluationHeld(const v1::WorkerHeartbeatReply& reply) {
  std::vector<v1::LeaseReport> held;
  for (const v1::Lease& lease : reply.leases()) {
    if (lease.kind() == v1::LEASE_KIND_EVALUATION) held.push_back(Crew::Partly(lease, 0));
  }
  return held;
}

TEST(ChiefStallTest, AnEvaluationsTasksGoToThoseWhoCanRead) {
  Crew crew({.tasks = 4, .eval_tasks = 1, .evaluate_every = 20, .data_stall = 30});
  crew.RegisterShards();
  crew.RegisterWorker("stuck");
  const v1::WorkerHeartbeatReply trained = crew.Heartbeat("stuck");
  const v1::WorkerHeartbeatReply granted =
      crew.Heartbeat("stuck", {Crew::Done(trained.leases(0)), Crew::Done(trained.leases(1))});
  ASSERT_THAT(EvaluationHeld(granted), SizeIs(1));
  Stall(crew, "stuck", 40, EvaluationHeld(granted));
  crew.RegisterWorker("other");
  EXPECT_THAT(EvaluationHeld(crew.Heartbeat("other")), SizeIs(1));
}

TEST(ChiefStallTest, ItIsSaidWhoIsStuckOnWhatAndForHowLong) {
  Crew crew({.tasks = 4, .data_stall = 30});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.RegisterWorker("b");
  crew.Heartbeat("b");
  Stall(crew, "a", 42);
  crew.Advance(absl::Milliseconds(300));
  EXPECT_EQ(crew.Status().workers(0).stuck(), "/data/train.csv for 42 s");
  EXPECT_EQ(crew.Status().workers(1).stuck(), "");
  EXPECT_THAT(crew.Status().warnings(),
              ElementsAre("a has been waiting for /data/train.csv for more than 30s (data_stall): "
                          "others do its work until it can read on"));
  EXPECT_EQ(crew.Status().waiting_for(), "");
  crew.Heartbeat("a");
  crew.Advance(absl::Milliseconds(300));
  EXPECT_THAT(crew.Status().warnings(), IsEmpty());
}

TEST(ChiefStallTest, AJobWhoseWorkersAreAllStuckWaitsForTheirDataAndGoesOnWithThem) {
  Crew crew({.tasks = 4, .data_stall = 30});
  crew.RegisterShards();
  crew.RegisterWorker("a");
  crew.RegisterWorker("b");
  Stall(crew, "a", 42);
  Stall(crew, "b", 31);
  EXPECT_EQ(crew.Status().waiting_for(), "the data of /data/train.csv, which a, b wait for");
  EXPECT_EQ(crew.machine.state(), v1::JOB_STATE_RUNNING);
  crew.Heartbeat("b");
  EXPECT_EQ(crew.Status().waiting_for(), "");
  crew.WorkToTheEnd({"b"});
  EXPECT_EQ(crew.Status().tasks().done(), 4u);
}

}  // namespace
}  // namespace capstan::chief
