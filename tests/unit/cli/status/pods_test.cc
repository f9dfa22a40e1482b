#include "cli/status/pods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "capstan/base/utf8.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

// A pod of a role, whose status is as given.
std::string PodItem(const std::string& name, const std::string& role, const std::string& status) {
  return absl::StrReplaceAll(
      R"({"kind": "Pod", "metadata": {"name": "NAME",
           "labels": {"app.kubernetes.io/component": "ROLE"}},
          "spec": {"containers": [{"name": "other"},
            {"name": "ROLE", "resources": {"limits": {"memory": "2Gi"}}}]},
          "status": STATUS})",
      {{"NAME", name}, {"ROLE", role}, {"STATUS", status}});
}

// One of whose container kubectl tells this.
std::string PodOfContainer(const std::string& name, const std::string& role,
                           const std::string& container) {
  return PodItem(
      name, role,
      absl::StrCat(R"({"containerStatuses": [{"name": ")", role, R"(", )", container, "}]}"));
}

ReleasePods PodsOf(const std::string& items) {
  const absl::StatusOr<ReleasePods> pods =
      ReadReleasePods(absl::StrCat(R"({"items": [)", items, "]}"));
  EXPECT_TRUE(pods.ok()) << pods.status();
  return pods.value_or(ReleasePods());
}

std::vector<std::string> TroublesOf(const std::string& items) { return PodsOf(items).troubles; }

constexpr char kChiefSet[] = R"({"kind": "StatefulSet", "metadata": {"name": "ctr-chief",
    "labels": {"app.kubernetes.io/component": "chief"}}})";

TEST(PodsTest, AChiefRunsOnceItsContainerDoesAndNobodyDeletesItsPod) {
  const std::string running = PodOfContainer("ctr-chief-0", "chief", R"("state": {"running": {}})");
  const ReleasePods runs = PodsOf(absl::StrCat(kChiefSet, ",", running));
  EXPECT_TRUE(runs.has_chief);
  EXPECT_EQ(runs.chief, "ctr-chief-0");
  EXPECT_TRUE(runs.chief_runs);
  EXPECT_THAT(runs.troubles, IsEmpty());
  const ReleasePods leaves = PodsOf(absl::StrReplaceAll(
      running, {{R"("metadata": {)", R"("metadata": {"deletionTimestamp": "12:00", )"}}));
  EXPECT_EQ(leaves.chief, "ctr-chief-0");
  EXPECT_FALSE(leaves.chief_runs);
  EXPECT_FALSE(leaves.has_chief) << "a pod alone is no release";
  EXPECT_FALSE(PodsOf(PodOfContainer("ctr-chief-0", "chief",
                                     R"("state": {"waiting": {"reason": "ContainerCreating"}})"))
                   .chief_runs);
  EXPECT_EQ(PodsOf(kChiefSet).chief, "");
}

TEST(PodsTest, WhatIsNoListIsLost) {
  for (const char* text : {"", "[]", "{}", "error: no connection", "{\"items\": [", "\"\xFF\""}) {
    EXPECT_TRUE(absl::IsDataLoss(ReadReleasePods(text).status())) << text;
  }
  EXPECT_THAT(PodsOf("null, 7, {}, {\"kind\": \"Pod\", \"metadata\": 3}").troubles, IsEmpty());
}

TEST(PodsTest, APodThatComesUpOrGoesAsItShouldIsInNoTrouble) {
  for (const char* state : {R"("state": {"waiting": {"reason": "ContainerCreating"}})",
                            R"("state": {"waiting": {"reason": "PodInitializing"}})",
                            R"("state": {})", R"("state": {"terminated": {"exitCode": 0}})",
                            R"("state": {"running": {}}, "restartCount": 3,
           "lastState": {"terminated": {"exitCode": 0, "reason": "Completed"}})"}) {
    EXPECT_THAT(TroublesOf(PodOfContainer("ctr-ps-0", "ps", state)), IsEmpty()) << state;
  }
}

