#include "cli/status/status_view.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/terminal/format.h"

namespace capstan::cli {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

v1::GetStatusReply Parse(const std::string& text) {
  v1::GetStatusReply status;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &status));
  return status;
}

v1::GetStatusReply Running() {
  return Parse(R"pb(
    job: "demo"
    state: JOB_STATE_RUNNING
    progress: 0.625
    eta_seconds: 67
    elapsed_seconds: 100
    examples: 625000
    examples_expected: 1000000
    global_step: 610
    examples_per_second: 6250
    loss: 0.44125
    staleness_median: 2
    staleness_max: 7
    bad_records: 0
    evaluations {
      examples: 500000
      at_round_boundary: true
      metrics { key: "auc" value: 0.77123 }
      metrics { key: "logloss" value: 0.4512 }
    }
    workers {
      name: "worker-0"
      state: "active"
      examples_per_second: 5100
      step_seconds: 0.012
      report { compute_seconds: 0.3 pull_seconds: 0.1 }
    }
    workers {
      name: "worker-1"
      state: "active"
      examples_per_second: 1150
      step_seconds: 0.045
      lag: 3
      straggler: true
    }
    shards {
      index: 0
      state: "serving"
      pushes_per_second: 120
      pulls_per_second: 119
      report { rows: 573116 parameter_bytes: 67108864 gradients_dropped: 4 gradients_refused: 2 }
    }
  )pb");
}

std::string Screen(const v1::GetStatusReply& status, const ViewOptions& options) {
  return absl::StrJoin(RenderScreen(status, {0.7, 0.5}, options), "\n");
}

TEST(StatusViewTest, RowsThatAreJudgedForThemselvesHaveAStalenessOfTheirOwn) {
  v1::GetStatusReply status = Running();
  for (int shard = 0; shard < 2; ++shard) {
    v1::ShardReport& report = *status.add_shards()->mutable_report();
    for (uint64_t count : {10, 0, 0, 0, 3}) report.add_row_staleness_counts(count);
    report.set_max_row_staleness(shard == 0 ? 4 : 5);
  }
  EXPECT_THAT(RenderLine(status),
              testing::HasSubstr("staleness median 2, max 7; of rows median 0, max 5"));
}

TEST(RenderScreenTest, ShowsEveryFact) {
  EXPECT_EQ(Screen(Running(), {.width = 80}),
            "demo  running  epoch 1  1m 40s\n"
            "████████████████████████████▊░░░░░░░░░░░░░░░░░  62.5 %  ETA 1m 07s\n"
            "\n"
            "examples   625,000 of 1,000,000  6.25 k/s\n"
            "step       610\n"
            "loss       0.4412  █▁\n"
            "held out   AUC 0.7712  logloss 0.4512  after 500,000\n"
            "staleness  median 2, max 7\n"
            "\n"
            "worker    state   examples/s     step  behind  mostly\n"
            "worker-0  active      5.10 k  12.0 ms       0  compute 75 %\n"
            "worker-1  active      1.15 k  45.0 ms       3                straggler\n"
            "\n"
            "shard  state    pushes/s  pulls/s     rows    memory  dropped  refused\n"
            "ps-0   serving       120      119  573,116  64.0 MiB        4        2");
}

TEST(RenderScreenTest, NeverExceedsTheWidth) {
  for (int width : {40, 47, 80, 200}) {
    for (const std::string& line :
         RenderScreen(Running(), {0.7, 0.5}, {.width = width, .color = true})) {
      EXPECT_LE(Cells(line), static_cast<size_t>(width)) << line;
    }
  }
}

TEST(RenderScreenTest, ShowsTheTroubledWorkersWhenNotAllFit) {
  v1::GetStatusReply status = Running();
  for (int i = 2; i < 100; ++i) {
    v1::WorkerStatus& worker = *status.add_workers();
    worker.set_name(absl::StrCat("worker-", i));
    worker.set_state(i == 77 ? "lost" : "active");
  }
  const auto lines = RenderScreen(status, {}, {.width = 80, .height = 24});
  EXPECT_LE(lines.size(), 24u);
  EXPECT_THAT(lines, Contains(HasSubstr("worker-1 ")));
  EXPECT_THAT(lines, Contains(HasSubstr("worker-77")));
  EXPECT_THAT(lines, Contains(HasSubstr("more; together 99 active, 1 lost")));
  EXPECT_THAT(lines, Contains(HasSubstr("ps-0")));
}

TEST(RenderScreenTest, FitsTheLowestTerminal) {
  EXPECT_LE(RenderScreen(Running(), {}, {.width = 80, .height = 6}).size(), 6u);
}

TEST(RenderScreenTest, SaysWhyAJobFailed) {
  v1::GetStatusReply status = Running();
  status.set_state(v1::JOB_STATE_FAILED);
  status.set_reason("the loss is NaN");
  const std::string screen = Screen(status, {});
  EXPECT_THAT(screen, HasSubstr("demo  failed"));
  EXPECT_THAT(screen, HasSubstr("because    the loss is NaN"));
}

TEST(RenderScreenTest, SaysThatNothingIsHeardOfAWorkerInPlaceOfItsRate) {
  v1::GetStatusReply status = Running();
  status.mutable_workers(1)->set_state("silent");
  status.mutable_workers(1)->set_silent_seconds(7);
  EXPECT_THAT(Screen(status, {}), HasSubstr("no word for 7s"));
  EXPECT_THAT(RenderLine(status), HasSubstr("worker-1 no word for 7s"));
}

