// Runs the `capstan` command as a user does, with fakes beside it.
#ifndef CAPSTAN_TESTS_CLI_COMMAND_H_
#define CAPSTAN_TESTS_CLI_COMMAND_H_

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "cli/local/process.h"
#include "tests/lib/test_folder.h"

namespace capstan::cli {

// A folder of its own for each test: bin/ with the command and fakes, and room for what a run
// leaves behind. It is the present folder while the test runs.
class CommandTest : public testing::Test {
 protected:
  struct Result {
    int exit_code = -1;
    std::string output;  // Standard output and error.
  };

  CommandTest();
  ~CommandTest() override;

  // Puts chief, ps and worker as they are into the place of the fakes.
  void UseRealServices();

  // For the processes started from now on; undone after the test.
  void SetEnvironment(const std::string& name, const std::string& value);

  void WriteFile(const std::string& path, const std::string& text);
  std::string ReadFile(const std::string& path) const;

  // job.yaml of a job that needs no data.
  void WriteJob(const std::string& more = "");

  // Starts `capstan <arguments>`.
  Process Start(const std::vector<std::string>& arguments);
  // Waits for its end.
  Result Await(Process& process);
  Result Run(const std::vector<std::string>& arguments);

  // The lines of FAKE_TRACE, in order.
  std::string Trace() const { return ReadFile("trace"); }

 private:
  const TestFolder folder_;
  std::string before_;
  std::map<std::string, std::string> former_environment_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_TESTS_CLI_COMMAND_H_
