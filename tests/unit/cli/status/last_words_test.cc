#include "cli/status/last_words.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_join.h"

namespace capstan::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

v1::GetStatusReply Trained() {
  v1::GetStatusReply status;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        progress: 0.625
        elapsed_seconds: 100
        examples: 625000
        evaluations { metrics { key: "auc" value: 0.77123 } }
        shards { report { gradients_dropped: 4 gradients_refused: 2 } }
      )pb",
      &status));
  return status;
}

TEST(LastWordsTest, SayWhatCameOutAndWhereItIs) {
  v1::GetStatusReply status = Trained();
  status.set_model_uri("/runs/demo/model");
  status.set_curve_uri("/runs/demo/curve.csv");
  const std::string words =
      absl::StrJoin(LastWords(status, {.job_file = "job.yaml", .shards = 2, .workers = 3}), "\n");
  EXPECT_THAT(words, HasSubstr("done in 1m 40s: 625,000 examples, 6.25 k/s"));
  EXPECT_THAT(words, HasSubstr("held out  AUC 0.7712"));
  EXPECT_THAT(words, HasSubstr("model     /runs/demo/model"));
  EXPECT_THAT(words, HasSubstr("curve     /runs/demo/curve.csv"));
  EXPECT_THAT(words, HasSubstr("capstan predict /runs/demo/model"));
  EXPECT_THAT(words, HasSubstr("capstan train job.yaml --shards 2 --workers 4 --fresh"));
  EXPECT_THAT(words, HasSubstr("--workers 3 --set train.epochs=2"));
  EXPECT_THAT(words, Not(HasSubstr("warning")));
  EXPECT_THAT(LastWords(status, {.worked = false})[1], HasSubstr("had been done before"));
  EXPECT_THAT(absl::StrJoin(LastWords(status, {.held_out = false}), "\n"),
              Not(HasSubstr("capstan predict")));
}

TEST(LastWordsTest, AModelOfTheUsersOwnProgramIsServedByIt) {
  v1::GetStatusReply status = Trained();
  status.set_model_uri("/runs/demo/model");
  LastWordsOptions options{.worker = "python3 deepfm.py"};
  const auto words = [&] { return absl::StrJoin(LastWords(status, options), "\n"); };
  EXPECT_THAT(words(),
              HasSubstr("  capstan serve /runs/demo/model --program 'python3 deepfm.py'    "
                        "# scores over HTTP"));
  EXPECT_THAT(words(), Not(HasSubstr("capstan predict")));
  options.held_out = false;  // Then it may have no predict.
  EXPECT_THAT(words(), Not(HasSubstr("capstan serve")));
}

TEST(LastWordsTest, SayWhatWasOdd) {
  v1::GetStatusReply status = Trained();
  status.add_losses()->set_examples(40);
  status.add_losses()->set_examples(2000);
  status.set_bad_records(1);
  status.add_bad_record_examples("a.csv:12: no number");
  status.add_warnings("the held-out logloss is 2.958e+05");
  EXPECT_THAT(absl::StrJoin(LastWords(status, {}), "\n"),
              HasSubstr("\nrecovered 2 times, and trained 2,040 examples again\n"
                        "dropped 4 gradients as too stale, refused 2 requests\n"
                        "1 bad record, the first: a.csv:12: no number\n"
                        "warning: the held-out logloss is 2.958e+05\n"));
}

TEST(LastWordsTest, SuggestWhatRunsAsPrintedWithTheSettingsOfTheUser) {
  v1::GetStatusReply status = Trained();
  status.set_model_uri("/my runs/model");
  const std::string words =
      absl::StrJoin(LastWords(status, {.program = "build/bin/capstan",
                                       .job_file = "job.yaml",
                                       .overrides = {"data.train=a b.csv", "train.epochs=1"}}),
                    "\n");
  EXPECT_THAT(words, HasSubstr("  build/bin/capstan predict '/my runs/model'    #"));
  EXPECT_THAT(words,
              HasSubstr("  build/bin/capstan train job.yaml --shards 1 --workers 2 "
                        "--set 'data.train=a b.csv' --set train.epochs=1 --fresh    # one worker "
                        "more"));
  EXPECT_THAT(words, HasSubstr("--set 'data.train=a b.csv' --set train.epochs=2    #"));
}

TEST(LastWordsTest, AJobThatIsBegunAnewBeginsWithWhatItBeganWith) {
  v1::GetStatusReply status = Trained();
  const LastWordsOptions options{.job_file = "job.yaml", .from = "old/model"};
  const auto stopped = [&] {
    return absl::StrJoin(StopWords(status, absl::NotFoundError("no checkpoint"), options), "\n");
  };
  EXPECT_THAT(stopped(), HasSubstr("begin anew  capstan train job.yaml --shards 1 --workers 1 "
                                   "--from old/model"));
  status.mutable_checkpoint()->set_uri("out/demo/checkpoints/7");
  EXPECT_THAT(stopped(), Not(HasSubstr("--from"))) << "it goes on";
  status.set_model_uri("out/demo/model");
  EXPECT_THAT(absl::StrJoin(LastWords(status, options), "\n"),
              HasSubstr("--workers 2 --from old/model --fresh    # one worker more"));
}

