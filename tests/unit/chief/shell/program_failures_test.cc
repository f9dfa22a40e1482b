#include "chief/shell/program_failures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace capstan::chief {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

const absl::Time kFailedAt = absl::UnixEpoch() + absl::Hours(1);

v1::UserCodeError Error(const std::string& type, const std::string& place,
                        const std::string& message) {
  v1::UserCodeError error;
  error.set_type(type);
  error.set_place(place);
  error.set_message(message);
  return error;
}

TEST(ProgramFailuresTest, TheLastFailureOfAWorkerIsToldInOneSentence) {
  ProgramFailures failures;
  failures.Note("w-2", Error("KeyError", "model.py:7", "'x'"), kFailedAt);
  failures.Note("w-2", Error("ValueError", "model.py:31", "no such file"), kFailedAt);
  EXPECT_THAT(failures.Told(kFailedAt),
              ElementsAre("worker w-2's program fails: ValueError: no such file, at model.py:31"));
}

TEST(ProgramFailuresTest, ARefusalHasNeitherATypeNorAPlace) {
  ProgramFailures failures;
  EXPECT_EQ(failures.Note("w", Error("", "", "w is torch.float64"), kFailedAt),
            "worker w's program fails: w is torch.float64");
}

TEST(ProgramFailuresTest, AWorkerThatRegistersFailsNoMoreAndNeitherDoesOneThatStaysAway) {
  ProgramFailures failures;
  failures.Note("a", Error("E", "m.py:1", "no"), kFailedAt);
  failures.Note("b", Error("E", "m.py:1", "no"), kFailedAt);
  failures.Forget("a");
  EXPECT_THAT(failures.Told(kFailedAt + ProgramFailures::kKept - absl::Seconds(1)),
              ElementsAre(StartsWith("worker b's")));
  EXPECT_THAT(failures.Told(kFailedAt + ProgramFailures::kKept), IsEmpty());
}

TEST(ProgramFailuresTest, AFewWorkersAreToldOfHoweverManyThereAre) {
  ProgramFailures failures;
  for (int i = 0; i < 100; ++i) {
    failures.Note(absl::StrCat("w-", i), Error("E", "m.py:1", "no"), kFailedAt + absl::Seconds(i));
  }
  EXPECT_THAT(failures.Told(kFailedAt + absl::Seconds(100)),
              ElementsAre(StartsWith("worker w-97's"), StartsWith("worker w-98's"),
                          StartsWith("worker w-99's")));
}

TEST(ProgramFailuresTest, WhateverAWorkerSaysIsALineOfBoundedLength) {
  ProgramFailures failures;
  const std::string lie = absl::StrCat("\x1b[31m\n\"", std::string(100000, 'x'));
  EXPECT_THAT(failures.Note(lie, Error(lie, lie, lie), kFailedAt), SizeIs(testing::Lt(1000)));
  for (const std::string& told : failures.Told(kFailedAt)) {
    EXPECT_THAT(told, Each(testing::Ge(' ')));
  }
  failures.Forget(lie);
  EXPECT_THAT(failures.Told(kFailedAt), IsEmpty());
}

TEST(ProgramFailuresTest, NoCharacterIsCutInTwo) {
  ProgramFailures failures;
  std::string umlauts = "x";
  for (int i = 0; i < 400; ++i) umlauts += "\xc3\xa4";
  const std::string told = failures.Note("w", Error("", "", umlauts), kFailedAt);
  EXPECT_EQ(told.substr(told.size() - 5), "\xc3\xa4...");
}

}  // namespace
}  // namespace capstan::chief
