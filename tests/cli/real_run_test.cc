// The command with the real chief, shards and workers beside it.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/cli/command.h"

namespace capstan::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RealRunTest : public CommandTest {
 protected:
  RealRunTest() {
    UseRealServices();
    WriteFile("job.yaml",
              "job: demo\n"
              "data:\n"
              "  format: synthetic\n"
              "  synthetic: {train_rows: 20000, eval_rows: 5000}\n"
              "  task_records: 2000\n"
              "model: {preset: lr}\n"
              "train: {batch_size: 100}\n"
              "checkpoint: {uri: model}\n");
  }

  // What follows `label` in `text`, up to the end of the line.
  static std::string After(const std::string& label, const std::string& text) {
    std::smatch match;
    return std::regex_search(text, match, std::regex(label + "(.*)")) ? match[1].str() : "";
  }

  // Of the newest run: waits until this process's log says `what`.
  void AwaitLog(const std::string& name, const std::string& what) {
    const std::string log = absl::StrCat("capstan-runs/latest/", name, ".log");
    AwaitThat(
        [&] { return std::filesystem::exists(log) && absl::StrContains(ReadFile(log), what); });
  }

  static void AwaitThat(absl::FunctionRef<bool()> condition) {
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (!condition()) {
      if (absl::Now() >= deadline) {
        ADD_FAILURE() << "what is waited for has not come within a minute";
        return;
      }
      absl::SleepFor(absl::Milliseconds(20));
    }
  }

  // The process of this test's folder that writes to the ports file of `name`; 0: there is none.
  static int PidOf(const std::string& name) {
    const std::string ports = absl::StrCat(
        std::filesystem::canonical("capstan-runs/latest").string(), "/", name, ".ports");
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      int pid = 0;
      if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
      std::ifstream file(entry.path() / "cmdline");
      const std::string arguments{std::istreambuf_iterator<char>(file), {}};
      if (absl::StrContains(arguments, ports)) return pid;
    }
    return 0;
  }
};

TEST_F(RealRunTest, EvaluatesAndPredictsWithTheModelItHasTrained) {
  const Result train = Run({"train", "job.yaml", "--shards", "2", "--workers", "2"});
  ASSERT_EQ(train.exit_code, 0) << train.output;
  const std::string held_out = After("  held out  ", train.output);
  const std::string model = After("  model     ", train.output);
  ASSERT_THAT(held_out, HasSubstr("AUC 0."));

  const Result evaluate = Run({"evaluate", model});
  EXPECT_EQ(evaluate.output, "5,000 examples  " + held_out + "\n");

  EXPECT_EQ(Run({"predict", model, "--output", "scores"}).exit_code, 0);
  const std::string scores = ReadFile("scores");
  EXPECT_EQ(std::count(scores.begin(), scores.end(), '\n'), 5000);
  EXPECT_THAT(scores, Not(HasSubstr("nan")));
  EXPECT_TRUE(std::filesystem::exists(After("  curve     ", train.output)));
  // A reader that goes before the end.
  const std::string piped = "bin/capstan predict " + model + " 2> said | true";
  EXPECT_EQ(std::system(("bash -o pipefail -c '" + piped + "'").c_str()), 0);
  EXPECT_EQ(ReadFile("said"), "");
}

// The first `count` records of the click log, as the model of these tests reads them.
std::string Records(const std::string& path, int count) {
  std::ifstream file(path);
  std::string records;
  std::string line;
  for (int i = 0; i < count && std::getline(file, line); ++i) records += line + "\n";
  return records;
}

