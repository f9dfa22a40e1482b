// Runs a subcommand within the test.
#ifndef CAPSTAN_TESTS_UNIT_CLI_COMMANDS_RUN_COMMAND_H_
#define CAPSTAN_TESTS_UNIT_CLI_COMMANDS_RUN_COMMAND_H_

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/commands/command.h"

namespace capstan::cli {

struct CommandResult {
  int exit_code = -1;
  std::string output;  // On standard output.
  std::string errors;  // On standard error, or why the words are not understood.
};

// `add` is that of the subcommand, AddData for one; `words` are those behind `capstan`.
inline CommandResult RunCommand(void (*add)(CLI::App&, Invocation&),
                                const std::vector<std::string>& words) {
  CLI::App app("Capstan", "capstan");
  Invocation invocation;
  add(app, invocation);
  CommandResult result;
  try {
    std::vector<std::string> last_first(words.rbegin(), words.rend());
    app.parse(last_first);
  } catch (const CLI::ParseError& error) {
    return {.exit_code = kBadInput, .output = "", .errors = error.what()};
  }
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  result.exit_code = invocation.run();
  std::fflush(stdout);
  result.output = testing::internal::GetCapturedStdout();
  result.errors = testing::internal::GetCapturedStderr();
  return result;
}

}  // namespace capstan::cli

#endif  // CAPSTAN_TESTS_UNIT_CLI_COMMANDS_RUN_COMMAND_H_
