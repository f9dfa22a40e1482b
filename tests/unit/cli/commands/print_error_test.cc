#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <string>
#include <utility>

#include "cli/commands/command.h"
#include "tests/lib/test_folder.h"

namespace capstan::cli {
namespace {

using testing::HasSubstr;

std::string WrittenToErrors(const std::function<void()>& act) {
  testing::internal::CaptureStderr();
  act();
  return testing::internal::GetCapturedStderr();
}

TEST(PrintErrorTest, NamesTheProgramOnceHoweverManyLinesThereAre) {
  EXPECT_EQ(WrittenToErrors([] { PrintError("a:\nb\nc"); }), "capstan: a:\nb\nc\n");
}

TEST(PrintErrorTest, LetsNoTextCommandTheTerminal) {
  EXPECT_EQ(WrittenToErrors([] { PrintError("a\x1b[2J\rb\n\xFF"); }), "capstan: a?[2J?b\n?\n");
  EXPECT_EQ(WrittenToErrors([] { PrintRefusal(absl::NotFoundError("job.yaml:1: a\x07\nb")); }),
            "job.yaml:1: a?\nb\n");
  testing::internal::CaptureStdout();
  PrintLine("one\ntwo\x1b");
  std::fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "one two?\n");
}

TEST(ReportEndTest, TellsBadInputFromWhatFailed) {
  for (const auto& [status, code] :
       {std::pair(absl::InvalidArgumentError("x"), kBadInput),
        std::pair(absl::NotFoundError("x"), kBadInput),
        std::pair(absl::FailedPreconditionError("x"), kBadInput),
        std::pair(absl::UnavailableError("x"), kFailed),
        std::pair(absl::DataLossError("x"), kFailed), std::pair(absl::InternalError("x"), kFailed),
        std::pair(absl::DeadlineExceededError("x"), kFailed)}) {
    ExitCode ended = kDone;
    EXPECT_EQ(WrittenToErrors([&ended, &why = status] { ended = ReportEnd(why); }), "capstan: x\n");
    EXPECT_EQ(ended, code) << status;
  }
}

TEST(ReportEndTest, SaysNothingOfWhatWentWell) {
  EXPECT_EQ(WrittenToErrors([] { EXPECT_EQ(ReportEnd(absl::OkStatus()), kDone); }), "");
}

TEST(FindModelTest, SaysWhichModelIsTakenOnlyIfItIsNotTheOneThatWasNamed) {
  const TestFolder folder;
  folder.Write("model.safetensors", "");
  EXPECT_EQ(WrittenToErrors([&] { EXPECT_EQ(*FindModel(folder.path()), folder.path()); }), "");
  const std::string nothing = WrittenToErrors([&] {
    const absl::Status none = FindModel(folder.Path("none")).status();
    EXPECT_TRUE(absl::IsNotFound(none)) << none;
    EXPECT_THAT(std::string(none.message()), HasSubstr("holds no model"));
  });
  EXPECT_EQ(nothing, "") << "the caller says it";
}

}  // namespace
}  // namespace capstan::cli
