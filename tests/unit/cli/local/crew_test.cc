// A crew whose programs are scripts. tests/cli/train_test.cc has the command around it.
#include "cli/local/crew.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "tests/lib/test_folder.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr absl::Duration kCrewPatience = absl::Seconds(30);

class CrewTest : public testing::Test {
 protected:
  CrewTest() {
    for (const char* program : {"chief", "ps", "worker"}) Write(program, "exec sleep 600");
  }

  // Lets one of the programs note its arguments in `trace` and do this. A chief also says that it
  // listens.
  void Write(const std::string& program, const std::string& script) {
    const std::string listens =
        "while [ \"$1\" != --ports-file ]; do shift; done; echo '{\"data\": 41001}' > \"$2\"\n";
    const std::string path = programs_.Write(
        program, absl::StrCat("#!/bin/sh\necho ", program, " \"$*\" >> ", programs_.Path("trace"),
                              "\n", program == "chief" ? listens : "", script, "\n"));
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  CrewOptions Options() const { return {.programs = programs_.path(), .job = "job.yaml"}; }

  // The lines of the trace, once there are so many that begin with `program`.
  std::vector<std::string> Trace(const std::string& program, size_t count) {
    std::vector<std::string> lines;
    const absl::Time deadline = absl::Now() + kCrewPatience;
    while (lines.size() < count && absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(10));
      std::ifstream file(programs_.Path("trace"));
      const std::string text(std::istreambuf_iterator<char>(file), {});
      lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
      std::erase_if(
          lines, [&](const std::string& line) { return !absl::StartsWith(line, program + " "); });
    }
    return lines;
  }

  // What the crew tells once it tells anything.
  static absl::StatusOr<std::vector<std::string>> News(Crew& crew) {
    const absl::Time deadline = absl::Now() + kCrewPatience;
    while (absl::Now() < deadline) {
      absl::StatusOr<std::vector<std::string>> news = crew.LookAfter();
      if (!news.ok() || !news->empty()) return news;
      absl::SleepFor(absl::Milliseconds(10));
    }
    return std::vector<std::string>();
  }

  const TestFolder programs_;
  const RunFolder folder_ = *RunFolder::Make(programs_.Path("run"), "demo");
  const Shutdown shutdown_;
};

TEST_F(CrewTest, EachIsToldWhatItIsAndWhereTheChiefListens) {
  CrewOptions options = Options();
  options.shards = 2;
  options.overrides = {"train.epochs=2", "job=a b"};
  Crew crew(options, folder_, shutdown_);
  ASSERT_EQ(crew.Start(), absl::OkStatus());
  EXPECT_EQ(crew.chief_address(), "127.0.0.1:41001");
  EXPECT_THAT(Trace("chief", 1), ElementsAre(HasSubstr("--job job.yaml --listen 127.0.0.1:")));
  EXPECT_THAT(Trace("chief", 1)[0], HasSubstr("--shards 2 --exit-when-done --set train.epochs=2 "
                                              "--set job=a b"));
  EXPECT_THAT(Trace("ps", 2)[0], HasSubstr("--chief 127.0.0.1:41001 --index "));
  EXPECT_THAT(Trace("worker", 1)[0],
              HasSubstr("--chief 127.0.0.1:41001 --name worker-0 --host 127.0.0.1"));
  std::vector<std::string> names;
  for (const auto& [name, process] : crew.processes()) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("chief", "ps-0", "ps-1", "worker-0"));
  EXPECT_THAT(*crew.LookAfter(), IsEmpty());
  EXPECT_FALSE(crew.chief_ending().has_value());
}

TEST_F(CrewTest, AChiefThatEndsWhileItStartsIsToBlame) {
  programs_.Write("chief", "#!/bin/sh\nexit 3\n");
  Crew crew(Options(), folder_, shutdown_);
  EXPECT_EQ(crew.Start(), absl::AbortedError("chief ended with exit code 3 while starting"));
  EXPECT_EQ(crew.culprit_log(), folder_.Log("chief"));
  EXPECT_EQ(crew.chief_ending()->exit_code, 3);
  EXPECT_THAT(crew.Stop(kCrewPatience), IsEmpty());
}

TEST_F(CrewTest, AChiefThatIsStartedAgainListensWhereItDidAndBeginsNothingAnew) {
  CrewOptions options = Options();
  options.fresh = true;
  options.from = "old/model";
  options.take_over = true;
  Crew crew(options, folder_, shutdown_);
  ASSERT_EQ(crew.Start(), absl::OkStatus());
  EXPECT_THAT(Trace("chief", 1)[0], HasSubstr("--from old/model --take-over"));
  EXPECT_THAT(Trace("chief", 1)[0], HasSubstr("--fresh-once run-"));
  kill(crew.processes().at("chief"), SIGKILL);
  EXPECT_THAT(*News(crew), ElementsAre(StartsWith("chief died: signal 9 (Killed); it is started "
                                                  "again (")));
  for (const absl::Time deadline = absl::Now() + kCrewPatience;
       !crew.processes().contains("chief") && absl::Now() < deadline;) {
    EXPECT_THAT(*crew.LookAfter(), IsEmpty());
    absl::SleepFor(absl::Milliseconds(10));
  }
  const std::string again = Trace("chief", 2).back();
  EXPECT_THAT(again, HasSubstr("--listen 127.0.0.1:41001 "));
  EXPECT_THAT(again, Not(HasSubstr("--fresh-once")));
  EXPECT_THAT(again, Not(HasSubstr("--from")));
  EXPECT_THAT(again, Not(HasSubstr("--take-over")));
}

