#include "chief/duties/state_duty.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

// The job that a chief has stored, and the one that the next makes of it.
class StateDutyTest : public DutyTest {
 protected:
  StateDutyTest() { Run(2); }

  struct Successor {
    Successor(const v1::ChiefState& state, StateDutyTest& test,
              const std::vector<CheckpointFacts>& checkpoints = {})
        : job({.term = 6, .run_id = 2, .seal_key = "another key", .shards = 2}, PlanOf(TenTasks()),
              {.state = state, .checkpoints = checkpoints}, test.now_),
          duty(job, test.orders_) {
      duty.Inherit(state, test.now_);
    }
    // The states that are to be stored since the last call.
    std::vector<v1::ChiefState> Stored() {
      std::vector<v1::ChiefState> stored;
      for (const Action& action : job.outbox.Take()) {
        if (const auto* store = std::get_if<StoreState>(&action)) stored.push_back(store->state);
      }
      return stored;
    }

    JobContext job;
    StateDuty duty;
  };

  // What is stored of the job as it runs.
  v1::ChiefState StateOfNow() const {
    v1::ChiefState state;
    state.set_state(v1::JOB_STATE_RUNNING);
    state.set_first_timeline(job_.recovery.first_timeline);
    state.set_seal_key("the key");
    *state.mutable_view() = job_.placement.views.current();
    *state.mutable_progress() = job_.training.ProgressOfNow();
    return state;
  }
  void Give(const Worker& worker) {
    EXPECT_TRUE(job_.training.work.tasks()->Grant(worker.trainers[0].id, generations_));
  }

  StateDuty duty_{job_, orders_};
  Generations generations_{5};
};

TEST_F(StateDutyTest, AChiefGoesOnWhereTheOneBeforeEnded) {
  const TrainerId trainer{7};
  const v1::Lease task = *job_.training.work.tasks()->Grant(trainer, generations_);
  job_.training.work.Report({&trainer, 1}, Crew::Done(task));
  const Successor next(StateOfNow(), *this);
  EXPECT_EQ(next.job.state, v1::JOB_STATE_RUNNING);
  EXPECT_EQ(next.job.training.work.totals().done, 1u);
  EXPECT_EQ(next.job.placement.timeline(), job_.placement.timeline());
  EXPECT_EQ(next.job.recovery.next_timeline, job_.placement.timeline() + 1);
  EXPECT_EQ(next.job.training.sealer.key(), "the key");
  EXPECT_THAT(next.job.takeover.Awaited({2, 8}), testing::ElementsAre(0u, 1u));
}

TEST_F(StateDutyTest, WithOtherDataAJobIsRestoredAndNeverTakenForANewOne) {
  v1::ChiefState state = StateOfNow();
  state.mutable_progress()->set_tasks_fingerprint(1);
  state.mutable_progress()->set_begun(3);
  Successor next(state, *this);
  EXPECT_EQ(next.job.state, v1::JOB_STATE_PENDING);
  EXPECT_EQ(next.job.training.work.totals().done, 0u);
  next.duty.RefreshView(now_);
  const std::vector<v1::ChiefState> stored = next.Stored();
  ASSERT_THAT(stored, testing::SizeIs(1));
  EXPECT_EQ(stored[0].state(), v1::JOB_STATE_RESTORING);
}

