#include "chief/duties/report_duty.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "capstan/consistency/generation.h"
#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

// The job bears three bad records.
class ReportDutyTest : public DutyTest {
 protected:
  explicit ReportDutyTest(uint32_t lanes = 0)
      : DutyTest(CrewOptions{.tasks = 10, .eval_tasks = 1, .lanes = lanes, .max_bad_records = 3}) {
    Run(2);
  }

  // The worker is given the next task, or the evaluation's.
  v1::Lease Task(const Worker& worker) {
    v1::Lease lease = *job_.training.work.tasks()->Grant(worker.trainers[0].id, generations_);
    lease.set_timeline(job_.placement.timeline());
    return lease;
  }
  v1::Lease Evaluation(const Worker& worker) {
    v1::Lease lease = *job_.training.evaluations.Grant(worker.trainers[0].id, generations_);
    lease.set_timeline(job_.placement.timeline());
    return lease;
  }
  // What the worker says of task 3, which it holds as it was sealed under this generation.
  v1::LeaseReport OfTask3(const Worker& worker, Generation generation) {
    generation.seal = job_.training.sealer.OfTask(job_.placement.timeline(), worker.trainers[0].id,
                                                  StreamId::Task(0, 3), generation);
    v1::LeaseReport report;
    report.set_kind(v1::LEASE_KIND_TASK);
    report.set_stream(StreamId::Task(0, 3).value);
    report.set_trainer(Raw(worker.trainers[0].id));
    report.set_timeline(job_.placement.timeline());
    ToProto(generation, *report.mutable_generation());
    return report;
  }

  ReportDuty duty_{job_, orders_};
  Generations generations_{5};
};

class LaneReportDutyTest : public ReportDutyTest {
 protected:
  LaneReportDutyTest() : ReportDutyTest(/*lanes=*/2) {}
};

TEST_F(ReportDutyTest, WhatWasTrainedInAnOlderTimelineCountsForNothing) {
  Worker& a = AddWorker("a");
  v1::LeaseReport report = Crew::Done(Task(a));
  report.set_timeline(job_.placement.timeline() - 1);
  duty_.Take(a, report);
  EXPECT_EQ(job_.training.work.totals().done, 0u);
  report.set_timeline(job_.placement.timeline());
  duty_.Take(a, report);
  EXPECT_EQ(job_.training.work.totals().done, 1u);
}

TEST_F(ReportDutyTest, ALossThatIsNotANumberCountsNowhereAndFailsTheJobByTheWordOfTwo) {
  Worker& a = AddWorker("a");
  Worker& b = AddWorker("b");
  v1::LeaseReport report = Crew::Done(Task(a));
  report.set_loss_sum(std::numeric_limits<double>::quiet_NaN());
  duty_.Take(a, report);
  EXPECT_EQ(job_.state, v1::JOB_STATE_RUNNING);
  EXPECT_EQ(job_.training.work.totals().todo, 10u);
  EXPECT_EQ(job_.training.progress.loss(), std::nullopt);
  EXPECT_EQ(duty_.retries(), 1u);

  report = Crew::Done(Task(b));
  report.set_loss_sum(std::numeric_limits<double>::infinity());
  duty_.Take(b, report);
  EXPECT_EQ(job_.state, v1::JOB_STATE_FAILED);
  EXPECT_THAT(job_.reason, testing::HasSubstr("the loss is not finite"));
}

TEST_F(ReportDutyTest, OneBadRecordMoreThanTheJobBearsWantsASecondWord) {
  Worker& a = AddWorker("a");
  Worker& b = AddWorker("b");
  v1::LeaseReport report = Crew::Done(Task(a));
  report.set_bad_records(3);
  report.add_bad_record_examples("train.csv:7");
  duty_.Take(a, report);
  EXPECT_EQ(job_.training.bad_records.count(), 3u);

  report = Crew::Done(Task(a));
  report.set_bad_records(1);
  duty_.Take(a, report);
  EXPECT_EQ(job_.training.work.totals().done, 1u) << "another one is to read it";
  EXPECT_EQ(job_.state, v1::JOB_STATE_RUNNING);

  report = Crew::Done(Task(b));
  report.set_bad_records(1);
  duty_.Take(b, report);
  EXPECT_EQ(job_.failure_kind, v1::FAILURE_KIND_BAD_INPUT);
  EXPECT_EQ(job_.reason,
            "4 bad records, more than data.max_bad_records = 3; the first: train.csv:7");
}

