#include "chief/duties/worker_duty.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

class WorkerDutyTest : public DutyTest {
 protected:
  WorkerDutyTest() { Run(2); }

  static v1::RegisterWorkerRequest RequestOf(const std::string& name, uint64_t incarnation) {
    v1::RegisterWorkerRequest request;
    request.set_wire_version(kWireVersion);
    request.set_name(name);
    request.set_incarnation(incarnation);
    return request;
  }
  // As the worker of this name that has registered says it.
  v1::WorkerHeartbeatRequest HeartbeatOf(const Worker& worker) const {
    v1::WorkerHeartbeatRequest request;
    request.set_name(worker.name);
    request.set_incarnation(Raw(worker.incarnation));
    for (const Trainer& trainer : worker.trainers)
      request.add_trainers()->set_trainer(Raw(trainer.id));
    return request;
  }
  v1::WorkerHeartbeatReply Reply() const {
    v1::WorkerHeartbeatReply reply;
    duty_.FillReply(reply);
    return reply;
  }
  void Supersede() {
    job_.writer.OnStored(absl::AbortedError("the state is another chief's"), now_);
  }

  WorkerDuty duty_{job_, orders_};
};

TEST_F(WorkerDutyTest, WhoRegistersIsToldTheJobAndItsTrainers) {
  const auto registration = duty_.Register(RequestOf("a", 1), /*peer=*/"", now_);
  ASSERT_TRUE(registration.ok()) << registration.status();
  const v1::RegisterWorkerReply welcome = duty_.Welcome(*registration->worker);
  EXPECT_EQ(welcome.job().job(), job_.plan.spec.job());
  ASSERT_THAT(welcome.trainers(), testing::SizeIs(1));
  EXPECT_EQ(welcome.trainers(0), Raw(registration->worker->trainers[0].id));
}

TEST_F(WorkerDutyTest, AHeartbeatIsAnsweredWithTheTrainersOfAllWorkers) {
  ASSERT_TRUE(duty_.Register(RequestOf("a", 1), /*peer=*/"", now_).ok());
  ASSERT_TRUE(duty_.Register(RequestOf("b", 2), /*peer=*/"", now_).ok());
  EXPECT_EQ(Reply().trainers(), 2u);
}

TEST_F(WorkerDutyTest, AWorkerThatSpeaksAnotherWireVersionIsRefused) {
  v1::RegisterWorkerRequest request = RequestOf("a", 1);
  request.set_wire_version(kWireVersion + 1);
  EXPECT_EQ(duty_.Register(request, /*peer=*/"", now_).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(job_.training.workers.live(), testing::IsEmpty());
}

TEST_F(WorkerDutyTest, TheEndDoesNotWaitForWorkOfAProcessThatAnotherReplaces) {
  ASSERT_TRUE(duty_.Register(RequestOf("a", 1), /*peer=*/"", now_).ok());
  EXPECT_THAT(Taken<LogEvent>(), testing::SizeIs(1));
  job_.training.end.draining = {"a", "b"};
  const auto again = duty_.Register(RequestOf("a", 2), /*peer=*/"", now_ + absl::Minutes(1));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->replaced, testing::SizeIs(1));
  EXPECT_THAT(job_.training.end.draining, testing::ElementsAre("b"));
  EXPECT_THAT(Taken<LogEvent>(), testing::SizeIs(1));
}

TEST_F(WorkerDutyTest, AWorkerThatIsHeardOfIsNotWaitedForAnyMoreAfterATakeover) {
  Worker& a = AddWorker("a");
  v1::View before;
  before.add_trainers()->set_worker("a");
  job_.takeover = Takeover(before, absl::Seconds(10), now_);
  EXPECT_EQ(duty_.Hear(HeartbeatOf(a), now_ + absl::Seconds(1)), &a);
  EXPECT_EQ(a.heard, now_ + absl::Seconds(1));
  EXPECT_FALSE(job_.takeover.Awaits("a"));
  v1::WorkerHeartbeatRequest other = HeartbeatOf(a);
  other.set_incarnation(7);
  EXPECT_EQ(duty_.Hear(other, now_), nullptr) << "another process";
}

TEST_F(WorkerDutyTest, EveryWorkerIsToldHowFarTheJobIsUnderTheChiefsSeal) {
  job_.training.progress.Update(/*examples=*/40, /*steps=*/4, now_);
  EXPECT_FALSE(Reply().known());
  EXPECT_EQ(Reply().state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(Reply().examples(), 40u);
  EXPECT_EQ(Reply().examples_seal(),
            job_.training.sealer.OfExamples(job_.placement.timeline(), 40));
}

TEST_F(WorkerDutyTest, AChiefThatIsSupersededHearsNobodyAndAsksNobodyToRegister) {
  const Worker& a = AddWorker("a");
  Supersede();
  EXPECT_EQ(duty_.Hear(HeartbeatOf(a), now_), nullptr);
  EXPECT_TRUE(Reply().known());
  EXPECT_EQ(Reply().state(), v1::JOB_STATE_UNSPECIFIED);
}

}  // namespace
}  // namespace capstan::chief
