// `capstan status --kubernetes` with a kubectl that is a script of the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/command.h"

namespace capstan::cli {
namespace {

using ::testing::HasSubstr;

class KubernetesCommandTest : public CommandTest {
 protected:
  KubernetesCommandTest() {
    std::filesystem::create_directory("tools");
    SetEnvironment("PATH", std::filesystem::current_path().string() + "/tools");
  }

  // `get` does as told, `exec` shows its arguments and ends with 7.
  void InstallKubectl(const std::string& get) {
    WriteFile("tools/kubectl", "#!/bin/sh\ncase \" $* \" in\n*' get '*) " + get +
                                   ";;\n*' exec '*) echo \"$*\"; exit 7;;\nesac\n");
    std::filesystem::permissions("tools/kubectl", std::filesystem::perms::owner_all);
  }
};

TEST_F(KubernetesCommandTest, RunsInTheChiefsPodAndEndsAsItDoesThere) {
  InstallKubectl("echo statefulset.apps/ctr-capstan-chief");
  const Result result = Run({"status", "--kubernetes", "ctr", "--namespace", "ads", "--json"});
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.output,
            "--namespace ads exec statefulset.apps/ctr-capstan-chief --container=chief -- "
            "capstan status --wait=10 --json\n");
}

TEST_F(KubernetesCommandTest, LooksForTheChiefOfTheReleaseByItsLabels) {
  InstallKubectl("echo \"$*\" > asked; echo statefulset.apps/ctr-chief");
  EXPECT_THAT(Run({"top", "--kubernetes", "ctr"}).output,
              HasSubstr("capstan status --wait=10 --watch"));
  EXPECT_EQ(ReadFile("asked"),
            "get statefulset --output=name "
            "--selector=app.kubernetes.io/instance=ctr,app.kubernetes.io/component=chief\n");
}

TEST_F(KubernetesCommandTest, SaysThatThereIsNoKubectl) {
  const Result result = Run({"status", "--kubernetes", "ctr"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("there is no kubectl in PATH"));
}

TEST_F(KubernetesCommandTest, SaysThatThereIsNoSuchRelease) {
  InstallKubectl(":");
  const Result result = Run({"status", "--kubernetes", "ctr", "--namespace", "ads"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("no chief of a release ctr in the namespace ads"));
}

TEST_F(KubernetesCommandTest, ShowsWhatKubectlSaysWhenTheClusterDoesNotAnswer) {
  InstallKubectl("echo 'connection refused' >&2; exit 1");
  const Result result = Run({"status", "--kubernetes", "ctr"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("connection refused"));
  EXPECT_THAT(result.output, HasSubstr("kubectl could not ask the cluster"));
}

TEST_F(KubernetesCommandTest, TakesOnePlaceToAskOnly) {
  EXPECT_EQ(Run({"status", "--kubernetes", "ctr", "--chief", "a:1"}).exit_code, 2);
  EXPECT_EQ(Run({"status", "--namespace", "ads"}).exit_code, 2);
}

}  // namespace
}  // namespace capstan::cli
