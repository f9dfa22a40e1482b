#include "cli/status/kubectl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "tests/unit/cli/status/fake_kubectl.h"

namespace capstan::cli {
namespace {

using testing::HasSubstr;

constexpr absl::Duration kKubectlPatience = absl::Seconds(30);

absl::StatusOr<std::string> AllThatItWrites(const KubernetesJob& job = {}) {
  absl::StatusOr<Kubectl> kubectl = Kubectl::Start(job, {"get", "pod", "two words"});
  if (!kubectl.ok()) return kubectl.status();
  return kubectl->ReadAll(kKubectlPatience);
}

TEST(KubectlTest, IsGivenTheNamespaceInFrontOfTheWordsOnlyWhereOneIsSaid) {
  const FakeKubectl fake("for word in \"$@\"; do echo \"$word\"; done");
  EXPECT_EQ(*AllThatItWrites({.release = "ctr", .kube_namespace = "ads"}),
            "--namespace\nads\nget\npod\ntwo words\n");
  EXPECT_EQ(*AllThatItWrites({.release = "ctr"}), "get\npod\ntwo words\n");
}

TEST(KubectlTest, OneThatFailsIsToldByTheLastLineOfWhatItComplainsOf) {
  const FakeKubectl fake(
      "echo listed; printf 'E1204 trying\\nconnection refused\\n\\n' >&2; exit 1");
  EXPECT_EQ(AllThatItWrites().status(),
            absl::UnavailableError("kubectl cannot ask the cluster: connection refused"));
  fake.Do("exit 1");
  EXPECT_EQ(AllThatItWrites().status(),
            absl::UnavailableError("kubectl cannot ask the cluster: it does not say why"));
  fake.Do("kill -9 $$");
  EXPECT_TRUE(absl::IsUnavailable(AllThatItWrites().status()));
}

TEST(KubectlTest, AComplaintLongerThanWhatIsReadOfItEndsAsItEnds) {
  const FakeKubectl fake("head -c 9000 /dev/zero | tr '\\0' x >&2; echo ' the end' >&2; exit 1");
  const std::string why(AllThatItWrites().status().message());
  EXPECT_THAT(why, HasSubstr("xxx the end"));
  EXPECT_LT(why.size(), 5000u);
}

TEST(KubectlTest, MoreThanWhatIsReadIsAnErrorAndNotWaitedForForever) {
  const FakeKubectl fake("head -c 30000000 /dev/zero | tr '\\0' x");
  const absl::Time began = absl::Now();
  const absl::Status refused = AllThatItWrites().status();
  EXPECT_EQ(refused, absl::UnavailableError("kubectl writes more than 16 MiB, which is not read"));
  EXPECT_LT(absl::Now() - began, kKubectlPatience);
}

TEST(KubectlTest, ALineWithoutEndIsTakenForTheEnd) {
  const FakeKubectl fake("head -c 30000000 /dev/zero | tr '\\0' x");
  absl::StatusOr<Kubectl> kubectl = Kubectl::Start({}, {});
  ASSERT_TRUE(kubectl.ok()) << kubectl.status();
  EXPECT_TRUE(absl::IsOutOfRange(kubectl->ReadLine(kKubectlPatience).status()));
}

TEST(KubectlTest, OneThatHasWrittenAllAndDoesNotEndIsEnded) {
  const FakeKubectl fake("echo all; exec >&-; exec sleep 600");
  absl::StatusOr<Kubectl> kubectl = Kubectl::Start({}, {});
  ASSERT_TRUE(kubectl.ok()) << kubectl.status();
  EXPECT_EQ(*kubectl->ReadLine(kKubectlPatience), "all");
  EXPECT_TRUE(absl::IsUnavailable(kubectl->ReadAll(absl::Seconds(1)).status()));
}

TEST(KubectlTest, AnswersLineByLineAndKeepsThePartOfALineThatHasArrived) {
  const FakeKubectl fake("read -r line; printf 'first\\nsec'; read -r line; echo \"ond $line\"");
  absl::StatusOr<Kubectl> kubectl = Kubectl::Start({}, {});
  ASSERT_TRUE(kubectl.ok()) << kubectl.status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(kubectl->ReadLine(absl::ZeroDuration()).status()));
  EXPECT_TRUE(kubectl->Write("\n"));
  EXPECT_EQ(*kubectl->ReadLine(kKubectlPatience), "first");
  EXPECT_TRUE(absl::IsDeadlineExceeded(kubectl->ReadLine(absl::Milliseconds(50)).status()));
  Kubectl moved = *std::move(kubectl);
  EXPECT_TRUE(moved.Write("asked\n"));
  EXPECT_EQ(*moved.ReadLine(kKubectlPatience), "second asked");
  EXPECT_TRUE(absl::IsOutOfRange(moved.ReadLine(kKubectlPatience).status()));
}

TEST(KubectlTest, OneThatDoesNotReadAnyMoreCannotBeAskedAndKillsNobody) {
  const FakeKubectl fake("exec <&-; echo closed; exec sleep 600");
  absl::StatusOr<Kubectl> kubectl = Kubectl::Start({}, {});
  ASSERT_TRUE(kubectl.ok()) << kubectl.status();
  EXPECT_EQ(*kubectl->ReadLine(kKubectlPatience), "closed");
  EXPECT_FALSE(kubectl->Write("\n"));
}

TEST(KubectlTest, WhoHasNoneIsToldHowElseToAsk) {
  const FakeKubectl fake("exit 0");
  setenv("PATH", fake.Path("nowhere").c_str(), 1);
  const absl::Status none = Kubectl::Start({}, {}).status();
  EXPECT_TRUE(absl::IsNotFound(none)) << none;
  EXPECT_THAT(std::string(none.message()), HasSubstr("no kubectl in PATH"));
  EXPECT_THAT(std::string(none.message()), HasSubstr("--chief host:port"));
}

}  // namespace
}  // namespace capstan::cli