TEST_F(StateDutyTest, ACompletedJobIsNotBegunAgain) {
  v1::ChiefState state = StateOfNow();
  state.set_state(v1::JOB_STATE_COMPLETED);
  state.set_reason("early stop");
  state.set_model_uri("/models/test/checkpoints/x");
  const Successor next(state, *this);
  EXPECT_EQ(next.job.state, v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(next.job.reason, "early stop");
  EXPECT_EQ(next.job.model_uri, "/models/test/checkpoints/x");
  EXPECT_TRUE(next.job.takeover.settled()) << "no shard is waited for";
}

TEST_F(StateDutyTest, WhateverAJobGoesOnFromLeasesOfTheChiefBeforeAreWaitedFor) {
  CrewOptions options = TenTasks();
  options.replicas = 1;
  for (const v1::JobState before :
       {v1::JOB_STATE_PENDING, v1::JOB_STATE_RESTORING, v1::JOB_STATE_RUNNING,
        v1::JOB_STATE_COMPLETED, v1::JOB_STATE_FAILED}) {
    v1::ChiefState state = StateOfNow();
    state.set_state(before);
    for (const uint64_t term : {uint64_t{1}, uint64_t{6}}) {
      JobContext next({.term = term, .run_id = 2, .seal_key = "another key", .shards = 2},
                      PlanOf(options), {.state = state}, now_);
      StateDuty(next, orders_).Inherit(state, now_);
      const ShardLease& lease = next.placement.hearing.lease();
      EXPECT_EQ(lease.IsOver(100, now_ + absl::Seconds(20)), term == 1) << before;
      EXPECT_TRUE(lease.IsOver(100, now_ + absl::Seconds(21))) << before;
    }
  }
}

TEST_F(StateDutyTest, AStopOutlivesTheChiefThatWasToldOfIt) {
  v1::ChiefState state = StateOfNow();
  state.set_state(v1::JOB_STATE_CHECKPOINTING);
  state.set_reason("stopped: enough");
  const Successor next(state, *this);
  EXPECT_EQ(next.job.state, v1::JOB_STATE_RUNNING) << "the end begins anew";
  EXPECT_EQ(next.job.stop, "stopped: enough");
}

TEST_F(StateDutyTest, AStopOutlivesTheChiefThatWasToldOfItOnTheWayToACheckpoint) {
  v1::ChiefState state = StateOfNow();
  state.set_state(v1::JOB_STATE_RESTORING);
  state.set_reason("stopped: enough");
  Successor next(state, *this);
  EXPECT_EQ(next.job.state, v1::JOB_STATE_PENDING);
  EXPECT_EQ(next.job.stop, "stopped: enough");
  next.duty.RefreshView(now_);
  const std::vector<v1::ChiefState> stored = next.Stored();
  ASSERT_THAT(stored, testing::SizeIs(1));
  EXPECT_EQ(stored[0].reason(), "stopped: enough") << "for the chief after that";
}

TEST_F(StateDutyTest, WhyAJobHasFailedDoesNotStopItWhenItIsStartedAgain) {
  v1::ChiefState state = StateOfNow();
  state.set_state(v1::JOB_STATE_FAILED);
  state.set_reason("the model cannot be saved");
  EXPECT_EQ(Successor(state, *this).job.stop, "");
}

TEST_F(StateDutyTest, TheNextMapOfABegunJobIsOverTheShardsThatItHadHoweverManyChiefsCome) {
  for (const v1::JobState before : {v1::JOB_STATE_RESTORING, v1::JOB_STATE_FAILED}) {
    v1::ChiefState state = StateOfNow();
    state.set_state(before);
    Successor next(state, *this);
    EXPECT_THAT(next.job.placement.next_map, testing::ElementsAre(0u, 1u));
    next.duty.RefreshView(now_);
    const std::vector<v1::ChiefState> stored = next.Stored();
    ASSERT_THAT(stored, testing::SizeIs(1));
    EXPECT_THAT(stored[0].view().owners(), testing::IsEmpty());
    const Successor after(stored[0], *this);
    EXPECT_THAT(after.job.placement.next_map, testing::ElementsAre(0u, 1u));
  }
  EXPECT_THAT(Successor(StateOfNow(), *this).job.placement.next_map, testing::IsEmpty())
      << "its map is that of before";
}

TEST_F(StateDutyTest, WhichShardsHaveShownTheirNumberIsKnownHoweverManyChiefsCome) {
  for (const v1::JobState before :
       {v1::JOB_STATE_PENDING, v1::JOB_STATE_RUNNING, v1::JOB_STATE_FAILED}) {
    v1::ChiefState state = StateOfNow();
    state.set_state(before);
    state.add_numbered_shards(1);
    Successor next(state, *this);
    EXPECT_THAT(next.job.placement.shards.numbered(), testing::ElementsAre(1u));
    next.job.placement.shards.NoteNumbered(0);
    next.duty.RefreshView(now_);
    const std::vector<v1::ChiefState> stored = next.Stored();
    ASSERT_THAT(stored, testing::SizeIs(1));
    EXPECT_THAT(stored[0].numbered_shards(), testing::ElementsAre(0u, 1u));
  }
}

TEST_F(StateDutyTest, NobodyHearsOfOwnersBeforeTheyAreStored) {
  v1::ChiefState claimed;
  claimed.set_state(v1::JOB_STATE_PENDING);
  claimed.set_first_timeline(6);
  Successor next(claimed, *this);
  next.job.placement.views.MakeMap(8, {0, 1});
  next.job.placement.views.SetTimeline(next.job.recovery.next_timeline++);
  next.duty.RefreshView(now_);
  const std::vector<v1::ChiefState> stored = next.Stored();
  ASSERT_THAT(stored, testing::SizeIs(1));
  EXPECT_EQ(stored[0].view().timeline(), 6u);
  EXPECT_THAT(next.job.placement.gate.published().owners(), testing::IsEmpty());
  next.duty.OnStored(absl::OkStatus(), now_);
  next.duty.RefreshView(now_);
  EXPECT_THAT(next.job.placement.gate.published().owners(), testing::SizeIs(8));
}

TEST_F(StateDutyTest, NoTimelineIsBegunTwiceThoughNoViewHasNamedIt) {
  Successor next(StateOfNow(), *this);
  next.job.recovery.next_timeline = 9;
  next.duty.RefreshView(now_);
  const std::vector<v1::ChiefState> stored = next.Stored();
  ASSERT_THAT(stored, testing::SizeIs(1));
  const Successor after(stored[0], *this);
  EXPECT_EQ(after.job.recovery.next_timeline, 9u);
}

TEST_F(StateDutyTest, ThatMoreWasClosedThanIsKeptIsStoredForTheNextChief) {
  Successor next(StateOfNow(), *this);
  next.job.training.closes.log().GiveUp();
  next.duty.RefreshView(now_);
  const std::vector<v1::ChiefState> stored = next.Stored();
  ASSERT_THAT(stored, testing::SizeIs(1));
  EXPECT_FALSE(Successor(stored[0], *this).job.training.closes.log().whole());
  EXPECT_TRUE(Successor(StateOfNow(), *this).job.training.closes.log().whole());
}

TEST_F(StateDutyTest, WhatEarlierChiefsTrainedSinceTheLastCheckpointCountsForTheNext) {
  v1::ChiefState state = StateOfNow();
  state.set_elapsed_seconds(30);
  const CheckpointFacts own{.id = "own", .timeline = 5, .at = now_ - absl::Seconds(50)};
  CheckpointFacts earlier = own;
  earlier.timeline = 4;  // Of an earlier run.
  const Successor with(state, *this, {own});
  EXPECT_FALSE(with.job.checkpoints.checkpointer.Due(now_ + absl::Seconds(9)));
  EXPECT_TRUE(with.job.checkpoints.checkpointer.Due(now_ + absl::Seconds(10)));
  const Successor without(state, *this, {earlier});
  EXPECT_FALSE(without.job.checkpoints.checkpointer.Due(now_ + absl::Seconds(29)));
  EXPECT_TRUE(without.job.checkpoints.checkpointer.Due(now_ + absl::Seconds(30)));
}

TEST_F(StateDutyTest, ATrainerThatBeginsJoinsTheQuorumAtTheClockOfTheSlowest) {
  Worker& a = AddWorker("a");
  Worker& b = AddWorker("b");
  Give(a);
  duty_.RefreshView(now_);
  a.trainers[0].clock = 100;
  Give(b);
  duty_.RefreshViewOf(a, now_);
  EXPECT_FALSE(b.trainers[0].training) << "it is the other whose leases may have changed";
  duty_.RefreshViewOf(b, now_);
  EXPECT_TRUE(b.trainers[0].training);
  EXPECT_EQ(b.trainers[0].start_clock, 100u);
  EXPECT_THAT(job_.placement.views.current().trainers(), testing::IsEmpty())
      << "this job is not ssp";
  EXPECT_THAT(job_.placement.views.ToStore(job_.training.workers).trainers(), testing::SizeIs(2))
      << "whom the next chief waits for";
}

TEST_F(StateDutyTest, OfAChiefThatIsSupersededNothingIsLeftButWhatItLogs) {
  const auto is_log = [](const Action& action) { return std::holds_alternative<LogEvent>(action); };
  Successor next(StateOfNow(), *this);
  next.duty.RefreshView(now_);
  EXPECT_THAT(next.duty.TakeActions(), testing::Contains(testing::Not(testing::Truly(is_log))));
  EXPECT_THAT(next.duty.TakeActions(), testing::IsEmpty()) << "they are taken once";
  next.duty.OnStored(absl::AbortedError("the state is another chief's"), now_);
  next.job.AddCurvePoint({}, now_);
  const std::vector<Action> left = next.duty.TakeActions();
  EXPECT_THAT(left, testing::SizeIs(1));
  EXPECT_THAT(left, testing::Each(testing::Truly(is_log)));
}

}  // namespace
}  // namespace capstan::chief
