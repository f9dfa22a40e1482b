#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/cli/commands/run_command.h"

namespace capstan::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(CompletionCommandTest, PrintsTheScriptOfTheShellThatIsNamed) {
  const CommandResult bash = RunCommand(AddCompletion, {"completion", "bash"});
  EXPECT_EQ(bash.exit_code, kDone) << bash.errors;
  EXPECT_THAT(bash.output, HasSubstr("complete -o default -F _capstan capstan\n"));
  EXPECT_THAT(bash.output, HasSubstr("/completion)")) << "of all commands that there are";
  EXPECT_THAT(RunCommand(AddCompletion, {"completion", "zsh"}).output,
              StartsWith("#compdef capstan\n"));
  EXPECT_THAT(RunCommand(AddCompletion, {"completion", "fish"}).output,
              StartsWith("function __capstan_at\n"));
}

TEST(CompletionCommandTest, NamesTheShellsThatItKnows) {
  const CommandResult other = RunCommand(AddCompletion, {"completion", "tcsh"});
  EXPECT_EQ(other.exit_code, kBadInput);
  EXPECT_THAT(other.errors, HasSubstr("bash"));
  EXPECT_EQ(RunCommand(AddCompletion, {"completion"}).exit_code, kBadInput);
}

}  // namespace
}  // namespace capstan::cli
