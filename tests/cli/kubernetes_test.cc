// `capstan status --kubernetes` with a kubectl that is a script of the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "tests/cli/command.h"

namespace capstan::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kChief[] =
    R"({"kind": "StatefulSet", "metadata": {"name": "ctr-chief", "labels": {"app.kubernetes.io/component": "chief"}}})";

// A pod whose one container is in `state`, as Kubernetes writes it.
std::string Pod(const std::string& name, const std::string& role, const std::string& state) {
  return absl::StrReplaceAll(
      R"({"kind": "Pod", "metadata": {"name": "NAME", "labels": {"app.kubernetes.io/component": "ROLE"}},
          "spec": {"containers": [{"name": "ROLE", "resources": {"limits": {"memory": "2Gi"}}}]},
          "status": {"phase": "Running", "containerStatuses": [{"name": "ROLE", "restartCount": 2, STATE}]}})",
      {{"NAME", name}, {"ROLE", role}, {"STATE", state}});
}

std::string Running(const std::string& name, const std::string& role) {
  return Pod(name, role, R"("state": {"running": {}})");
}

class KubernetesCommandTest : public CommandTest {
 protected:
  KubernetesCommandTest() {
    std::filesystem::create_directory("tools");
    SetEnvironment("PATH", std::filesystem::current_path().string() + "/tools:/usr/bin:/bin");
  }

  // `get` and `exec` do as told.
  void InstallKubectl(const std::string& get, const std::string& exec = "exit 1") {
    WriteFile("tools/kubectl", "#!/bin/sh\ncase \" $* \" in\n*' get '*) " + get +
                                   ";;\n*' exec '*) echo \"$*\" > asked; " + exec + ";;\nesac\n");
    std::filesystem::permissions("tools/kubectl", std::filesystem::perms::owner_all);
  }

  // The release has these objects.
  std::string Lists(const std::string& objects) {
    WriteFile("objects.json", absl::StrCat(R"({"kind": "List", "items": [)", objects, "]}"));
    return "cat objects.json";
  }
  std::string ListsChief() {
    return Lists(absl::StrCat(kChief, ",", Running("ctr-chief-0", "chief")));
  }

  // Answers each line with the next line of the file, and with the last one from then on.
  std::string Answers(const std::string& lines) {
    WriteFile("answers", lines);
    return "n=0; while read -r line; do n=$((n + 1)); said=$(sed -n ${n}p answers); "
           "last=${said:-$last}; echo \"$last\"; done";
  }
};

constexpr char kRuns[] =
    R"({"job": "ctr", "state": "JOB_STATE_RUNNING", "examples": 700, "term": 1})";
constexpr char kDoneWell[] =
    R"({"job": "ctr", "state": "JOB_STATE_COMPLETED", "examples": 1000, "term": 1})";
constexpr char kDoneBadly[] =
    R"({"job": "ctr", "state": "JOB_STATE_FAILED", "reason": "the loss is NaN", "term": 1})";
constexpr char kRefused[] =
    R"({"job": "ctr", "state": "JOB_STATE_FAILED", "reason": "data.fromat: unknown key"})";