TEST_F(LaneReportDutyTest, TheTasksOfALaneBeforeTheOneInDoubtCount) {
  Worker& a = AddWorker("a");
  AddWorker("b");
  job_.training.work.lanes()->Assign(a.trainer_ids(), generations_);
  v1::Lease lane = job_.training.work.LeasesOf(a.trainers[0].id)[0];
  job_.training.work.lanes()->NameTasks(lane);
  lane.set_timeline(job_.placement.timeline());
  v1::LeaseReport report = Crew::Done(lane);
  ASSERT_THAT(report.lane_tasks_done(), testing::SizeIs(5));
  report.mutable_lane_tasks_done(2)->set_bad_records(4);
  duty_.Take(a, report);
  EXPECT_EQ(job_.training.work.totals().done, 2u);
  EXPECT_EQ(job_.training.bad_records.count(), 0u);
  EXPECT_TRUE(job_.training.accusations.Has({v1::LEASE_KIND_LANE, lane.lane(), 2}, "a"));
  EXPECT_EQ(job_.state, v1::JOB_STATE_RUNNING);
}

TEST_F(ReportDutyTest, AnEvaluationWhoseDataCannotBeReadIsGivenUpAndTheJobGoesOn) {
  Worker& a = AddWorker("a");
  job_.training.BeginEvaluation(/*at_barrier=*/false, /*final=*/false, now_);
  for (int attempt = 0; attempt < 2; ++attempt) {
    ASSERT_TRUE(job_.training.evaluations.running());
    v1::LeaseReport report = Crew::Partly(Evaluation(a), 0);
    report.set_error("test.csv: gone");
    report.set_bad_data(true);
    duty_.Take(a, report);
  }
  EXPECT_FALSE(job_.training.evaluations.running());
  EXPECT_EQ(job_.state, v1::JOB_STATE_RUNNING);
  EXPECT_THAT(Warning("evaluation"), testing::HasSubstr("the job goes on: test.csv: gone"));
}

TEST_F(ReportDutyTest, AProgramThatFailsInAnEvaluationFailsTheJob) {
  Worker& a = AddWorker("a");
  job_.training.BeginEvaluation(/*at_barrier=*/false, /*final=*/false, now_);
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_EQ(job_.state, v1::JOB_STATE_RUNNING);
    v1::LeaseReport report = Crew::Partly(Evaluation(a), 0);
    report.set_error("the program fails");
    report.mutable_user_code()->set_type("ValueError");
    report.mutable_user_code()->set_place("deepfm.py:31");
    report.mutable_user_code()->set_message("bad shape");
    duty_.Take(a, report);
  }
  EXPECT_EQ(job_.state, v1::JOB_STATE_FAILED);
  EXPECT_THAT(job_.reason, testing::HasSubstr(
                               "deepfm.py:31: ValueError: bad shape (in the program of worker a"));
}

// The reason is stored with the job's state, which could not be written with half a character.
TEST_F(ReportDutyTest, OfWhatAProgramSaysNoCharacterOfSeveralBytesIsCut) {
  std::string long_text;
  for (int i = 0; i < 600; ++i) long_text += "\xC3\xA9";
  Worker& a = AddWorker("a");
  job_.training.BeginEvaluation(/*at_barrier=*/false, /*final=*/false, now_);
  for (int attempt = 0; attempt < 2; ++attempt) {
    v1::LeaseReport report = Crew::Partly(Evaluation(a), 0);
    report.set_error("the program fails");
    report.mutable_user_code()->set_type("ValueError");
    report.mutable_user_code()->set_place("deepfm.py:31");
    report.mutable_user_code()->set_message(absl::StrCat("x", long_text.substr(0, 800)));
    report.mutable_user_code()->set_traceback(absl::StrCat(long_text, "x"));
    duty_.Take(a, report);
  }
  EXPECT_THAT(job_.reason,
              testing::HasSubstr(absl::StrCat("ValueError: x", long_text.substr(0, 498), " (in")));
  EXPECT_THAT(job_.reason,
              testing::HasSubstr(absl::StrCat("traceback: ", long_text.substr(0, 998), "x)")));
}