TEST_F(RealRunTest, ScoresTakeThePlaceOfAFileOnlyOnceAllAreThere) {
  ASSERT_EQ(Run({"train", "job.yaml"}).exit_code, 0);
  ASSERT_EQ(Run({"data", "generate", "clicks", "--rows", "300", "--eval-rows", "0"}).exit_code, 0);
  const std::string records = Records("clicks/train.csv", 300);
  WriteFile("bad.csv", records + "no record\n");
  EXPECT_EQ(Run({"predict", "model/demo", "bad.csv", "--output", "bad.csv"}).exit_code, 2);
  EXPECT_EQ(ReadFile("bad.csv"), records + "no record\n");
  EXPECT_FALSE(std::filesystem::exists(".bad.csv.unfinished"));

  ASSERT_EQ(Run({"predict", "model/demo", "clicks/train.csv", "--output", "scores"}).exit_code, 0);
  std::filesystem::create_symlink("clicks/train.csv", "link");
  // Into the file that is read.
  EXPECT_EQ(Run({"predict", "model/demo", "clicks/train.csv", "--output", "link"}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink("link"));
  EXPECT_EQ(ReadFile("clicks/train.csv"), ReadFile("scores"));
  EXPECT_EQ(std::ranges::count(ReadFile("scores"), '\n'), 300);
  EXPECT_THAT(Run({"predict", "model/demo", "bad.csv", "--output", "nowhere/scores"}).output,
              HasSubstr("nowhere/scores: "));
}

TEST_F(RealRunTest, EvaluateTellsWhatItLeftOutAndFailsWhereNothingIsLeft) {
  ASSERT_EQ(Run({"train", "job.yaml", "--set", "data.max_bad_records=2"}).exit_code, 0);
  ASSERT_EQ(Run({"data", "generate", "clicks", "--rows", "300", "--eval-rows", "0"}).exit_code, 0);
  WriteFile("some.csv", "no record\n" + Records("clicks/train.csv", 300) + "nor this\n");
  const Result some = Run({"evaluate", "model/demo", "some.csv"});
  EXPECT_EQ(some.exit_code, 0) << "as many as the job's own evaluations: " << some.output;
  EXPECT_THAT(some.output, HasSubstr("300 examples, 2 bad records left out  "));
  EXPECT_EQ(Run({"evaluate", "model/demo", "some.csv", "--max-bad-records", "1"}).exit_code, 2);
  EXPECT_THAT(Run({"evaluate", "model/demo", "clicks/train.csv"}).output,
              Not(HasSubstr("left out")));
  WriteFile("none.csv", "no record\nnor this\n");
  const Result none = Run({"evaluate", "model/demo", "none.csv", "--max-bad-records", "5"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.output, HasSubstr("nothing is left to evaluate"));
  EXPECT_THAT(none.output, HasSubstr("none.csv:1"));
}

TEST_F(RealRunTest, WhereAJobHoldsNoRecordsOutThereIsNothingToEvaluateOrPredict) {
  const Result train = Run({"train", "job.yaml", "--set", "data.synthetic.eval_rows=0"});
  ASSERT_EQ(train.exit_code, 0) << train.output;
  EXPECT_THAT(train.output, Not(HasSubstr(" predict ")));
  for (const char* command : {"evaluate", "predict"}) {
    const Result nothing = Run({command, "model/demo"});
    EXPECT_EQ(nothing.exit_code, 2) << nothing.output;
    EXPECT_THAT(nothing.output, HasSubstr(absl::StrCat("nothing to ", command, ": the ")));
  }
}

TEST_F(RealRunTest, RefusesAModelOfWhichAByteHasChanged) {
  const Result train = Run({"train", "job.yaml"});
  ASSERT_EQ(train.exit_code, 0) << train.output;
  const std::string model = After("  model     ", train.output);
  std::string partition = ReadFile(model + "/partition-0000.capstan");
  partition.back() ^= 1;
  WriteFile(model + "/partition-0000.capstan", partition);
  const Result evaluate = Run({"evaluate", model});
  EXPECT_EQ(evaluate.exit_code, 1);
  EXPECT_THAT(evaluate.output, HasSubstr("partition-0000.capstan"));
}

TEST_F(RealRunTest, NothingOfAStrangersIsDeletedByTheChiefOrByPrune) {
  const std::string folder = "model/demo/checkpoints";
  std::filesystem::create_directories(folder + "/photos");
  std::filesystem::create_directories(folder + "/2024-photos");
  std::filesystem::create_directories(folder + "/000000000001-mine");
  WriteFile(folder + "/photos/a.jpg", "cat");
  WriteFile(folder + "/2024-photos/a.jpg", "dog");
  WriteFile(folder + "/000000000001-mine/partition-0000.capstan", "half a checkpoint");
  WriteFile("elsewhere", "mine");
  std::filesystem::create_symlink("../../../elsewhere", folder + "/000000000002-link");
  std::filesystem::create_symlink("../../../../elsewhere", folder + "/2024-photos/MANIFEST.json");

  const Result train = Run({"train", "job.yaml", "--set", "checkpoint.every=1s", "--set",
                            "checkpoint.keep=1", "--set", "train.epochs=20"});
  ASSERT_EQ(train.exit_code, 0) << train.output;
  EXPECT_FALSE(std::filesystem::exists(folder + "/000000000001-mine/partition-0000.capstan"));

  const std::string model = After("  model     ", train.output);
  const std::string step = std::filesystem::path(model).filename().string();
  WriteFile(model + "/notes.txt", "the best so far");
  std::filesystem::create_directories(folder + "/000000000003-half");
  WriteFile(folder + "/000000000003-half/partition-0000.capstan", "half a checkpoint");
  const Result list = Run({"checkpoint", "list", folder});
  EXPECT_THAT(list.output, HasSubstr("left alone: 2024-photos (it holds a.jpg)"));
  EXPECT_THAT(list.output, HasSubstr("left alone: photos (its name is not <step>-<id>)"));
  EXPECT_THAT(list.output, HasSubstr("never deleted: " + step + " (it holds notes.txt"));
  const Result unknown = Run({"checkpoint", "prune", folder, "--exempt", "1-x", "--yes"});
  EXPECT_EQ(unknown.exit_code, 2) << unknown.output;
  EXPECT_THAT(unknown.output, HasSubstr("--exempt 1-x: there is no such checkpoint; there are "));
  ASSERT_TRUE(std::filesystem::exists(folder + "/000000000003-half/partition-0000.capstan"));
  const Result exempt =
      Run({"checkpoint", "prune", folder, "--keep", "1", "--exempt", "3-half", "--yes"});
  EXPECT_EQ(exempt.exit_code, 0) << exempt.output;
  ASSERT_TRUE(std::filesystem::exists(folder + "/000000000003-half/partition-0000.capstan"));
  const Result prune = Run({"checkpoint", "prune", folder, "--keep", "1", "--yes"});
  ASSERT_EQ(prune.exit_code, 0) << prune.output;
  EXPECT_LT(prune.output.find("would delete 000000000003-half"),
            prune.output.find("\ndeleted 000000000003-half"));
  EXPECT_EQ(ReadFile(folder + "/000000000003-half/MANIFEST.json"), "") << "given up";

  EXPECT_EQ(ReadFile(folder + "/photos/a.jpg"), "cat");
  EXPECT_EQ(ReadFile(folder + "/2024-photos/a.jpg"), "dog");
  EXPECT_EQ(ReadFile(folder + "/2024-photos/MANIFEST.json"), "mine");
  EXPECT_EQ(ReadFile(folder + "/000000000002-link"), "mine");
  EXPECT_EQ(ReadFile(model + "/notes.txt"), "the best so far");
  EXPECT_EQ(Run({"evaluate", model}).exit_code, 0);

  const Result job = Run({"checkpoint", "prune", "model/demo", "--yes"});
  EXPECT_EQ(job.exit_code, 0) << job.output;
  EXPECT_THAT(job.output, HasSubstr("checkpoints to delete"));
  EXPECT_THAT(Run({"checkpoint", "list", "model/demo"}).output, HasSubstr(step));
  EXPECT_TRUE(std::filesystem::exists("model/demo/state/chief.json"));

  std::filesystem::create_directory_symlink(folder, "link");
  EXPECT_THAT(Run({"checkpoint", "prune", "link"}).output, Not(HasSubstr("no job's state")));
  std::filesystem::remove("model/demo/state/chief.json");
  EXPECT_THAT(Run({"checkpoint", "prune", "link"}).output,
              HasSubstr("no job's state (state/chief.json) is beside link: which checkpoints a job "
                        "needs is not known; --exempt ID keeps one\n"));
}

TEST_F(RealRunTest, TakesTheModelOfAJobWhoseFolderIsNamed) {
  const Result train = Run({"train", "job.yaml"});
  ASSERT_EQ(train.exit_code, 0) << train.output;
  const std::string held_out = After("  held out  ", train.output);
  for (const char* folder : {"model/demo", "model/demo/checkpoints", "model"}) {
    const Result evaluate = Run({"evaluate", folder});
    EXPECT_EQ(evaluate.exit_code, 0);
    EXPECT_THAT(evaluate.output, HasSubstr("capstan: taking the model model/demo/checkpoints/"));
    EXPECT_THAT(evaluate.output, HasSubstr(held_out));
  }
  EXPECT_EQ(Run({"checkpoint", "verify", "model/demo"}).exit_code, 0);
  const Result next = Run({"train", "job.yaml", "--set", "job=next", "--from", "model/demo"});
  EXPECT_EQ(next.exit_code, 0) << next.output;
  EXPECT_THAT(next.output, HasSubstr("capstan: taking the model model/demo/checkpoints/"));
}

TEST_F(RealRunTest, TellsTheStatusOfAFinishedJobFromItsFolderAtOnce) {
  const Result train = Run({"train", "job.yaml"});
  ASSERT_EQ(train.exit_code, 0) << train.output;
  const absl::Time begun = absl::Now();
  for (const std::vector<std::string>& ask :
       std::vector<std::vector<std::string>>{{"status"}, {"status", "model/demo"}}) {
    const Result status = Run(ask);
    EXPECT_EQ(status.exit_code, 0) << status.output;
    EXPECT_THAT(status.output, HasSubstr("demo  completed"));
    EXPECT_THAT(status.output, HasSubstr("20,000 of 20,000"));
    EXPECT_THAT(status.output, Not(HasSubstr("waiting")));
  }
  EXPECT_EQ(Run({"top"}).exit_code, 0);
  EXPECT_LT(absl::Now() - begun, absl::Seconds(10));
}

TEST_F(RealRunTest, TellsOfAFinishedJobThoughItsChiefEndsBeforeItIsAsked) {
  ASSERT_EQ(Run({"train", "job.yaml"}).exit_code, 0);
  std::filesystem::remove("bin/chief");
  WriteFile("bin/chief",
            "#!/bin/sh\n"
            "while [ \"$1\" != --ports-file ]; do shift; done\n"
            "echo '{\"data\": 1, \"health\": 1, \"metrics\": 1}' > \"$2\"\n"
            "sleep 1\n");
  std::filesystem::permissions("bin/chief", std::filesystem::perms::owner_all);
  const Result again = Run({"train", "job.yaml"});
  EXPECT_EQ(again.exit_code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("had been done before, in "));
  EXPECT_THAT(again.output, HasSubstr(": 20,000 examples"));
  EXPECT_THAT(again.output, HasSubstr("  held out  AUC 0."));
  EXPECT_TRUE(std::filesystem::exists(After("  model     ", again.output))) << again.output;
}

TEST_F(RealRunTest, AJobOfAProgramIsRefusedWithoutTheCommandOfItsWorkers) {
  WriteFile("job.yaml",
            "job: demo\n"
            "data: {format: synthetic, synthetic: {train_rows: 20000}}\n"
            "model: {user: deepfm.py}\n");
  const Result result = Run({"train", "job.yaml"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output,
            "job.yaml: model.user: this job is computed by deepfm.py; say how its workers are "
            "started: --worker 'python3 deepfm.py'\n");
}

TEST_F(RealRunTest, MoreEpochsGoOnFromAFinishedJob) {
  for (const char* policy : {"async", "sync"}) {
    const std::string model = absl::StrCat("checkpoint.uri=", policy);
    const std::string update = absl::StrCat("update.dense.policy=", policy);
    ASSERT_EQ(Run({"train", "job.yaml", "--set", model, "--set", update}).exit_code, 0);
    const Result more =
        Run({"train", "job.yaml", "--set", model, "--set", update, "--set", "train.epochs=3"});
    EXPECT_EQ(more.exit_code, 0) << more.output;
    EXPECT_THAT(more.output, HasSubstr("goes on from checkpoint "));
    EXPECT_THAT(more.output, HasSubstr("60,000 examples"));
    EXPECT_THAT(ReadFile("capstan-runs/latest/chief.log"), HasSubstr("examples=20000"));
    EXPECT_THAT(more.output, Not(HasSubstr("recovered")));
  }
}

TEST_F(RealRunTest, SaysInWordsThatTheLossHasExploded) {
  const Result train = Run({"train", "job.yaml", "--set", "optimizer.sparse.kind=sgd", "--set",
                            "optimizer.sparse.learning_rate=1000000"});
  EXPECT_THAT(train.output, HasSubstr("warning: the held-out logloss is "));
  EXPECT_THAT(train.output, HasSubstr("a lower learning rate"));
}

TEST_F(RealRunTest, RefusesAFolderWithoutAModel) {
  EXPECT_EQ(Run({"evaluate", "nowhere"}).exit_code, 2);
  EXPECT_EQ(Run({"predict", "nowhere", "test.csv"}).exit_code, 2);
}

TEST_F(RealRunTest, SaysThatThePortIsTaken) {
  const int taken = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(taken, 1), 0);
  ASSERT_EQ(getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string port = absl::StrCat(ntohs(address.sin_port));
  const Result result = Run({"train", "job.yaml", "--chief-port", port});
  close(taken);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("demo failed: cannot listen on 127.0.0.1:" + port +
                                       ": the port is in use, by"));
}

TEST_F(RealRunTest, WhoIsKilledIsStartedAgainAndTheJobGoesOn) {
  Process train = Start({"train", "job.yaml", "--set", "train.epochs=10"});
  for (const char* name : {"ps-0", "worker-0", "chief"}) {
    AwaitLog(name, "started");
    const int first = PidOf(name);
    ASSERT_GT(first, 0) << name;
    kill(first, SIGKILL);
    AwaitThat([&] { return PidOf(name) > 0 && PidOf(name) != first; });
  }
  const Result result = Await(train);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  for (const char* name : {"ps-0", "worker-0", "chief"}) {
    EXPECT_THAT(result.output, HasSubstr(absl::StrCat(name, " died: signal 9 (Killed); it is")));
  }
  EXPECT_THAT(result.output, HasSubstr("200,000 examples"));
}

TEST_F(RealRunTest, AJobThatIsStoppedIsSavedAndGoesOnWhenItIsStartedAgain) {
  WriteFile("job.yaml",
            "job: demo\n"
            "data: {format: synthetic, synthetic: {train_rows: 20000}, task_records: 2000}\n"
            "model: {preset: lr}\n"
            "train: {batch_size: 100}\n");
  const std::vector<std::string> command = {"train", "job.yaml", "--plain", "--set",
                                            "train.epochs=12"};
  Process train = Start(command);
  AwaitLog("chief", "training begins");
  absl::SleepFor(absl::Seconds(1));  // Something is trained.
  train.Signal(SIGINT);
  const Result stopped = Await(train);
  EXPECT_EQ(stopped.exit_code, 1);
  const std::string saved = After("  saved     ", stopped.output);
  EXPECT_TRUE(std::filesystem::exists(saved + "/MANIFEST.json")) << stopped.output;
  EXPECT_THAT(saved, HasSubstr("capstan-runs/jobs/demo/checkpoints/"));
  EXPECT_EQ(After("  go on     .*/capstan ", stopped.output),
            "train job.yaml --shards 1 --workers 1 --set train.epochs=12");
  const Result again = Run(command);
  EXPECT_EQ(again.exit_code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("goes on from checkpoint " + saved));
  EXPECT_THAT(again.output, HasSubstr("240,000 examples"));
}

TEST_F(RealRunTest, ShowsTheStatusOfTheRunOfThisFolderAndStopsIt) {
  Process train = Start({"train", "job.yaml", "--set", "train.epochs=1000"});
  Result status;
  for (int i = 0; i < 300 && status.exit_code != 0; ++i) {
    absl::SleepFor(absl::Milliseconds(50));
    absl::StatusOr<Process> ask =
        Process::Start({.argv = {"bin/capstan", "status", "--json"}, .log_path = "status"});
    ASSERT_TRUE(ask.ok());
    status.exit_code = ask->WaitFor(absl::Seconds(30)).value_or(Ending{.exit_code = -1}).exit_code;
    status.output = ReadFile("status");
    std::filesystem::remove("status");
  }
  EXPECT_THAT(status.output, HasSubstr("\"job\":\"demo\""));
  // Its folder knows where its chief is.
  const Result by_folder = Run({"status", "model/demo"});
  EXPECT_EQ(by_folder.exit_code, 0);
  EXPECT_THAT(by_folder.output,
              testing::AllOf(HasSubstr("demo  "), Not(HasSubstr("nobody trains"))));
  // The last run is also the one that `shards` asks.
  absl::StatusOr<Process> shards =
      Process::Start({.argv = {"bin/capstan", "shards"}, .log_path = "shards"});
  ASSERT_TRUE(shards.ok());
  EXPECT_EQ(shards->WaitFor(absl::Seconds(30)).value_or(Ending{.exit_code = -1}).exit_code, 0);
  // A script that waits for the end must not take its own interruption for it.
  absl::StatusOr<Process> watch =
      Process::Start({.argv = {"bin/capstan", "status", "--watch"}, .log_path = "watch"});
  ASSERT_TRUE(watch.ok());
  AwaitThat([this] { return !ReadFile("watch").empty(); });
  watch->Signal(SIGTERM);
  EXPECT_EQ(watch->WaitFor(absl::Seconds(30)).value_or(Ending{.exit_code = -1}).exit_code, 3);
  train.Signal(SIGTERM);
  const Result result = Await(train);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, Not(HasSubstr("killed")));
}

}  // namespace
}  // namespace capstan::cli
