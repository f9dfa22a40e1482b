// What a KubernetesChief makes of the answers of kubectl. tests/cli/kubernetes_test.cc has the
// command around it.
#include "cli/status/kubernetes_chief.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/unit/cli/status/fake_kubectl.h"

namespace capstan::cli {
namespace {

using testing::HasSubstr;

constexpr absl::Duration kAnswerPatience = absl::Seconds(30);

constexpr char kChiefThatRuns[] = R"({"items": [
  {"kind": "StatefulSet", "metadata": {"name": "ctr-chief",
   "labels": {"app.kubernetes.io/component": "chief"}}},
  {"kind": "Pod", "metadata": {"name": "ctr-chief-0",
   "labels": {"app.kubernetes.io/component": "chief"}},
   "status": {"containerStatuses": [{"name": "chief", "state": {"running": {}}}]}}]})";

// A kubectl that lists this, and does as told in the chief's pod.
std::string Script(const std::string& listed, const std::string& exec) {
  return absl::StrCat("case \" $* \" in\n*' get '*) cat <<'END'\n", listed,
                      "\nEND\n;;\n*' exec '*) ", exec, ";;\nesac");
}

absl::StatusOr<v1::GetStatusReply> AskedOf(KubernetesChief& chief) {
  return chief.GetStatus(kAnswerPatience);
}

TEST(KubernetesChiefTest, AnAnswerThatComesTooLateIsNotTakenForThatToTheNextQuestion) {
  const FakeKubectl fake("");
  const std::string go = fake.Path("go");
  fake.Do(Script(kChiefThatRuns,
                 absl::StrCat("read -r line; echo '{\"examples\":1}'; read -r line; "
                              "until [ -e ",
                              go,
                              " ]; do sleep 0.02; done; "
                              "echo '{\"examples\":2}'; read -r line; echo '{\"examples\":3}'; "
                              "read -r line")));
  KubernetesChief chief({.release = "ctr"});
  EXPECT_EQ(AskedOf(chief)->examples(), 1u);
  EXPECT_TRUE(absl::IsDeadlineExceeded(chief.GetStatus(absl::ZeroDuration()).status()));
  fake.Leave("go");
  EXPECT_EQ(AskedOf(chief)->examples(), 3u);
}

TEST(KubernetesChiefTest, FieldsThatALaterChiefTellsAreLeftOut) {
  const FakeKubectl fake(Script(
      kChiefThatRuns, "read -r line; echo '{\"examples\":7,\"of_a_later_version\":{\"a\":1}}'"));
  KubernetesChief chief({.release = "ctr"});
  const auto status = AskedOf(chief);
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->examples(), 7u);
}

TEST(KubernetesChiefTest, WhatTheCommandInThePodSaysInWordsIsTheReason) {
  const FakeKubectl fake(Script(kChiefThatRuns,
                                "read -r line; echo 'chief at localhost:7000: is away'; "
                                "read -r line; echo '{\"examples\": [}'; read -r line"));
  KubernetesChief chief({.release = "ctr"});
  EXPECT_EQ(AskedOf(chief).status(), absl::UnavailableError("chief at localhost:7000: is away"));
  EXPECT_EQ(AskedOf(chief).status(),
            absl::DataLossError("the chief's pod answers with what is no status"));
}

TEST(KubernetesChiefTest, ThePodIsAskedAnewOnceTheCommandInItHasEnded) {
  const FakeKubectl fake(
      Script(kChiefThatRuns,
             "if [ -e \"$0.ended\" ]; then read -r line; echo '{\"examples\":9}'; read -r line; "
             "else touch \"$0.ended\"; echo 'container not found' >&2; exit 1; fi"));
  KubernetesChief chief({.release = "ctr"});
  const absl::Status ended = AskedOf(chief).status();
  EXPECT_TRUE(absl::IsUnavailable(ended)) << ended;
  EXPECT_THAT(std::string(ended.message()), HasSubstr("the chief's pod cannot be asked"));
  EXPECT_THAT(std::string(ended.message()), HasSubstr("container not found"));
  const auto status = AskedOf(chief);
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->examples(), 9u);
}

TEST(KubernetesChiefTest, AReleaseWithoutAChiefIsNotThere) {
  const FakeKubectl fake(Script(R"({"items": []})", "exit 1"));
  KubernetesChief here({.release = "ctr"});
  const absl::Status none = AskedOf(here).status();
  EXPECT_TRUE(absl::IsNotFound(none)) << none;
  EXPECT_THAT(std::string(none.message()), HasSubstr("--namespace names another"));
  KubernetesChief there({.release = "ctr", .kube_namespace = "ads"});
  EXPECT_THAT(std::string(AskedOf(there).status().message()), HasSubstr("in the namespace ads"));
}

TEST(KubernetesChiefTest, AChiefThatHasNoPodYetMayHaveOneLater) {
  const FakeKubectl fake(Script(R"({"items": [{"kind": "StatefulSet", "metadata": {"labels":
      {"app.kubernetes.io/component": "chief"}}}]})",
                                "exit 1"));
  KubernetesChief chief({.release = "ctr"});
  EXPECT_EQ(AskedOf(chief).status(), absl::UnavailableError("the chief has no pod at the moment"));
}

}  // namespace
}  // namespace capstan::cli