TEST(PodsTest, ThePresentEndOfAContainerSaysMoreThanTheOneBefore) {
  EXPECT_THAT(TroublesOf(PodOfContainer("ctr-worker-x", "worker", R"(
      "state": {"terminated": {"exitCode": 3, "finishedAt": "12:07", "message": "a\nthe cause\n"}},
      "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}})")),
              ElementsAre("ctr-worker-x ended with exit code 3 at 12:07: the cause"));
  EXPECT_THAT(TroublesOf(PodOfContainer("ctr-worker-x", "worker",
                                        R"("state": {"terminated": {"exitCode": 137,
                                                     "reason": "OOMKilled"}})")),
              ElementsAre("ctr-worker-x was killed for its memory (OOMKilled); its limit is 2Gi"));
}

TEST(PodsTest, AContainerThatCannotStartIsToldWithTheReasonOfKubernetes) {
  EXPECT_THAT(
      TroublesOf(PodOfContainer("ctr-ps-0", "ps", R"("state": {"waiting":
          {"reason": "CreateContainerConfigError", "message": "secret \"tls\" not found"}})")),
      ElementsAre("ctr-ps-0 cannot start (CreateContainerConfigError): secret \"tls\" not found"));
  EXPECT_THAT(TroublesOf(PodOfContainer("ctr-ps-0", "ps",
                                        R"("state": {"waiting": {"reason": "CrashLoopBackOff"}})")),
              ElementsAre("ctr-ps-0 ends again and again (CrashLoopBackOff)"));
}

TEST(PodsTest, APodIsToldOnceByWhatKeepsItBackFirst) {
  EXPECT_THAT(TroublesOf(PodItem("ctr-ps-0", "ps", R"({"phase": "Pending",
      "conditions": [{"type": "Ready", "status": "False"},
                     {"type": "PodScheduled", "status": "False", "message": "no node is free"}],
      "containerStatuses": [{"name": "ps", "state": {"waiting": {"reason": "ErrImagePull"}}}]})")),
              ElementsAre("ctr-ps-0 is Pending, for no node takes it: no node is free"));
  EXPECT_THAT(TroublesOf(PodItem("ctr-ps-0", "ps", R"({"phase": "Failed", "reason": "Evicted",
      "message": "The node was low on memory."})")),
              ElementsAre("ctr-ps-0 has failed (Evicted): The node was low on memory."));
  EXPECT_THAT(TroublesOf(PodItem("ctr-ps-0", "ps", R"({"initContainerStatuses":
      [{"name": "wait", "state": {"terminated": {"exitCode": 1}}}],
      "containerStatuses": [{"name": "ps",
                             "state": {"waiting": {"reason": "PodInitializing"}}}]})")),
              ElementsAre("ctr-ps-0 ended with exit code 1"));
}

TEST(PodsTest, PodsOfNoRoleOfTheJobMayEndAsTheyLike) {
  EXPECT_THAT(
      TroublesOf(PodOfContainer("ctr-wait", "wait", R"("state": {"terminated": {"exitCode": 1}})")),
      IsEmpty());
}

TEST(PodsTest, ALongMessageIsCutBetweenTwoCharacters) {
  std::string euros;
  for (int i = 0; i < 200; ++i) euros += "€";  // Three bytes each; the limit is not one of them.
  const auto troubles = TroublesOf(PodOfContainer(
      "ctr-ps-0", "ps",
      absl::StrCat(R"("state": {"waiting": {"reason": "Odd", "message": "x)", euros, R"("}})")));
  ASSERT_EQ(troubles.size(), 1u);
  EXPECT_THAT(troubles[0], EndsWith("€"));
  EXPECT_LT(troubles[0].size(), 350u);
  EXPECT_TRUE(IsUtf8(troubles[0]));
}

TEST(PodsTest, NumbersThatNoContainerHasDoNoHarm) {
  EXPECT_THAT(TroublesOf(PodOfContainer("ctr-ps-0", "ps", R"("state": {"running": {}},
      "restartCount": 1234567, "lastState": {"terminated": {"exitCode": 1e30}})")),
              ElementsAre(HasSubstr("was started again (1234567 so far)")));
}

}  // namespace
}  // namespace capstan::cli