TEST(LastWordsTest, SayHowManyExamplesAreSavedOfAJobThatWentOnWhileItWasSaved) {
  v1::GetStatusReply status = Trained();
  status.set_examples(1'601'624);
  status.mutable_checkpoint()->set_uri("out/demo/checkpoints/7");
  status.mutable_checkpoint()->set_examples(1'589'864);
  const std::string words =
      absl::StrJoin(StopWords(status, std::string("out/demo/checkpoints/7"), {}), "\n");
  EXPECT_THAT(words, HasSubstr(": 1,601,624 examples, 1,589,864 of them saved\n"));
  EXPECT_THAT(words, HasSubstr("  saved     out/demo/checkpoints/7\n"));
}

TEST(LastWordsTest, SuggestThePortOfTheChiefAndTheCertificatesOfThisRun) {
  EXPECT_THAT(absl::StrJoin(LastWords(Trained(), {.chief_port = 7000, .tls = "my certs"}), "\n"),
              HasSubstr(" --chief-port 7000 --tls 'my certs'    # one worker more"));
}

TEST(LastWordsTest, SuggestToGoOnInTheFolderOfTheRun) {
  const std::string words =
      absl::StrJoin(LastWords(Trained(), {.job_file = "job.yaml", .run_folder = "my run"}), "\n");
  EXPECT_THAT(words, HasSubstr("--workers 2 --run-dir 'my run'    # one worker more"));
  EXPECT_THAT(words, HasSubstr("--run-dir 'my run' --set train.epochs=2    # one epoch more"));
}

TEST(StopWordsTest, OfAJobThatCannotBeSavedSayWhyAndWhatIsKept) {
  v1::GetStatusReply status = Trained();
  status.mutable_checkpoint()->set_uri("out/demo/checkpoints/7");
  status.mutable_checkpoint()->set_examples(1000);
  const LastWordsOptions options{.job_file = "job.yaml"};
  EXPECT_THAT(StopWords(status, absl::UnavailableError("the bucket\x1b[2J is away"), options),
              ElementsAre("", "stopped at 62.5 %: 625,000 examples", "",
                          "  not saved the bucket?[2J is away",
                          "  kept      out/demo/checkpoints/7, of 1,000 examples",
                          "  go on     capstan train job.yaml --shards 1 --workers 1"));
  EXPECT_THAT(StopWords(status, absl::FailedPreconditionError("it was not training"), options)[3],
              HasSubstr("kept"))
      << "nothing was to be saved";
}

TEST(StopWordsTest, DoNotTellExamplesOfACheckpointThatIsNotTheSavedOne) {
  v1::GetStatusReply status = Trained();
  status.mutable_checkpoint()->set_uri("out/demo/checkpoints/7");
  status.mutable_checkpoint()->set_examples(1000);
  EXPECT_EQ(StopWords(status, std::string("out/demo/checkpoints/8"), {})[1],
            "stopped at 62.5 %: 625,000 examples");
}

TEST(LastWordsTest, LetNoTextOfTheJobCommandTheTerminal) {
  v1::GetStatusReply status = Trained();
  status.set_reason("stopped by \x1b[31mx");
  status.set_curve_uri("/m\x07");
  (*status.mutable_evaluations(0)->mutable_metrics())["a\x1b/auc"] = 0.5;
  status.add_warnings("odd\x1b");
  const std::string words =
      absl::StrJoin(LastWords(status, {.job_file = "a\nb.yaml", .worker = "x\x1by"}), "\n");
  EXPECT_EQ(words.find('\x1b'), words.npos) << words;
  EXPECT_EQ(words.find('\x07'), words.npos) << words;
  EXPECT_THAT(words, HasSubstr(" train 'a b.yaml' "));
}

TEST(LastWordsTest, OfAJobThatWasMeasuredInNoTimeHaveNoRateThatIsNoNumber) {
  v1::GetStatusReply status = Trained();
  status.set_elapsed_seconds(0);
  EXPECT_EQ(LastWords(status, {})[1], "done in 0s: 625,000 examples, 0/s");
}

TEST(LastWordsTest, AProgramOfTheUserIsStartedAsItWas) {
  v1::GetStatusReply status = Trained();
  status.set_model_uri("/m");
  const std::string words = absl::StrJoin(LastWords(status, {.job_file = "job.yaml",
                                                             .overrides = {"a=1"},
                                                             .worker = "env X=1 python3 it's.py",
                                                             .keep_going = true}),
                                          "\n");
  EXPECT_THAT(words, HasSubstr("--worker 'env X=1 python3 it'\\''s.py' --set a=1 --keep-going"));
  EXPECT_THAT(words, Not(HasSubstr("capstan predict"))) << "which computes no program's model";
}

}  // namespace
}  // namespace capstan::cli
