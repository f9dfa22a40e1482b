#include "worker/session/worker_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <utility>

namespace capstan::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kTrainer = 5;
const absl::Time kBegin = absl::UnixEpoch() + absl::Hours(2);

// The chief is told whenever a hundred examples have been trained.
ProgressGrain GrainOfAHundred() {
  v1::JobSpec job;
  job.mutable_train()->set_max_steps(6400);
  job.mutable_train()->set_batch_size(1);
  return ProgressGrain(job);
}

v1::RegisterWorkerReply Registration() {
  v1::RegisterWorkerReply reply;
  reply.add_trainers(kTrainer);
  reply.mutable_job()->mutable_lease()->set_heartbeat_seconds(1);
  return reply;
}

v1::View ViewOf(uint64_t n, uint64_t shard_incarnation) {
  v1::View view;
  view.mutable_epoch()->set_term(1);
  view.mutable_epoch()->set_n(n);
  view.set_timeline(1);
  view.add_owners(0);
  view.add_shards()->set_incarnation(shard_incarnation);
  return view;
}

// A trainer of no leases.
class IdleTrainer final : public TrainerWork {
 public:
  HeldLeases& leases() override { return leases_; }
  void OnView(const v1::View& view, const std::vector<ShardIndex>& restarted) override {
    views.push_back(view.epoch().n());
    restarted_last = restarted;
  }
  double StepSeconds() const override { return 0.25; }

  std::vector<uint64_t> views;
  std::vector<ShardIndex> restarted_last;

 private:
  TrainerClock clock_;
  HeldLeases leases_{TrainerId{kTrainer}, clock_,
                     [](const v1::Lease&) { return std::unique_ptr<LeaseWork>(); }};
};

class WorkerMachineTest : public ::testing::Test, public WorkerShell {
 protected:
  WorkerMachineTest() { machine_.AddTrainer(TrainerId{kTrainer}, trainer_); }

  void SendHeartbeat(const v1::WorkerHeartbeatRequest& request) override {
    heartbeats_.push_back(request);
  }
  void SendRegistration(const v1::RegisterWorkerRequest& request) override {
    registrations_.push_back(request);
  }
  v1::WorkerReport MakeReport() override { return {}; }
  uint64_t trained() const override { return trained_; }

  std::optional<WorkerEnd> TurnAt(absl::Duration since) { return machine_.Turn(kBegin + since); }
  void AnswerHeartbeat(bool known, uint64_t trainers = 1) {
    v1::WorkerHeartbeatReply reply;
    reply.set_known(known);
    reply.set_trainers(trainers);
    machine_.OnHeartbeat(reply, kBegin);
  }
  void BecomeUnknown() {
    TurnAt(absl::ZeroDuration());
    AnswerHeartbeat(/*known=*/false);
  }

  uint64_t trained_ = 0;
  std::vector<v1::WorkerHeartbeatRequest> heartbeats_;
  std::vector<v1::RegisterWorkerRequest> registrations_;
  IdleTrainer trainer_;
  WorkerMachine machine_{
      {.name = "w-0", .incarnation = Incarnation{77}, .progress_grain = GrainOfAHundred()},
      Registration(),
      *this};
};

TEST_F(WorkerMachineTest, TheFirstTurnTellsTheChiefOfItsTrainers) {
  EXPECT_EQ(TurnAt(absl::ZeroDuration()), std::nullopt);
  ASSERT_EQ(heartbeats_.size(), 1u);
  ASSERT_EQ(heartbeats_[0].trainers_size(), 1);
  EXPECT_TRUE(heartbeats_[0].trainers(0).wants_lease());
  EXPECT_EQ(heartbeats_[0].trainers(0).step_seconds(), 0.25);
}

TEST_F(WorkerMachineTest, AHeartbeatThatIsNoNumberDoesNotMakeTheWorkerSilent) {
  v1::RegisterWorkerReply registration = Registration();
  registration.mutable_job()->mutable_lease()->set_heartbeat_seconds(
      std::numeric_limits<double>::quiet_NaN());
  WorkerMachine machine(
      {.name = "w-1", .incarnation = Incarnation{78}, .progress_grain = GrainOfAHundred()},
      registration, *this);
  machine.AddTrainer(TrainerId{kTrainer}, trainer_);
  machine.Turn(kBegin);
  ASSERT_EQ(heartbeats_.size(), 1u);
  v1::WorkerHeartbeatReply reply;
  reply.set_known(true);
  reply.set_trainers(1);
  machine.OnHeartbeat(reply, kBegin);
  machine.Turn(kBegin + absl::Seconds(1));
  EXPECT_EQ(heartbeats_.size(), 2u);
}

TEST_F(WorkerMachineTest, OneHeartbeatIsUnderWayAtATime) {
  TurnAt(absl::ZeroDuration());
  TurnAt(absl::Seconds(10));
  EXPECT_EQ(heartbeats_.size(), 1u);
}

TEST_F(WorkerMachineTest, TrainersHearOfNewerViewsOnlyAndOfShardsThatRestarted) {
  machine_.OnView(ViewOf(2, /*shard_incarnation=*/8));
  EXPECT_THAT(trainer_.restarted_last, IsEmpty());
  machine_.OnView(ViewOf(1, /*shard_incarnation=*/7));
  machine_.OnView(ViewOf(3, /*shard_incarnation=*/9));
  EXPECT_THAT(trainer_.views, ElementsAre(2, 3));
  EXPECT_THAT(trainer_.restarted_last, ElementsAre(ShardIndex{0}));
}

