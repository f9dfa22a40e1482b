#include "chief/shell/odd_workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace capstan::chief {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// What the status of a job with these workers says, by their names and states.
std::vector<std::string> Warnings(const OddWorkers& odd,
                                  const std::vector<std::pair<std::string, std::string>>& workers) {
  v1::GetStatusReply status;
  for (const auto& [name, state] : workers) {
    v1::WorkerStatus& worker = *status.add_workers();
    worker.set_name(name);
    worker.set_state(state);
  }
  odd.AddTo(status);
  return {status.warnings().begin(), status.warnings().end()};
}

TEST(OddWorkersTest, EachSentenceIsToldOnceOfThoseThatAreThere) {
  OddWorkers odd;
  odd.Note("a", "torch is 2.0");
  odd.Note("b", "torch is 2.0");
  odd.Note("c", "blas is mkl");
  odd.Note("d", "");
  EXPECT_THAT(Warnings(odd, {{"a", "active"}, {"b", "idle"}, {"c", "active"}, {"d", "active"}}),
              ElementsAre("c: blas is mkl", "a and 1 more: torch is 2.0"));
  EXPECT_THAT(Warnings(odd, {{"a", "lost"}, {"b", "idle"}}), ElementsAre("b: torch is 2.0"));
  EXPECT_THAT(Warnings(odd, {}), IsEmpty());
}

TEST(OddWorkersTest, AWorkerThatComesBackWithNothingOddIsForgotten) {
  OddWorkers odd;
  odd.Note("a", "torch is 2.0");
  odd.Note("a", "");
  EXPECT_THAT(Warnings(odd, {{"a", "active"}}), IsEmpty());
}

TEST(OddWorkersTest, ALongSentenceIsCutBetweenCharacters) {
  OddWorkers odd;
  std::string sentence = "x";
  while (sentence.size() < 3000) sentence += "\xC3\xA9";
  odd.Note("a", sentence);
  EXPECT_THAT(Warnings(odd, {{"a", "active"}}), ElementsAre("a: " + sentence.substr(0, 999)));
}

TEST(OddWorkersTest, OnlySoManyAreKeptAndTold) {
  OddWorkers odd;
  std::vector<std::pair<std::string, std::string>> workers;
  for (size_t i = 0; i < OddWorkers::kMost + 10; ++i) {
    workers.emplace_back(absl::StrCat("w", i), "active");
    odd.Note(workers.back().first, absl::StrCat("torch is 2.", i));
  }
  const std::vector<std::string> told = Warnings(odd, workers);
  ASSERT_THAT(told, SizeIs(OddWorkers::kMostTold + 1));
  EXPECT_EQ(told.back(), "997 more warnings of bits that depend on who works");
}

}  // namespace
}  // namespace capstan::chief