TEST_F(CrewTest, OnceTheChiefHasEndedByItselfNobodyIsMissed) {
  Write("chief", "sleep 0.1; exit 0");
  Write("ps", "exit 5");
  Crew crew(Options(), folder_, shutdown_);
  ASSERT_EQ(crew.Start(), absl::OkStatus());
  const absl::Time deadline = absl::Now() + kCrewPatience;
  while (!crew.chief_ending().has_value() && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  ASSERT_TRUE(crew.chief_ending().has_value());
  EXPECT_EQ(crew.chief_ending()->exit_code, 0);
  EXPECT_THAT(*crew.LookAfter(), IsEmpty());
}

TEST_F(CrewTest, AProgramOfTheUserIsToldByItsEnvironmentAndStartedByAShell) {
  CrewOptions options = Options();
  options.worker = absl::StrCat("sh -c 'env > ", programs_.Path("env"), "; echo worker $0 >> ",
                                programs_.Path("trace"), "; exec sleep 600' \"two words\"");
  Crew crew(options, folder_, shutdown_);
  ASSERT_EQ(crew.Start(), absl::OkStatus());
  EXPECT_THAT(Trace("worker", 1), ElementsAre("worker two words"));
  std::ifstream file(programs_.Path("env"));
  const std::string environment(std::istreambuf_iterator<char>(file), {});
  for (const char* set : {"CAPSTAN_CHIEF=127.0.0.1:41001\n", "CAPSTAN_NAME=worker-0\n",
                          "CAPSTAN_HOST=127.0.0.1\n", "CAPSTAN_HEALTH_PORT=0\n"}) {
    EXPECT_THAT(environment, HasSubstr(set));
  }
  EXPECT_THAT(environment,
              HasSubstr(absl::StrCat("CAPSTAN_PORTS_FILE=", folder_.Ports("worker-0"), "\n")));
}

TEST_F(CrewTest, AProgramThatTheJobHasRefusedIsNotStartedAgain) {
  CrewOptions options = Options();
  options.worker = "sh -c 'exit 2'";
  Crew crew(options, folder_, shutdown_);
  ASSERT_EQ(crew.Start(), absl::OkStatus());
  EXPECT_EQ(News(crew).status(), absl::AbortedError("worker-0 died: exit code 2"));
  EXPECT_EQ(crew.culprit_log(), folder_.Log("worker-0"));
}

TEST_F(CrewTest, ACrewThatKeepsGoingGoesOnWithoutAWorkerButNotWithoutTheLast) {
  CrewOptions options = Options();
  options.workers = 2;
  options.keep_going = true;
  options.worker = absl::StrCat("sh -c '[ $CAPSTAN_NAME = worker-0 ] || until [ -e ",
                                programs_.Path("go"), " ]; do sleep 0.02; done; exit 2'");
  Crew crew(options, folder_, shutdown_);
  ASSERT_EQ(crew.Start(), absl::OkStatus());
  EXPECT_THAT(*News(crew),
              ElementsAre(absl::StrCat("worker-0 died: exit code 2; the others go on without it (",
                                       folder_.Log("worker-0"), ")")));
  EXPECT_THAT(*crew.LookAfter(), IsEmpty()) << "it is told once";
  programs_.Write("go", "");
  EXPECT_EQ(News(crew).status(), absl::AbortedError("worker-1 died: exit code 2"));
}

TEST_F(CrewTest, StopNamesThoseThatItHadToKillAndForgetsThePorts) {
  Write("worker", "trap '' TERM; echo worker deaf >> \"$0.deaf\"; while :; do sleep 0.05; done");
  Crew crew(Options(), folder_, shutdown_);
  ASSERT_EQ(crew.Start(), absl::OkStatus());
  const absl::Time deadline = absl::Now() + kCrewPatience;
  while (!std::filesystem::exists(programs_.Path("worker.deaf")) && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_TRUE(std::filesystem::exists(folder_.Ports("chief")));
  EXPECT_THAT(crew.Stop(absl::Seconds(1)), ElementsAre("worker-0"));
  EXPECT_FALSE(std::filesystem::exists(folder_.Ports("chief")));
}

}  // namespace
}  // namespace capstan::cli