TEST_F(KubernetesCommandTest, AsksInTheChiefsPod) {
  InstallKubectl(ListsChief(), Answers(kRuns));
  const Result result = Run({"status", "--kubernetes", "ctr", "--namespace", "ads", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("\"examples\":700"));
  EXPECT_EQ(ReadFile("asked"),
            "--namespace ads exec --stdin ctr-chief-0 --container=chief -- "
            "capstan status --answer-lines\n");
}

TEST_F(KubernetesCommandTest, LooksForTheReleaseByItsLabels) {
  InstallKubectl("echo \"$*\" > listed; " + ListsChief(), Answers(kRuns));
  EXPECT_THAT(Run({"status", "--kubernetes", "ctr"}).output, HasSubstr("700"));
  EXPECT_EQ(
      ReadFile("listed"),
      "get deployment,statefulset,pod --output=json --selector=app.kubernetes.io/instance=ctr\n");
}

TEST_F(KubernetesCommandTest, WhoMayNotReadDeploymentsIsToldTheStatusNevertheless) {
  InstallKubectl(
      "case \"$*\" in *deployment*) echo 'Error from server (Forbidden): "
      "deployments.apps is forbidden: User \"viewer\" cannot list' >&2; exit 1;; esac; " +
          ListsChief(),
      Answers(kRuns));
  const Result result = Run({"status", "--kubernetes", "ctr"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("700"));
}

TEST_F(KubernetesCommandTest, WatchesToTheEndAndEndsAsTheJobDoes) {
  InstallKubectl(ListsChief(), Answers(absl::StrCat(kRuns, "\n", kDoneWell, "\n")));
  EXPECT_EQ(Run({"status", "--kubernetes", "ctr", "--watch"}).exit_code, 0);
  InstallKubectl(ListsChief(), Answers(absl::StrCat(kRuns, "\n", kDoneBadly, "\n")));
  const Result result = Run({"status", "--kubernetes", "ctr", "--watch"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("the loss is NaN"));
}

TEST_F(KubernetesCommandTest, GoesOnWatchingWhenTheChiefsPodIsReplaced) {
  // The first command in the pod ends in the middle; there is another pod, and the next one
  // answers.
  InstallKubectl(ListsChief(), absl::StrCat("if [ -e again ]; then ", Answers(kDoneWell),
                                            "; else touch again; read -r line; echo '", kRuns,
                                            "'; exit 137; fi"));
  const Result result = Run({"status", "--kubernetes", "ctr", "--watch"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

TEST_F(KubernetesCommandTest, ARefusedJobMayBeCorrectedForAWhile) {
  InstallKubectl(ListsChief(), Answers(absl::StrCat(kRefused, "\n", kRefused, "\n", kRuns, "\n",
                                                    kDoneWell, "\n")));
  EXPECT_EQ(Run({"status", "--kubernetes", "ctr", "--watch"}).exit_code, 1);
  const Result result =
      Run({"status", "--kubernetes", "ctr", "--watch", "--refusal-patience", "600"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("data.fromat: unknown key")) << "it is told meanwhile";
}

TEST_F(KubernetesCommandTest, LeavesNoProcessInThePodWhenItIsKilled) {
  // What runs in the pod ends with its input, and says so.
  InstallKubectl(ListsChief(), absl::StrCat(Answers(kRuns), "; echo over > over"));
  Process watching = Start({"top", "--kubernetes", "ctr"});
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  while (!std::filesystem::exists("asked") && absl::Now() < deadline)
    absl::SleepFor(absl::Milliseconds(20));
  watching.Signal(SIGKILL);
  while (!std::filesystem::exists("over") && absl::Now() < deadline)
    absl::SleepFor(absl::Milliseconds(20));
  EXPECT_TRUE(std::filesystem::exists("over"));
}

TEST_F(KubernetesCommandTest, SaysWhatIsTheMatterWithPodsWhenTheChiefCannotBeAsked) {
  const std::string crashes = Pod("ctr-chief-0", "chief", R"(
      "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
      "lastState": {"terminated": {"exitCode": 2, "message": "log\njob.yaml:3: data.fromat: unknown key"}})");
  const std::string no_image = Pod("ctr-ps-0", "ps", R"(
      "state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image \"x\""}})");
  const std::string pending = R"({"kind": "Pod", "metadata": {"name": "ctr-worker-0",
      "labels": {"app.kubernetes.io/component": "worker"}}, "status": {"phase": "Pending", "conditions":
      [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}]}})";
  InstallKubectl(Lists(absl::StrCat(kChief, ",", crashes, ",", no_image, ",", pending)));
  const Result result = Run({"status", "--kubernetes", "ctr", "--wait", "0"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output,
              HasSubstr("ctr-chief-0 ends again and again (CrashLoopBackOff): the last time it "
                        "ended with exit code 2: job.yaml:3: data.fromat: unknown key"));
  EXPECT_THAT(result.output,
              HasSubstr("ctr-ps-0 cannot start (ImagePullBackOff): Back-off pulling image"));
  EXPECT_THAT(result.output,
              HasSubstr("ctr-worker-0 is Pending, for no node takes it: 0/3 nodes are available"));
}

TEST_F(KubernetesCommandTest, AShardThatWasKilledForItsMemoryIsToldAsThat) {
  const std::string killed = Pod("ctr-ps-1", "ps", R"("state": {"running": {}},
      "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "12:00"}})");
  InstallKubectl(Lists(absl::StrCat(kChief, ",", Running("ctr-chief-0", "chief"), ",", killed)),
                 Answers(kRuns));
  const Result result = Run({"status", "--kubernetes", "ctr"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(
      result.output,
      HasSubstr("ctr-ps-1 was killed for its memory (OOMKilled) at 12:00; its limit is 2Gi, "
                "and was started again (2 so far)"));
}

TEST_F(KubernetesCommandTest, WorkersThatAQuotaRefusesAreToldWithItsReason) {
  const auto workers = [](const std::string& failure) {
    return absl::StrReplaceAll(R"({"kind": "Deployment", "metadata": {"name": "ctr-worker",
        "labels": {"app.kubernetes.io/component": "worker"}}, "status": {"conditions":
        [{"type": "ReplicaFailure", "status": "FAILURE", "message": "exceeded quota: small"}]}})",
                               {{"FAILURE", failure}});
  };
  const std::string chief = absl::StrCat(kChief, ",", Running("ctr-chief-0", "chief"), ",");
  InstallKubectl(Lists(chief + workers("True")), Answers(kRuns));
  EXPECT_THAT(Run({"status", "--kubernetes", "ctr"}).output,
              HasSubstr("ctr-worker wants pods that cannot be made: exceeded quota: small"));
  InstallKubectl(Lists(chief + workers("False")), Answers(kRuns));
  EXPECT_THAT(Run({"status", "--kubernetes", "ctr"}).output, Not(HasSubstr("quota")));
}

TEST_F(KubernetesCommandTest, ReasonsAreWholeWhereThereIsNoTerminal) {
  const std::string reason(500, 'x');
  InstallKubectl(ListsChief(), Answers(absl::StrReplaceAll(kDoneBadly, {{"the loss", reason}})));
  EXPECT_THAT(Run({"status", "--kubernetes", "ctr"}).output, HasSubstr(reason + " is NaN"));
}

TEST_F(KubernetesCommandTest, SaysThatThereIsNoKubectl) {
  SetEnvironment("PATH", std::filesystem::current_path().string() + "/tools");
  const Result result = Run({"status", "--kubernetes", "ctr"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("there is no kubectl in PATH"));
}

TEST_F(KubernetesCommandTest, SaysThatThereIsNoSuchRelease) {
  InstallKubectl(Lists(""));
  const Result result = Run({"status", "--kubernetes", "ctr", "--namespace", "ads"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("no chief of a release ctr in the namespace ads"));
}

TEST_F(KubernetesCommandTest, ShowsWhatKubectlSaysWhenTheClusterDoesNotAnswer) {
  InstallKubectl("echo 'connection refused' >&2; exit 1");
  const Result result = Run({"status", "--kubernetes", "ctr", "--wait", "0"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("kubectl cannot ask the cluster: connection refused"));
}

TEST_F(KubernetesCommandTest, TakesOnePlaceToAskOnly) {
  EXPECT_EQ(Run({"status", "--kubernetes", "ctr", "--chief", "a:1"}).exit_code, 2);
  EXPECT_EQ(Run({"status", "--namespace", "ads"}).exit_code, 2);
}

}  // namespace
}  // namespace capstan::cli