TEST_F(WorkerMachineTest, AViewWithoutOwnersDoesNotReplaceOneThatNamesThem) {
  machine_.OnView(ViewOf(2, /*shard_incarnation=*/8));
  v1::View of_a_new_chief = ViewOf(3, /*shard_incarnation=*/8);
  of_a_new_chief.clear_owners();
  machine_.OnView(of_a_new_chief);
  EXPECT_THAT(trainer_.views, ElementsAre(2));
  EXPECT_EQ(machine_.view().epoch().n(), 2u);
}

TEST_F(WorkerMachineTest, TellsAheadOfTheHeartbeatWhenItsShareOfTheGrainIsTrained) {
  TurnAt(absl::ZeroDuration());
  AnswerHeartbeat(/*known=*/true, /*trainers=*/2);
  trained_ = 49;
  TurnAt(absl::Milliseconds(10));
  EXPECT_EQ(heartbeats_.size(), 1u);
  trained_ = 50;
  TurnAt(absl::Milliseconds(10));
  EXPECT_EQ(heartbeats_.size(), 2u);
}

TEST_F(WorkerMachineTest, RegistersAgainWithItsTrainersWhenTheChiefDoesNotKnowIt) {
  BecomeUnknown();
  ASSERT_EQ(registrations_.size(), 1u);
  EXPECT_EQ(registrations_[0].incarnation(), 77u);
  EXPECT_THAT(registrations_[0].trainers(), ElementsAre(kTrainer));
  machine_.OnRegistered(Registration());
  EXPECT_EQ(TurnAt(absl::Seconds(1)), std::nullopt);
  EXPECT_EQ(heartbeats_.size(), 2u);
}

TEST_F(WorkerMachineTest, GoesOnAndAsksAgainWhileTheChiefIsAway) {
  BecomeUnknown();
  machine_.OnRegistered(absl::UnavailableError("no chief"));
  EXPECT_EQ(TurnAt(absl::Seconds(2)), std::nullopt);
  AnswerHeartbeat(/*known=*/false);
  EXPECT_EQ(registrations_.size(), 2u);
}

TEST_F(WorkerMachineTest, KeepsItsLeasesAndAsksAgainWhenTheChiefHasNoRoomForItYet) {
  BecomeUnknown();
  machine_.OnRegistered(absl::ResourceExhaustedError("too many workers in a short time"));
  EXPECT_EQ(TurnAt(absl::Seconds(2)), std::nullopt);
  AnswerHeartbeat(/*known=*/false);
  EXPECT_EQ(registrations_.size(), 2u);
}

TEST_F(WorkerMachineTest, KeepsItsLeasesAndAsksAgainWhenTheCallWasReset) {
  BecomeUnknown();
  machine_.OnRegistered(absl::InternalError("RST_STREAM with error code 2"));
  EXPECT_EQ(TurnAt(absl::Seconds(2)), std::nullopt);
  AnswerHeartbeat(/*known=*/false);
  EXPECT_EQ(registrations_.size(), 2u);
}

TEST_F(WorkerMachineTest, IsUnknownWhenTheChiefHasOtherTrainersForItOrAnotherJob) {
  BecomeUnknown();
  v1::RegisterWorkerReply other_trainers = Registration();
  other_trainers.set_trainers(0, kTrainer + 1);
  machine_.OnRegistered(other_trainers);
  EXPECT_EQ(TurnAt(absl::Seconds(1)), WorkerEnd::kUnknown);
  v1::RegisterWorkerReply other_job = Registration();
  other_job.mutable_job()->mutable_train()->set_max_steps(9);
  machine_.OnRegistered(other_job);
  EXPECT_EQ(TurnAt(absl::Seconds(1)), WorkerEnd::kUnknown);
}

TEST_F(WorkerMachineTest, HasDrainedWhenTheChiefHasBeenToldThatItLeaves) {
  machine_.Drain(kBegin + absl::Seconds(4));
  EXPECT_EQ(TurnAt(absl::ZeroDuration()), std::nullopt);
  AnswerHeartbeat(/*known=*/true);
  EXPECT_EQ(TurnAt(absl::Milliseconds(1)), WorkerEnd::kDrained);
}

TEST_F(WorkerMachineTest, HasDrainedAtTheDeadlineThoughNobodyAnswers) {
  machine_.Drain(kBegin + absl::Seconds(4));
  EXPECT_EQ(TurnAt(absl::Seconds(3)), std::nullopt);
  EXPECT_EQ(machine_.NextTurn(), kBegin + absl::Seconds(4));
  EXPECT_EQ(TurnAt(absl::Seconds(4)), WorkerEnd::kDrained);
}

TEST_F(WorkerMachineTest, ACopyGoesOnFromWhereTheOtherIsAndByItself) {
  machine_.OnView(ViewOf(/*n=*/2, /*shard_incarnation=*/9));
  TurnAt(absl::ZeroDuration());
  IdleTrainer trainer_of_copy;
  WorkerMachine copy(machine_, *this);
  copy.AddTrainer(TrainerId{kTrainer}, trainer_of_copy);
  EXPECT_EQ(copy.session().DebugString(), machine_.session().DebugString());
  EXPECT_EQ(copy.Turn(kBegin + absl::Seconds(9)), std::nullopt);
  EXPECT_EQ(heartbeats_.size(), 1u) << "it waits for the answer to the same heartbeat";
  copy.OnView(ViewOf(/*n=*/2, /*shard_incarnation=*/9));
  copy.OnView(ViewOf(/*n=*/3, /*shard_incarnation=*/9));
  EXPECT_THAT(trainer_of_copy.views, ElementsAre(3));
  EXPECT_THAT(trainer_.views, ElementsAre(2));
}

}  // namespace
}  // namespace capstan::worker