TEST_F(ReportDutyTest, AProgramThatFailsElsewhereEachTimeFailsTheJobAtTheSameWork) {
  Worker& a = AddWorker("a");
  job_.training.BeginEvaluation(/*at_barrier=*/false, /*final=*/false, now_);
  for (int attempt = 0; attempt < job_.options.max_task_failures; ++attempt) {
    EXPECT_EQ(job_.state, v1::JOB_STATE_RUNNING);
    v1::LeaseReport report = Crew::Partly(Evaluation(a), 0);
    report.set_error("the program hangs");
    report.mutable_user_code()->set_type("hangs");
    report.mutable_user_code()->set_place(absl::StrCat("deepfm.py:", attempt));
    duty_.Take(a, report);
  }
  EXPECT_EQ(job_.state, v1::JOB_STATE_FAILED);
  EXPECT_THAT(job_.reason, testing::HasSubstr("deepfm.py:2: hangs"));
}

TEST_F(ReportDutyTest, ALeaseOfAnEarlierChiefIsAdoptedByItsSeal) {
  Worker& a = AddWorker("a");
  v1::LeaseReport report = OfTask3(a, {.term = 4, .count = 7});
  const uint64_t seal = report.generation().seal();
  report.mutable_generation()->set_seal(seal + 1);
  duty_.Take(a, report);
  EXPECT_FALSE(job_.training.work.Holds(a.trainers[0].id)) << "anybody could say so";
  report.mutable_generation()->set_seal(seal);
  duty_.Take(a, report);
  EXPECT_TRUE(job_.training.work.Holds(a.trainers[0].id));
}

TEST_F(ReportDutyTest, TheSealOfOneTrainersLeaseIsOfNoUseToAnother) {
  Worker& a = AddWorker("a");
  Worker& b = AddWorker("b");
  v1::LeaseReport report = OfTask3(a, {.term = 4, .count = 7});
  report.set_trainer(Raw(b.trainers[0].id));
  duty_.Take(b, report);
  EXPECT_FALSE(job_.training.work.Holds(b.trainers[0].id));
}

TEST_F(ReportDutyTest, WhatWouldFailTheJobWantsASecondWordOfAdoptedLeasesToo) {
  Worker& a = AddWorker("a");
  AddWorker("b");
  v1::LeaseReport report = OfTask3(a, {4, 9});
  report.set_finished(true);
  report.set_bad_records(4);
  duty_.Take(a, report);
  EXPECT_EQ(job_.state, v1::JOB_STATE_RUNNING) << job_.reason;
  EXPECT_EQ(job_.training.bad_records.count(), 0u);
  EXPECT_EQ(job_.training.work.totals().done, 0u);
  EXPECT_TRUE(
      job_.training.accusations.Has({v1::LEASE_KIND_TASK, StreamId::Task(0, 3).value}, "a"));
}

TEST_F(LaneReportDutyTest, SoItIsWithALane) {
  Worker& a = AddWorker("a");
  AddWorker("b");
  Generation generation{4, 9};
  generation.seal =
      job_.training.sealer.OfLane(job_.placement.timeline(), a.trainers[0].id, 1, generation);
  v1::LeaseReport report;
  report.set_kind(v1::LEASE_KIND_LANE);
  report.set_lane(1);
  report.set_trainer(Raw(a.trainers[0].id));
  report.set_timeline(job_.placement.timeline());
  ToProto(generation, *report.mutable_generation());
  v1::LaneTaskDone& done = *report.add_lane_tasks_done();
  done.set_ordinal(0);
  done.set_bad_records(4);
  duty_.Take(a, report);
  EXPECT_EQ(job_.state, v1::JOB_STATE_RUNNING) << job_.reason;
  EXPECT_EQ(job_.training.bad_records.count(), 0u);
  EXPECT_TRUE(job_.training.accusations.Has({v1::LEASE_KIND_LANE, 1, 0}, "a"));
}

TEST_F(ReportDutyTest, NoLeaseIsAdoptedThatIsAnothersOrOfThisTermOrTakenBack) {
  Worker& a = AddWorker("a");
  Worker& b = AddWorker("b");
  duty_.Take(b, OfTask3(a, {.term = 4, .count = 7}));
  EXPECT_FALSE(job_.training.work.Holds(a.trainers[0].id));
  duty_.Take(a, OfTask3(a, {.term = 5, .count = 99}));
  EXPECT_FALSE(job_.training.work.Holds(a.trainers[0].id))
      << "this chief knows what it has granted";
  job_.BeginEnd("");
  duty_.Take(a, OfTask3(a, {.term = 4, .count = 7}));
  EXPECT_FALSE(job_.training.work.Holds(a.trainers[0].id));
}

}  // namespace
}  // namespace capstan::chief