TEST(RenderScreenTest, SaysThatAJobWaitsWhereNoShardIsThere) {
  v1::GetStatusReply status = Running();
  status.mutable_shards(0)->set_state("lost");
  EXPECT_THAT(Screen(status, {}), HasSubstr("demo  waiting"));
  EXPECT_THAT(RenderLine(status), HasSubstr("1m 40s waiting"));
  status.add_shards()->set_state("serving");
  EXPECT_THAT(Screen(status, {}), HasSubstr("demo  running"));
}

TEST(RenderScreenTest, ShowsTheFirstBadRecord) {
  v1::GetStatusReply status = Running();
  status.set_bad_records(3);
  status.add_bad_record_examples("a.csv:12: 39 columns, expected 40");
  EXPECT_THAT(Screen(status, {}),
              HasSubstr("bad data   3 bad records, the first: a.csv:12: 39 columns, expected 40"));
}

TEST(RenderScreenTest, ShowsAWarningWholeHoweverNarrowItIs) {
  v1::GetStatusReply status = Running();
  status.add_warnings("the training loss is 2.958e+05, and guessing would have 0.6931");
  const auto lines = RenderScreen(status, {}, {.width = 50});
  EXPECT_THAT(lines, Contains("warning    the training loss is 2.958e+05, and"));
  EXPECT_THAT(lines, Contains("           guessing would have 0.6931"));
}

TEST(RenderScreenTest, DoesNotShowALossBeforeTheFirstReport) {
  v1::GetStatusReply status = Running();
  status.set_loss(0);
  EXPECT_THAT(Screen(status, {}), HasSubstr("loss       not known yet"));
  EXPECT_THAT(RenderLine(status), HasSubstr("loss not known yet"));
}

TEST(RenderScreenTest, SaysThatALiveEvaluationIsLive) {
  v1::GetStatusReply status = Running();
  status.mutable_evaluations(0)->set_at_round_boundary(false);
  EXPECT_THAT(Screen(status, {}), HasSubstr("after 500,000, live"));
}

TEST(RenderScreenTest, ShowsHowTheEvaluationsWent) {
  v1::GetStatusReply status = Running();
  v1::Evaluation& last = *status.add_evaluations();
  last = status.evaluations(0);
  (*last.mutable_metrics())["auc"] = 0.79;
  (*last.mutable_metrics())["calibration"] = 1;
  last.set_final(true);
  EXPECT_THAT(Screen(status, {}),
              HasSubstr("held out   AUC 0.7900  logloss 0.4512  ▁█  at the end"));
}

TEST(RenderScreenTest, ShowsTheFurtherScopesOfHeldOutRecordsBelowTheFirst) {
  v1::GetStatusReply status = Running();
  (*status.mutable_evaluations(0)->mutable_metrics())["recent/auc"] = 0.71;
  (*status.mutable_evaluations(0)->mutable_metrics())["recent/logloss"] = 0.5;
  const std::string screen = Screen(status, {});
  EXPECT_THAT(screen, HasSubstr("\n  recent  AUC 0.7100  logloss 0.5000\n"));
  EXPECT_THAT(RenderLine(status), Not(HasSubstr("0.7100")));
}

TEST(RenderScreenTest, LetsNoNameCommandTheTerminal) {
  v1::GetStatusReply status = Running();
  status.mutable_workers(0)->set_name("\x1b[2Jevil");
  EXPECT_THAT(Screen(status, {}), Not(HasSubstr("\x1b")));
}

TEST(RenderScreenTest, ShowsAJobThatHasNotBegun) {
  const std::string screen = Screen(Parse("state: JOB_STATE_PENDING eta_seconds: -1"), {});
  EXPECT_THAT(screen, HasSubstr("pending"));
  EXPECT_THAT(screen, HasSubstr("ETA not known yet"));
}

TEST(RenderLineTest, TellsTheSameFactsInOneLine) {
  EXPECT_EQ(RenderLine(Running()),
            "1m 40s running 62.5 %, ETA 1m 07s | 625,000 of 1,000,000 examples, 6.25 k/s | "
            "loss 0.4412 | AUC 0.7712  logloss 0.4512 | staleness median 2, max 7 | "
            "worker-0 5.10 k/s, worker-1 1.15 k/s straggler | ps-0 120 pushes/s | "
            "dropped 4 gradients as too stale, refused 2 requests");
}

TEST(RenderLineTest, KeepsTheDigitsOfALabelWhoseUnitIsSmall) {
  v1::GetStatusReply status = Running();
  status.set_loss(2.5e-9);
  status.mutable_evaluations(0)->clear_metrics();
  (*status.mutable_evaluations(0)->mutable_metrics())["rmse"] = 1.2346e-7;
  EXPECT_THAT(RenderLine(status), HasSubstr(" | loss 2.5e-09 | RMSE 1.235e-07 | "));
}

TEST(RenderLineTest, SumsUpManyWorkersButNamesStragglers) {
  v1::GetStatusReply status = Running();
  for (int i = 2; i < 20; ++i) status.add_workers()->set_state("idle");
  EXPECT_THAT(RenderLine(status), HasSubstr("workers 2 active, 18 idle, straggler worker-1"));
}

}  // namespace
}  // namespace capstan::cli
